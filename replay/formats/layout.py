"""How a text file lays out its table: encoding, delimiter, decimal mark, header, first row of numbers."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from math import isnan

from replay.formats.attributes import Sampling, read_sampling
from replay.formats.base import RecordingError
from replay.formats.cells import MISSING, DateForm, find_form, has_zone, is_grouped, is_instant_like, mended, number
from replay.formats.columns import SECONDS, is_unit

SPACES = r"\s+"
COMMENTS = ("#", "%")
HEAD = 1 << 18
_LINES = 500
_HEADER_LINES = 3
_PROCESSES = frozenset(
    ("", "smp", "avg", "max", "min", "tot", "std", "med")
)  # of Campbell's loggers, below the units
_WIDE = r"\s{2,}"
_CANDIDATES = ((";", "."), (";", ","), ("\t", "."), ("\t", ","), (",", "."), (",", ","), (SPACES, "."), (SPACES, ","))


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
    forms : of columns, from 0, of dates and times; dates become s since the beginning of `first_day`.
    first_day : of the first row, in days since 1970.
    in_utc : those of `forms` whose first text has a zone.
    texts : columns, from 0, of texts.
    blank : columns, from 0, that are empty, or hold words for no value, so far.
    unusual : whether numbers have separators of thousands, a Fortran exponent or another minus.
    sampling : what the lines above say of it.
    notes : what was taken for granted.
    """

    encoding: str
    delimiter: str
    decimal: str
    skip: int
    cells: int
    width: int
    header: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    forms: Mapping[int, DateForm] = field(default_factory=dict)
    first_day: int = 0
    in_utc: tuple[int, ...] = ()
    texts: frozenset[int] = frozenset()
    blank: frozenset[int] = frozenset()
    unusual: bool = False
    sampling: Sampling = field(default_factory=Sampling)
    notes: tuple[str, ...] = ()

    def value(self, cell: str, position: int) -> float:
        """Return the value of a cell in a column; raises ValueError for text."""
        form = self.forms.get(position)
        if form is not None:
            return form.seconds(cell, self.first_day) if cell.lower() not in MISSING else float("nan")
        return number(cell, self.decimal)

    def expected(self, cell: str, position: int) -> str:
        """Return what a cell that has no value should be, for messages."""
        return "date and time" if position in self.forms or is_instant_like(cell) else "number"


