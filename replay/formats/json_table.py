"""JSON: a matrix with names, units, roles and a rate beside it, columns by name, or a record for each sample."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from replay.formats.arrays import INDEX_IS_TIME, LABELS, UNITS, Contents, tables_of
from replay.formats.base import Format, RecordingError, Selection
from replay.formats.blocks import expanded, flattened
from replay.formats.layout import HEAD, text_encoding
from replay.formats.reading import check_memory, damage_reported, json_size
from replay.formats.roles import pairs_given
from replay.formats.signal_table import SignalTable, row_place
from replay.formats.table import LAST_LINE_CUT
from replay.formats.text import is_text
from replay.formats.units import unit_symbol

_BY_LINES = frozenset((".jsonl", ".ndjson"))
_SUFFIXES = _BY_LINES | {".json"}
_BEGINS = re.compile(rb'^(\xef\xbb\xbf)?\s*(\{\s*"|\[\s*[\[{])')
_NUMBERS = re.compile(rb"\[\s*(-?\d|null|NaN)")
_NUMBER = re.compile(rb":\s*-?\d")
_OBJECTS = re.compile(rb"^(\xef\xbb\xbf)?\s*(\[\s*\{|\{[^\r\n]*\}\s*\{)")  # in an array, or one a line
_ROLES = ("command", "measured", "force")
_VALUES = ("values", "data", "samples")
_WHAT = "JSON"
_DEEPEST = 32


def is_json(path: Path, head: bytes, selection: Selection) -> bool:
    """Whether the file is called so, or begins as an object or an array of arrays or objects."""
    named = path.suffix.lower() in _SUFFIXES or _BEGINS.match(head) is not None
    return named and is_text(path, head, selection)


def begins_with_signals(head: bytes) -> bool:
    """Whether arrays of numbers, or several objects with numbers, are among the first bytes."""
    return _NUMBERS.search(head) is not None or (
        _OBJECTS.match(head) is not None and _NUMBER.search(head) is not None
    )


@dataclass
class _Found:
    """What is found in the tree: arrays, and what is said of columns by their names."""

    path: Path
    contents: Contents = field(default_factory=Contents)
    units: dict[str, str] = field(default_factory=dict)
    roles: dict[str, tuple[str, str]] = field(default_factory=dict)

    def walk(self, name: str, value: Any, depth: int = 0) -> None:
        """Add a value and all below it."""
        if depth > _DEEPEST:
            raise RecordingError(f"{self.path}: nested deeper than {_DEEPEST} levels")
        if isinstance(value, dict):
            self._object(name, value, depth)
        elif isinstance(value, list):
            self._array(name, value, depth)
        elif isinstance(value, int | float):
            self.contents.numbers[name] = float(value)
        elif isinstance(value, str):
            self.contents.texts[name] = (value,)

    def _object(self, name: str, value: Mapping[str, Any], depth: int) -> None:
        own = name.rpartition("/")[2]
        if own.lower() in UNITS and all(isinstance(each, str) for each in value.values()):
            self.units |= value
            return
        values = next((value[key] for key in _VALUES if key in value), None)
        if own and isinstance(values, list) and not any(isinstance(each, list | dict) for each in values):
            # a channel: its values, and what is said of it
            self._about(own, value)
            for key, item in value.items():
                if isinstance(item, int | float):
                    self.contents.numbers[f"{name}/{key}"] = float(item)
            self._array(name, values, depth + 1)
            return
        for key, item in value.items():
            self.walk(f"{name}/{key}" if name else key, item, depth + 1)

    def _about(self, name: str, said: Mapping[str, Any]) -> None:
        unit = said.get("unit", said.get("units"))
        if isinstance(unit, str):
            self.units[name] = unit
        if isinstance(said.get("role"), str):
            self.roles[name] = said["role"].lower(), str(said.get("actuator", ""))

    def _array(self, name: str, value: Sequence[Any], depth: int) -> None:
        own = name.rpartition("/")[2].lower()
        if value and all(isinstance(each, dict) for each in value):
            if own in LABELS and all(isinstance(each.get("name"), str) for each in value):
                self.contents.texts[name] = tuple(each["name"] for each in value)
                for each in value:
                    self._about(each["name"], each)
                return
            if self._blocks(value):
                return
            # the records of a whole file, or of its "data", have the names of their fields
            base = name.rpartition("/")[0] if own in _VALUES else name
            for key in dict.fromkeys(key for each in value for key in each):
                self._array(f"{base}/{key}".strip("/"), [each.get(key) for each in value], depth + 1)
        elif value and all(isinstance(each, list) for each in value):
            widths = {len(each) for each in value}
            if len(widths) > 1:
                lengths = f"{min(widths)} to {max(widths)}"
                raise RecordingError(
                    f"{self.path}: the rows of {own or 'the matrix'} are not equally long: {lengths}"
                )
            if any(isinstance(cell, list | dict) for each in value for cell in each):
                self.contents.others.append(f"{name or 'the matrix'} (nested lists)")
            elif depth <= _DEEPEST:
                self._numbers(name, [cell for each in value for cell in each], (len(value), widths.pop()))
        else:
            self._numbers(name, value, (len(value),))

    def _blocks(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Add messages whose lists are samples, as in the plain form of the wire; return whether they are."""
        try:
            found = expanded([flattened(message) for message in messages])
        except RecordingError as problem:
            raise RecordingError(f"{self.path}: {problem}") from None
        if found is None:
            lists = dict.fromkeys(key for each in messages for key, item in each.items() if isinstance(item, list))
            if lists:
                self.contents.notes.append(f"{', '.join(lists)}: each number of a list is a channel")
            return False
        units: Mapping[str, Any] = next(
            (each["units"] for each in messages if isinstance(each.get("units"), dict)), {}
        )
        for path, values in found.columns.items():
            role, _, actuator = path.partition(".")
            own = f"{actuator}.{role}" if actuator and role in _ROLES else path.removeprefix("auxiliary.")
            name = own.replace("/", "_")
            self.contents.add(name, values)
            if role in _ROLES:
                self.roles[name] = role, actuator
            unit = units.get(name, units.get(role))
            if isinstance(unit, str):
                self.units[name] = unit
        if found.times is not None:
            self.contents.add("t", found.times)
        elif found.rate is not None:
            self.contents.numbers["sample_rate"] = found.rate
        self.contents.notes += found.notes
        return True

    def _numbers(self, name: str, cells: Sequence[Any], shape: tuple[int, ...]) -> None:
        """Add numbers, where null is a missing one, or dates and times; texts are kept as texts."""
        if all(each is None or isinstance(each, int | float) for each in cells):
            array = np.array([np.nan if each is None else each for each in cells], dtype=np.float64)
            self.contents.add(name or "column", array.reshape(shape))
            return
        texts = [each for each in cells if isinstance(each, str)]
        if len(texts) < len(cells):
            place = next(at for at, each in enumerate(cells) if not isinstance(each, int | float | None))
            row = row_place(place // shape[-1] if len(shape) > 1 else place)
            raise RecordingError(f"{self.path}: {name or 'the matrix'} has {str(cells[place])[:30]!r} at {row}")
        self.contents.add_texts(name, tuple(texts))


def _load(path: Path, contents: Contents) -> Any:
    content = path.read_bytes()
    check_memory(path, json_size(content))
    encoding = text_encoding(content[:HEAD])
    text = content.decode("utf-8-sig" if encoding == "latin-1" else encoding)
    del content
    if path.suffix.lower() not in _BY_LINES:
        try:
            return json.loads(text)
        except json.JSONDecodeError as problem:
            # an object a line, under another name
            if problem.msg != "Extra data" or problem.lineno != 2:
                raise
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and not text.endswith("\n"):
        try:
            json.loads(lines[-1])
        except json.JSONDecodeError:
            del lines[-1]
            contents.notes.append(LAST_LINE_CUT)
            contents.cut = True
    return [json.loads(line) for line in lines]


def _tables(path: Path) -> list[SignalTable]:
    found = _Found(path)
    check_memory(path, path.stat().st_size)
    with damage_reported(path, _WHAT):
        found.walk("", _load(path, found.contents))
    contents = found.contents
    _index_as_time(contents)
    tables = tables_of(path, contents)
    if len(contents.entries) == 1 and contents.entries[0].path == "column":
        return [replace(tables[0], named=False, name="")]
    units = {name: unit_symbol(unit) for name, unit in found.units.items()}
    whole = []
    for table in tables:
        columns = tuple(replace(column, unit=units.get(column.own, column.unit)) for column in table.columns)
        roles = {column.position: found.roles[column.own] for column in columns if column.own in found.roles}
        whole.append(replace(table, columns=columns, pairs=pairs_given(columns, roles)))
    return whole


def _index_as_time(contents: Contents) -> None:
    """Take the index that pandas writes beside a matrix for the times, unless it only counts the rows."""
    for at, entry in enumerate(contents.entries):
        if entry.own != "index" or len(entry.shape) != 1:
            continue
        values = entry.read(0, entry.shape[0])
        if np.array_equal(values, np.arange(entry.shape[0])):
            del contents.entries[at]
        else:
            contents.entries[at] = replace(entry, labels=("time",))
            contents.notes.append(INDEX_IS_TIME)
        return


_PATTERNS = ("*.json", "*.jsonl", "*.ndjson")
FORMAT = Format("JSON", _PATTERNS, is_json, tables=_tables, shared=_PATTERNS, begins=begins_with_signals)
