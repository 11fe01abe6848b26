"""Universal files, UFF or UNV, by pyuff: functions of time, datasets of type 58 in text or binary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replay.formats.base import Format, RecordingError, Selection
from replay.formats.channels import FileChannel, tables_of_channels
from replay.formats.columns import SECONDS
from replay.formats.reading import CUT_SHORT, check_memory, damage_reported, optional
from replay.formats.signal_table import SignalTable
from replay.formats.units import unit_symbol

# below the mark and the number of the dataset stands no column of numbers that begins with -1
_BEGINS = re.compile(rb"^\s{4}-1\s*\n\s{2,5}\d{1,4}[^\n]*(\n(?! {0,5}[-+]?\d+ *(\n|\Z))|\Z)")
_MARK = re.compile(rb" {4}-1(?= {74}|[\r\n]|\Z)")  # as pyuff finds it, also behind binary numbers
_WHAT = "a universal file"
_IN_MEMORY = 6.0  # times the file: pyuff holds a dataset as text, lines and numbers
_TIME_RESPONSE = (0, 1)  # general or unknown, and of time
_UNKNOWN, _TIME = 0, 17  # of the abscissa
_INTERVAL_DIGITS = 1e-5  # E13.5
_TEXTS = ("id1", "id2", "id4", "id5", "rsp_ent_name")


def is_universal(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the file begins with the mark of a dataset, and its number."""
    return _BEGINS.match(head.replace(b"\r", b"")) is not None


def _tables(path: Path) -> list[SignalTable]:
    pyuff = optional("pyuff", _WHAT, path)
    check_memory(path, _IN_MEMORY * path.stat().st_size)
    with damage_reported(path, _WHAT):
        file = pyuff.UFF(str(path))
        kinds = [int(kind) for kind in file.get_set_types()]
        sets: list[Mapping[str, Any]] = [file.read_sets(at) for at, kind in enumerate(kinds) if kind == 58]
    others = Counter(kind for kind in kinds if kind != 58)
    left_out = [f"{count} datasets of type {kind}" for kind, count in others.items() if kind]
    used = [each for each in sets if _is_of_time(each)]
    left_out += [f"{_function(each)} {_place(each)}" for each in sets if not _is_of_time(each)]
    cut = len(_MARK.findall(path.read_bytes())) % 2 == 1
    names = _names(used)
    channels = [_channel(path, name, each) for name, each in zip(names, used, strict=True)]
    return tables_of_channels(path, channels, (CUT_SHORT,) if cut else (), left_out, cut=cut)


def _is_of_time(found: Mapping[str, Any]) -> bool:
    real = np.asarray(found["data"]).dtype.kind != "c"
    unit, what = _abscissa(found), found["abscissa_spec_data_type"]
    timed = what == _TIME or (what == _UNKNOWN and (not unit or unit in SECONDS))
    return real and found["func_type"] in _TIME_RESPONSE and timed


def _abscissa(found: Mapping[str, Any]) -> str:
    return _given(found, "abscissa_axis_units_lab").lower()


def _channel(path: Path, name: str, found: Mapping[str, Any]) -> FileChannel:
    values = np.asarray(found["data"], dtype=np.float64)
    if len(values) != found["num_pts"]:
        raise RecordingError(
            f"{path}: damaged or cut short: {len(values)} values of {name} are there, {found['num_pts']} were written"
        )
    scale = SECONDS.get(_abscissa(found), 1.0)
    unit = unit_symbol(_given(found, "ordinate_axis_units_lab"))
    about = {key: found[key] for key in ("id1", "id2", "id3") if _given(found, key)}
    if found["abscissa_spacing"] == 0:
        times = scale * np.asarray(found["x"], dtype=np.float64)
        return FileChannel.of("", name, values, unit, times=times)
    step = scale * float(found["abscissa_inc"])
    if not step > 0.0:
        raise RecordingError(f"{path}: the interval of {name} is {step:g} s")
    start = scale * float(found["abscissa_min"])
    rate = rate_of(step, _INTERVAL_DIGITS)
    return FileChannel.of("", name, values, unit, rate=rate, start=start, about=about)


def rate_of(step: float, rounding: float) -> float:
    """Return the rate behind an interval, s, of some relative rounding: whole Hz, or thousandths, where one fits."""
    for digits in (0, 3):
        rate = round(1.0 / step, digits)
        if rate > 0.0 and abs(rate * step - 1.0) < rounding:
            return rate
    return 1.0 / step


def _given(found: Mapping[str, Any], key: str) -> str:
    text = str(found.get(key, "") or "").strip()
    return "" if text.upper() == "NONE" else text


def _place(found: Mapping[str, Any]) -> str:
    """Return node and direction, such as ``12:+Z``."""
    direction = int(found.get("rsp_dir") or 0)
    axis = "" if not 1 <= abs(direction) <= 3 else f":{'-' if direction < 0 else '+'}{'XYZ'[abs(direction) - 1]}"
    return f"{found.get('rsp_node', 0)}{axis}"


def _function(found: Mapping[str, Any]) -> str:
    unit = _abscissa(found)
    over = "" if not unit or unit in SECONDS else f" over {unit}"
    return f"function of type {found['func_type']}{over}"


def _names(sets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of functions: the first of their texts that differ, else node and direction."""
    for key in _TEXTS:
        texts = [_given(each, key) for each in sets]
        if all(texts) and len(set(texts)) == len(texts):
            return texts
    return [f"{_given(each, 'rsp_ent_name') or 'node'} {_place(each)}" for each in sets]


FORMAT = Format("universal file 58", ("*.uff", "*.unv", "*.uf"), is_universal, tables=_tables)
