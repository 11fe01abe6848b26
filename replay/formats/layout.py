"""How a text file lays out its table: encoding, delimiter, decimal mark, header, first row of numbers."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import isnan

from replay.formats.base import RecordingError
from replay.formats.clock import has_zone, is_instant_like, parse_instant
from replay.formats.columns import is_unit

SPACES = r"\s+"
COMMENTS = ("#", "%")
HEAD = 1 << 18
_LINES = 500
MISSING = frozenset(("", "nan", "-nan", "+nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "1.#qnan", "-1.#ind"))
_CANDIDATES = (
    (";", "."),
    (";", ","),
    ("\t", "."),
    ("\t", ","),
    (",", "."),
    (",", ","),
    (SPACES, "."),
    (SPACES, ","),
)


@dataclass(frozen=True)
class Layout:
    """How to read the rows.

    Parameters
    ----------
    encoding, delimiter, decimal : of the whole file; the delimiter ``\\s+`` means runs of spaces.
    skip : lines above the first row of numbers.
    cells : cells in a row; one more than `width` where rows end with a delimiter.
    width : columns.
    header, units : a text a column, or nothing.
    instants : columns, from 0, of ISO 8601 dates and times; they become s since the beginning of `first_day`.
    first_day : of the first row, in days since 1970.
    in_utc : those of `instants` whose first text has a zone.
    """

    encoding: str
    delimiter: str
    decimal: str
    skip: int
    cells: int
    width: int
    header: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    instants: tuple[int, ...] = ()
    first_day: int = 0
    in_utc: tuple[int, ...] = ()

    def value(self, cell: str, position: int) -> float:
        """Return the value of a cell in a column; raises ValueError for text."""
        if position in self.instants:
            return parse_instant(cell, self.first_day) if cell.lower() not in MISSING else float("nan")
        return number(cell, self.decimal)

    def expected(self, cell: str, position: int) -> str:
        """Return what a cell that has no value should be, for messages."""
        return "date and time" if position in self.instants or is_instant_like(cell) else "number"


def split(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, without quotes and outer spaces."""
    line = line.rstrip("\r\n")
    if delimiter == SPACES:
        return [c.strip('"') for c in re.findall(r'"[^"]*"|\S+', line)] if '"' in line else line.split()
    # a longer one is no row of quoted cells, and csv would refuse it
    quoted = '"' in line and len(line) < csv.field_size_limit()
    cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), []) if quoted else None
    return [c.strip() for c in (cells if cells is not None else line.split(delimiter))]


def number(cell: str, decimal: str) -> float:
    """Return the number in a cell, NaN for a missing one; raises ValueError for text."""
    if cell.lower() in MISSING:
        return float("nan")
    if "_" in cell or (decimal == "," and "." in cell):
        raise ValueError(cell)
    return float(cell.replace(decimal, "."))


def is_data(line: str) -> bool:
    """Whether a line is neither blank nor a comment."""
    text = line.strip()
    return bool(text) and not text.startswith(COMMENTS)


def find_layout(head: bytes) -> Layout:
    """Work out the layout from the first bytes of a file, at most `HEAD` of them.

    Raises
    ------
    RecordingError : no table of numbers is there; one line, without the file's name.
    """
    encoding = _encoding(head)
    lines = list(islice(io.StringIO(head.decode(encoding, errors="replace"), newline=None), _LINES))
    if len(head) >= HEAD and not lines[-1].endswith("\n"):
        lines.pop()
    if not head.strip():
        raise RecordingError("the file is empty")
    if not lines:
        raise RecordingError(f"the first line is longer than {HEAD >> 10} kB: this is not a table")
    delimiter, decimal, kinds = max(
        ((d, m, [_kind(line, d, m) for line in lines]) for d, m in _CANDIDATES), key=_merit
    )
    cells = _common_width(kinds)
    if not cells:
        raise RecordingError(
            "no rows of numbers; a table has columns separated by commas, semicolons, tabs or spaces"
        )
    rows = [i for i, (width, _) in enumerate(kinds) if width == cells]
    pure = [i for i in rows if not kinds[i][1]]
    trailing = cells > 1 and all(not split(lines[i], delimiter)[-1] for i in pure or rows)
    skip = (pure or rows)[0]
    if rows[0] < skip and _header(lines[: rows[0]], delimiter, cells, trailing)[0]:
        skip = rows[0]  # not a header, which is further up, but a row with text in it: the parser will name the cell
    header, units = _header(lines[:skip], delimiter, cells, trailing)
    width = cells - 1 if trailing and not (header and header[-1]) else cells
    first = split(lines[skip], delimiter)[:width]
    instants = tuple(place for place, cell in enumerate(first) if _is_instant(cell))
    day = int(parse_instant(first[instants[0]]) // 86400) if instants else 0
    in_utc = tuple(place for place in instants if has_zone(first[place]))
    return Layout(
        encoding, delimiter, decimal, skip, cells, width, header[:width], units[:width], instants, day, in_utc
    )


def _is_instant(cell: str) -> bool:
    try:
        parse_instant(cell)
    except ValueError:
        return False
    return True


def _encoding(head: bytes) -> str:
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    try:
        head[: head.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _kind(line: str, delimiter: str, decimal: str) -> tuple[int, int]:
    """Return how many cells a row of numbers has, and how many of them are text; (0, 0) for other lines."""
    if not is_data(line):
        return 0, 0
    cells = split(line, delimiter)
    numbers = texts = 0
    for cell in cells:
        try:
            numbers += not isnan(number(cell, decimal))
        except ValueError:
            is_time = _is_instant(cell)
            numbers, texts = numbers + is_time, texts + (not is_time)
    return (len(cells), texts) if numbers and texts <= len(cells) // 2 else (0, 0)


def _common_width(kinds: Sequence[tuple[int, int]]) -> int:
    widths = Counter(width for width, _ in kinds if width)
    return max(widths, key=lambda width: (widths[width], width)) if widths else 0


def _merit(candidate: tuple[str, str, list[tuple[int, int]]]) -> tuple[int, int, int]:
    """Rows without text count first, then rows with some, then columns."""
    kinds = candidate[2]
    width = _common_width(kinds)
    rows = [texts for cells, texts in kinds if cells == width and width]
    return rows.count(0), len(rows), width


def _header(
    lines: Sequence[str], delimiter: str, cells: int, trailing: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names and units right above the first row, `cells` of each; in a comment if nowhere else."""
    plain = [line for line in lines if is_data(line)]
    comments = [line.strip().lstrip("".join(COMMENTS)) for line in lines if line.strip() and not is_data(line)]
    for pool in (plain, comments):
        fits = [_fit(line, delimiter, cells, trailing) for line in pool[-2:]]
        if len(fits) == 2 and all(fits) and all(is_unit(text) for text in fits[1]):
            return fits[0], fits[1]
        if fits and fits[-1]:
            return fits[-1], ()
    return (), ()


def _fit(line: str, delimiter: str, cells: int, trailing: bool) -> tuple[str, ...]:
    """Return the cells of a header line if they match those of a row, however it is parted."""
    line = line.strip("\r\n")
    for own in dict.fromkeys((delimiter, ",", ";", "\t", SPACES)):
        texts = split(re.sub(r"\s+(?=[\[(])", "", line) if own == SPACES else line, own)
        if len(texts) == cells + 1 and not texts[-1]:
            texts.pop()
        if len(texts) == cells - 1 and trailing:
            texts.append("")
        if len(texts) == cells and any(texts):
            return tuple(texts)
    return ()
