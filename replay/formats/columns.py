"""The columns of a table: header texts -> names and units, and how a user points at one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from replay.formats.base import RecordingError


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
# "m", "in" and "g" are left out: "x_m" is a measured signal and "u_in" an input
_SUFFIXES = words(
    "mm cm um km ft V mV A mA N kN MN lbf kip kips Pa kPa MPa psi ksi deg rad s ms us Hz mm_s m_s mm_s2 m_s2 "
    "degC Nm kNm"
)
_UNITS = _SUFFIXES | words("m in g mm/s m/s mm/s2 m/s2 mm/s^2 m/s^2 in/s % - 1 µm °C")
COMMANDS = words(
    "command commanded commands cmd cmnd target targ tgt reference ref desired des demand ctrl control "
    "setpoint setpt sp input in trial soll sollwert sollweg sollposition consigne"
)
MEASUREDS = words(
    "measured meas measurement feedback fdbk fbk fb daq actual act response resp achieved output out "
    "ist istwert istweg istposition mesure mesuré mesurée"
)
"""Words that name a command, and a measured signal."""
NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")
"""One word of a name."""
_AFTER_A_ROLE = words("m in g")  # units only there: demand_m, feedback_in
_BRACKETS = re.compile(r"^(?P<name>.*?)\s*[\[(](?P<unit>[^\[\]()]*)[\])]$")
_TIME_NAMES = words(
    "time t timestamp elapsed elapsedtime testtime runtime runningtime totaltime simtime "
    "simulationtime zeit seconds sec datetime datenum timestamps times"
)
_MAX_LISTED = 24
_MAX_NAME = 120  # what a message can carry, less a little


@dataclass(frozen=True)
class TableColumn:
    """One column: its number from 0, its name, its unit, and its header as it is written.

    `own` is its name within its group, where a file has several.
    """

    position: int
    name: str
    unit: str
    header: str
    own: str = ""

    @property
    def stem(self) -> str:
        """The name without a unit at its end."""
        return _cut_suffix(self.name)[0]

    @property
    def is_time(self) -> bool:
        """Whether the name is one for times."""
        return _plain(re.sub(r"[_.\-]", "", _cut_suffix(self.own or self.name)[0])) in _TIME_NAMES


def read_columns(header: Sequence[str], units: Sequence[str], width: int) -> tuple[TableColumn, ...]:
    """Name `width` columns after a header and a row of units, each of which may be empty."""
    columns: list[TableColumn] = []
    taken: set[str] = set()
    for position in range(width):
        text = header[position] if header else ""
        name, unit = name_and_unit(text)
        if units and units[position]:
            unit = _bare(units[position])
        base = name or f"column_{position + 1}"
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name)
        own = base if count > 1 else ""
        columns.append(TableColumn(position, name, "" if unit == "-" else unit, text, own))
    return tuple(columns)


def is_unit(text: str) -> bool:
    """Whether a cell below a header can be a unit, such as ``mm``, ``[kN]`` or nothing."""
    return _bare(text) in _UNITS or _bare(text).lower() in SECONDS or not _bare(text)


def find_column(columns: Sequence[TableColumn], text: str) -> TableColumn:
    """Return the column that a user means: its header, whatever its case and spaces, or its number from 1.

    Raises
    ------
    RecordingError : there is no such column, or there are several.
    """
    name = _plain(text)
    found = [c for c in columns if name in (_plain(c.header), _plain(c.name))]
    found = found or [c for c in columns if name == _plain(c.own)]
    exact = [c for c in found if text.strip() in (c.header.strip(), c.name)]
    if len(exact) == 1 or len(found) == 1:
        return (exact or found)[0]
    if found:
        raise RecordingError(f"{len(found)} columns are called {text!r}: give the column's number instead")
    numbered = [c for c in columns if name == str(c.position + 1)]
    if numbered:
        return numbered[0]
    raise RecordingError(f"no column {text!r}; there are {listing(columns)}")


def references(columns: Sequence[TableColumn]) -> dict[TableColumn, str]:
    """Return the text by which `find_column` finds each column: its name, or its number if names are equal."""
    alike: dict[str, list[TableColumn]] = {}
    for column in columns:
        for text in {_plain(column.header), _plain(column.name)}:
            alike.setdefault(text, []).append(column)
    found = {}
    for column in columns:
        # among its like alone: a file may have thousands of columns
        try:
            plain = find_column(alike[_plain(column.name)], column.name) == column
        except RecordingError:
            plain = False
        found[column] = column.name if plain else str(column.position + 1)
    return found


def listing(columns: Sequence[TableColumn]) -> str:
    """Return the columns' names in one line, the first 24 of them."""
    return some([c.name for c in columns], _MAX_LISTED) or "no columns of real numbers"


def some(names: Sequence[str], most: int = 6) -> str:
    """Return names in one line, so many of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def name_and_unit(text: str) -> tuple[str, str]:
    """``Force [kN]`` -> ``Force`` and ``kN``; ``laser_mm`` stays whole and has the unit ``mm``."""
    text = "".join(c if c.isprintable() else " " for c in text).strip()
    match = _BRACKETS.match(text)
    if match and match["name"] and not match["unit"].strip().isdecimal():
        return match["name"][:_MAX_NAME], match["unit"].strip()[:_MAX_NAME]
    return text[:_MAX_NAME], _cut_suffix(text)[1]


def _cut_suffix(name: str) -> tuple[str, str]:
    """``laser_front_mm`` -> ``laser_front`` and ``mm``; ``x_m`` stays whole."""
    parts = name.split("_")
    for length in (2, 1):
        unit = "_".join(parts[-length:])
        if len(parts) > length and unit in _SUFFIXES:
            return "_".join(parts[:-length]), unit.replace("_", "/")
    *others, last = parts
    if last.lower() in SECONDS and "".join(others).lower() in _TIME_NAMES:
        return "_".join(others), last
    said = {word.lower() for part in others for word in NAME_WORD.findall(part)}
    if last in _AFTER_A_ROLE and said & (COMMANDS | MEASUREDS):
        return "_".join(others), last
    return name, ""


def _bare(text: str) -> str:
    return text.strip().strip("[]()").strip()


def _plain(text: str) -> str:
    return "".join(text.split()).lower()