def split(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, without quotes and outer spaces."""
    line = line.rstrip("\r\n")
    if delimiter == _WIDE:
        return re.split(_WIDE, line.strip())
    if delimiter == SPACES:
        return [c.strip('"') for c in re.findall(r'"[^"]*"|\S+', line)] if '"' in line else line.split()
    # a longer one is no row of quoted cells, and csv would refuse it
    quoted = '"' in line and len(line) < csv.field_size_limit()
    cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), []) if quoted else None
    return [c.strip() for c in (cells if cells is not None else line.split(delimiter))]


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
    encoding = text_encoding(head)
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
    rows = [i for i, (width, _, _) in enumerate(kinds) if width == cells]
    counts = Counter(place for i in rows for place in kinds[i][1])
    filled = Counter(place for i in rows for place, cell in enumerate(split(lines[i], delimiter)) if _is_given(cell))
    # a text in one of the rows is a fault; the parser will name it
    texts = frozenset(
        place
        for place, count in counts.items()
        if (2 * count > len(rows) > 2 or count == filled[place] > 0 < len(rows) - count)
        and not is_instant_like(split(lines[rows[-1]], delimiter)[place])
    )
    pure = [i for i in rows if kinds[i][1] <= texts]
    trailing = cells > 1 and all(not split(lines[i], delimiter)[-1] for i in pure or rows)
    skip = (pure or rows)[0]
    above = next((i for i in range(skip - 1, -1, -1) if is_data(lines[i])), -1)
    if above in rows and _header(lines[: rows[0]], delimiter, cells, trailing)[0]:
        skip = rows[0]  # not a header, which is further up, but a row with text in it: the parser will name the cell
    header, units = _header(lines[:skip], delimiter, cells, trailing)
    width = cells - 1 if trailing and not (header and header[-1]) else cells
    table = [split(lines[i], delimiter)[:width] for i in (pure or rows) if i >= skip]
    forms = _date_forms(table, width)
    first = table[0]
    days = [form.parse(first[place])[0] for place, form in forms.items() if form.order and first[place]]
    notes = [f"{header[place] if header else place + 1}: {form.note}" for place, form in forms.items() if form.note]
    return Layout(
        encoding,
        delimiter,
        decimal,
        skip,
        cells,
        width,
        header[:width],
        units[:width],
        forms,
        days[0] if days else 0,
        tuple(place for place in forms if has_zone(first[place])),
        frozenset(place for place in texts if place < width),
        frozenset(place for place in range(width) if not any(_is_given(row[place]) for row in table)),
        any(mended(c, decimal) not in (None, c.replace(decimal, ".")) for row in table for c in row),
        _sampling_above(lines[:skip]),
        tuple(notes),
    )


def _is_given(cell: str) -> bool:
    return cell.lower() not in MISSING


def _date_forms(table: Sequence[Sequence[str]], width: int) -> dict[int, DateForm]:
    """Return how columns of dates and times are written, by their places."""
    found = {}
    for place in range(width):
        cells = [row[place] for row in table if _is_given(row[place])]
        form = find_form(cells[:1])
        if form is not None:
            # a later cell that is none will be named by the parser
            found[place] = find_form(cells) or form
    return found


_SAID = re.compile(
    r'^["#%\s]*([A-Za-z][\w .()\[\]/-]*?)["\s]*[:=;,\t][:=;,\s"]*([-+]?[\d.,]+(?:[eE][-+]?\d+)?)[;,\s"]*([A-Za-zµ]*)'
)


def _sampling_above(lines: Sequence[str]) -> Sampling:
    """Return what lines such as ``Sample rate: 200 Hz`` say."""
    found = [match for line in lines if (match := _SAID.match(line)) is not None]
    numbers = {}
    for match in found:
        with suppress(ValueError):
            numbers[match[1]] = number(match[2].rstrip(".,"), "," if "." not in match[2] else ".")
    return read_sampling(numbers, {f"{match[1]}_units": (match[3],) for match in found})


def text_encoding(head: bytes) -> str:
    """Return the encoding of a text: UTF-8, or UTF-16 as Windows programs write it, or else Latin-1."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if 4 * max(even, odd) > len(head) > 1 + 8 * min(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    if head.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    try:
        head[: head.rfind(b"\n") + 1 or None].decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


_Kind = tuple[int, frozenset[int], int]
_NO_ROW: _Kind = 0, frozenset(), 0


def _kind(line: str, delimiter: str, decimal: str) -> _Kind:
    """Return how many cells a row of numbers has, which are text, and how many have separators of thousands."""
    if not is_data(line):
        return _NO_ROW
    cells = split(line, delimiter)
    numbers, texts = 0, set()
    for place, cell in enumerate(cells):
        try:
            numbers += not isnan(number(cell, decimal))
        except ValueError:
            if find_form((cell,)) is None:
                texts.add(place)
            else:
                numbers += 1
    if not numbers or len(texts) > len(cells) // 2:
        return _NO_ROW
    return len(cells), frozenset(texts), sum(is_grouped(cell, decimal) for cell in cells)


def _common_width(kinds: Sequence[_Kind]) -> int:
    widths = Counter(width for width, _, _ in kinds if width)
    return max(widths, key=lambda width: (widths[width], width)) if widths else 0


def _merit(candidate: tuple[str, str, list[_Kind]]) -> tuple[int, int, int, int]:
    """Rows without text count first, then rows with some, then columns, then numbers without separators."""
    kinds = candidate[2]
    width = _common_width(kinds)
    rows = [kind for kind in kinds if kind[0] == width and width]
    whole = sum(not texts for _, texts, _ in rows)
    return whole, len(rows), width, -sum(grouped for _, _, grouped in rows)


def _header(
    lines: Sequence[str], delimiter: str, cells: int, trailing: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names and units right above the first row, `cells` of each; in a comment if nowhere else."""
    plain = [line for line in lines if is_data(line)]
    comments = [line.strip().lstrip("".join(COMMENTS)) for line in lines if line.strip() and not is_data(line)]
    for pool in (plain, comments):
        fits = [_fit(line, delimiter, cells, trailing) for line in pool[-_HEADER_LINES:]]
        while len(fits) > 1 and fits[-1] and all(text.strip().lower() in _PROCESSES for text in fits[-1]):
            fits.pop()
        if len(fits) > 1 and fits[-1] and fits[-2] and _are_units(fits[-2], fits[-1]):
            return fits[-2], fits[-1]
        if fits and fits[-1]:
            return fits[-1], ()
    return (), ()


def _are_units(names: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row below names has units; not all need be known: that of the time, half, or repeated ones."""
    given = [text for text in row if text.strip()]
    known = sum(map(is_unit, given))
    first = row[0].strip("[]() ").lower()
    if not given or known == len(given) or first in SECONDS or (first == "ts" and len(given) > 1):
        return bool(given)
    repeats = len(set(given)) < len(given) and len(set(names)) == len(names)
    return known > 0 and not any(map(is_unit, filter(None, names))) and (2 * known >= len(given) or repeats)


def _fit(line: str, delimiter: str, cells: int, trailing: bool) -> tuple[str, ...]:
    """Return the cells of a header line if they match those of a row, however it is parted."""
    line = line.strip("\r\n")
    for own in dict.fromkeys((delimiter, ",", ";", "\t", SPACES, _WIDE)):
        texts = split(re.sub(r"\s+(?=[\[(])", "", line) if own == SPACES else line, own)
        if len(texts) == cells + 1 and not texts[-1]:
            texts.pop()
        if len(texts) == cells - 1 and trailing:
            texts.append("")
        if len(texts) == cells and any(texts):
            return tuple(texts)
    return ()
