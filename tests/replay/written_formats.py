"""One run, written to every format that is read, by the library of the format or by plain code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.io

RATE = 1000.0
N = 2400
NAMES = ("command_x", "measured_x", "force_x", "command_y", "measured_y", "force_y", "oil")
UNITS = ("mm", "mm", "kN", "mm", "mm", "kN", "")


def run_samples() -> np.ndarray:
    """Return two actuators that lag by 12 and 25 ms, and another column, (N, 7)."""
    t = np.arange(N) / RATE
    rng = np.random.default_rng(20)

    def motion(late: float) -> np.ndarray:
        return np.sin(2 * np.pi * 3.0 * (t - late)) + 0.3 * np.sin(2 * np.pi * 5.3 * (t - late) + 0.4)

    columns = []
    for delay, gain in ((0.012, 0.97), (0.025, 1.04)):
        measured = gain * motion(delay) + 1e-3 * rng.standard_normal(N)
        columns += [motion(0.0), measured, 3.0 * measured]
    return np.column_stack([*columns, 40.0 + 0.1 * t])


TIMES = np.arange(N) / RATE


def _csv(path: Path) -> None:
    head = ",".join(("time [s]", *(f"{n} [{u}]" if u else n for n, u in zip(NAMES, UNITS, strict=True))))
    np.savetxt(path, np.column_stack([TIMES, run_samples()]), "%.17g", ",", header=head, comments="")


def _variables() -> dict[str, np.ndarray]:
    return {"time": TIMES[:, None], **{n: v[:, None] for n, v in zip(NAMES, run_samples().T, strict=True)}}


def _mat5(path: Path) -> None:
    scipy.io.savemat(path, _variables())


def _mat5_packed(path: Path) -> None:
    matrix = {"rig": {"data": run_samples(), "names": np.array(NAMES, dtype=object), "fs": RATE}}
    scipy.io.savemat(path, matrix, do_compression=True)


def _mat4(path: Path) -> None:
    scipy.io.savemat(path, _variables(), format="4")


WRITERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "csv": (".csv", _csv),
    "mat-5": (".mat", _mat5),
    "mat-5-packed": (".mat", _mat5_packed),
    "mat-4": (".mat", _mat4),
}
"""Name -> suffix of the file, and what writes it."""
CHECKSUMMED = frozenset(("mat-5-packed",))
"""Those in which every byte of the samples has a checksum."""


def written(folder: Path, name: str) -> Path:
    """Write the run in a format and return the file."""
    suffix, writer = WRITERS[name]
    path = folder / f"run{suffix}"
    writer(path)
    return path
