"""A tolerance over time out of a file: two columns, time and tolerance, under a header that says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from monitor.reliability.tolerance import ToleranceError
from monitor.system.files import check_regular

# nothing is converted here: a header in other words may mean other units
_HEADERS = (["time", "tolerance"], ["time[s]", "tolerance"])
_MOST_BYTES = 1 << 26
_TOLD = 60  # characters of a header that is wrong


def read_tolerance_table(path: Path, instants: Samples) -> Samples:
    """Return the tolerances of a file at the instants of an ensemble, between its lines by straight ones.

    Parameters
    ----------
    path : with the header ``time,tolerance`` or ``time [s],tolerance``, and lines of s and the response's unit.
    instants : (n_times,), s.

    Returns
    -------
    tolerance : (n_times,), in the response's unit.

    Raises
    ------
    ToleranceError : there is no such file, its header is another, or its times do not rise or reach far enough.
    """
    try:
        check_regular(path, _MOST_BYTES)
        header, *lines = path.read_text(encoding="utf-8-sig").splitlines() or [""]
        rows = [line.split(",") for line in lines if line.strip()]
        if ["".join(cell.split()).lower() for cell in header.split(",")] not in _HEADERS:
            raise ValueError(f"not {header[:_TOLD]!r}")
        time, tolerance = np.array(rows, dtype=np.float64).T
    except (OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise ToleranceError(
            f"{path}: must be a table with the header time,tolerance, in s and the response's unit ({reason})"
        ) from None
    if not (np.isfinite(tolerance).all() and (tolerance > 0.0).all()):
        raise ToleranceError(f"{path}: a tolerance must be positive at every instant")
    if not (np.diff(time) > 0.0).all():
        raise ToleranceError(f"{path}: time must rise from line to line")
    if not time[0] <= instants[0] <= instants[-1] <= time[-1]:
        raise ToleranceError(f"{path}: must reach from {instants[0]:g} to {instants[-1]:g} s")
    return np.asarray(np.interp(instants, time, tolerance))
