"""OpenFresco's recordings on an xPC target: one matrix in a MAT file, whose columns are known by their number.

The columns are those of OpenFresco's ``plotOutputXPCtarget.m``: groups as wide as the number of degrees of freedom,
then state, counter, three flags and the time. With an adaptive time series compensator (ATS) there are more groups.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.clock import is_increasing
from replay.formats.columns import TableColumn
from replay.formats.contents import Contents
from replay.formats.reading import as_numbers
from replay.formats.roles import PairColumns
from replay.formats.signal_table import SignalTable, array_reader

_MATRIX = ("data/values", "data(1)/values")
_BEFORE = ("target", "command", "command_rate", "command_acceleration")
_MEASURED = ("measured_signal", "measured_signal", "measured_displacement", "measured_force")
_ATS = ("ats_parameter",) * 4
_WITH_ATS = (*_BEFORE, "ats_displacement", *_MEASURED, *_ATS)
_WITHOUT_ATS = (*_BEFORE, *_MEASURED)
_AFTER = ("state", "counter", "flag_1", "flag_2", "flag_3", "time")


def xpc_table(path: Path, contents: Contents, *, columns_first: bool = False) -> SignalTable | None:
    """Return the table of such a recording; None where the variables of a MAT file are no such recording.

    Parameters
    ----------
    path : of the file.
    contents : its variables; ``data(1).values`` is the matrix, (n_samples, n_columns).
    columns_first : as in `tables_of`.
    """
    found = [e for e in contents.entries if e.path in _MATRIX and len(e.shape) == 2]
    if not found:
        return None
    values = as_numbers(found[0].read(0, found[0].shape[0]))[0]
    values = values.T if columns_first else values
    if len(values) < 2:
        return None
    groups = _groups(values.shape[1])
    if groups is None or not is_increasing(values[:, -1]) or not _flags_fit(values[:, -6:-1]):
        return None
    width = (values.shape[1] - len(_AFTER)) // len(groups)
    columns = tuple(TableColumn(at, name, "", name) for at, name in enumerate((*_names(groups, width), *_AFTER)))

    def column(group: str, dof: int) -> TableColumn:
        place: int = groups.index(group) * width + dof - 1
        return columns[place]

    pairs = tuple(
        PairColumns(
            f"dof{dof}",
            command=column("command", dof),
            measured=column("measured_displacement", dof),
            force=column("measured_force", dof),
        )
        for dof in range(1, width + 1)
    )
    ats = "with" if groups == _WITH_ATS else "without"
    freedom = "1 degree of freedom" if width == 1 else f"{width} degrees of freedom"
    notes = [f"OpenFresco on an xPC target, {freedom}, {ats} ATS; the units are unknown"]
    if groups == _WITH_ATS and (values.shape[1] - len(_AFTER)) % len(_WITHOUT_ATS) == 0:
        notes.append(f"its {values.shape[1]} columns could also be more degrees of freedom without ATS")
    return SignalTable(path, columns, len(values), array_reader(values), "data", tuple(notes), pairs=pairs)


def _names(groups: tuple[str, ...], width: int) -> list[str]:
    """Return the names of the columns of all groups; those of one name are numbered."""
    names = [name for name in groups for _ in range(width)]
    return [
        name if names.count(name) == 1 else f"{name}_{names[:at].count(name) + 1}" for at, name in enumerate(names)
    ]


def _groups(n_columns: int) -> tuple[str, ...] | None:
    """Return the groups of columns; of two that fit, those with ATS, as OpenFresco's own script does."""
    for groups in (_WITH_ATS, _WITHOUT_ATS):
        if n_columns > len(_AFTER) and (n_columns - len(_AFTER)) % len(groups) == 0:
            return groups
    return None


def _flags_fit(after: Samples) -> bool:
    """Whether the state is a whole number and the flags, after the counter, are 0 or 1."""
    state, flags = after[:, 0], after[:, 2:]
    return bool(np.all(state == np.round(state)) and np.all((flags == 0.0) | (flags == 1.0)))
