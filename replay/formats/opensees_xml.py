"""Recorders of OpenSees in XML, ``recorder Node -xml``: what each column is, then rows of numbers.

A column is named by its node, element or part of it and by the response: ``node2.D1``, ``element1.material3.sig11``.
"""

from __future__ import annotations

import re
import warnings
from array import array
from itertools import islice
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.base import DamagedFileError, Format, RecordingError, Selection
from replay.formats.columns import read_columns
from replay.formats.reading import check_memory
from replay.formats.signal_table import SignalTable, array_reader

_WHAT = "an XML file of OpenSees"
_ROOT = re.compile(rb"<OpenSees[\s>]")
_DATA, _DATA_END = b"<Data>", b"</Data>"
_END = b"</OpenSees>"
_LARGEST_HEAD = 1 << 26
_MOST_COLUMNS, _DEEPEST = 4096, 32
_NUMBERED = ("nodeTag", "eleTag", "number", "matTag", "secTag", "fiberTag")
_EXCERPT = 30


def is_opensees_xml(path: Path, head: bytes, selection: Selection) -> bool:  # noqa: ARG001 the signature of Format
    """Whether the first element of an XML file is OpenSees'."""
    return head.lstrip().startswith((b"<?xml", b"<OpenSees")) and _ROOT.search(head) is not None


def _tables(path: Path) -> list[SignalTable]:
    # the text, and a number of 8 bytes for 10 of it
    check_memory(path, 1.8 * path.stat().st_size)
    content = path.read_bytes()
    begin = content.find(_DATA, 0, _LARGEST_HEAD)
    if begin < 0:
        raise DamagedFileError(f"{path}: damaged or cut short, not readable as {_WHAT}: it has no <Data>")
    header = _header(path, content[:begin])
    begin += len(_DATA)
    end = content.find(_DATA_END, begin)
    whole = end >= 0 and content.find(_END, end) >= 0
    first_line = content.count(b"\n", 0, begin) + 1
    text = content[begin:] if end < 0 else content[begin:end]
    notes: tuple[str, ...] = ()
    if not whole:
        # of a program that was killed, or of a file whose last line was not written to its end
        rest = text.rpartition(b"\n")
        text = rest[0] if end < 0 else text
        notes = (f"the file is cut short, without its end {_END.decode()}: read as far as it goes",)
    values = _rows(path, text, len(header), first_line)
    if len(values) < 2:
        raise RecordingError(f"{path}: fewer than 2 rows of numbers")
    table = SignalTable(
        path,
        read_columns(header, (), len(header)),
        len(values),
        array_reader(values),
        notes=notes,
        place=lambda row: f"line {_line(text, row) + first_line}",
    )
    return [table]


def _header(path: Path, text: bytes) -> list[str]:
    """Return the names of the columns in the description above the data."""
    if b"<!" in re.sub(rb"<!--.*?-->", b"", text, flags=re.DOTALL):
        raise DamagedFileError(f"{path}: not readable as {_WHAT}: it has a document type or entities")
    try:
        root = ElementTree.fromstring(text + _END)  # noqa: S314  no entities
    except ElementTree.ParseError as problem:
        raise DamagedFileError(
            f"{path}: damaged or cut short, not readable as {_WHAT}: {str(problem).partition(':')[0]}"
        ) from None
    names = _names(path, root, "")
    if not 0 < len(names) <= _MOST_COLUMNS:
        raise RecordingError(f"{path}: {len(names)} responses: this is no record of signals")
    return names


def _names(path: Path, element: ElementTree.Element, prefix: str, depth: int = 0) -> list[str]:
    if depth > _DEEPEST:
        raise DamagedFileError(f"{path}: not readable as {_WHAT}: nested deeper than {_DEEPEST} levels")
    found: list[str] = []
    for child in element:
        if child.tag == "ResponseType":
            name = (child.text or "").strip() or "response"
            found.append(name if name == "time" else f"{prefix}{name}")
        else:
            found += _names(path, child, prefix + _part(child), depth + 1)
    return found


def _part(element: ElementTree.Element) -> str:
    """``<NodeOutput nodeTag="2">`` -> ``node2.``; the output of times has no name."""
    kind = element.tag.removesuffix("Output")
    if kind == "Time":
        return ""
    kind = "material" if kind.endswith("Material") else kind[:1].lower() + kind[1:]
    number = next((element.get(name, "") for name in _NUMBERED if element.get(name)), "")
    return f"{kind}{number}."


def _rows(path: Path, text: bytes, width: int, first_line: int) -> Samples:
    """Return (n_rows, width)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values = np.fromstring(text, dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            values = np.empty(0)
    # each line: a number that moved to the next one would shift all columns
    widths = [n for line in text.split(b"\n") if (n := len(line.split()))]
    if values.size == width * len(widths) and set(widths) <= {width}:
        return values.reshape(-1, width)
    found = array("d")
    for number, line in enumerate(text.split(b"\n"), first_line):
        cells = line.decode("latin-1").split()
        if len(cells) not in (0, width):
            raise RecordingError(f"{path}: line {number} has {len(cells)} numbers for {width} responses")
        for cell in cells:
            try:
                # float takes 1_0 for 10
                found.append(float(cell.replace("_", " ")))
            except ValueError:
                raise RecordingError(f"{path}: line {number}: {cell[:_EXCERPT]!r} is not a number") from None
    return np.array(found, dtype=np.float64).reshape(-1, width)


def _line(text: bytes, row: int) -> int:
    """Return the number of the line of a row, after that of ``<Data>``."""
    filled = (number for number, line in enumerate(text.split(b"\n")) if line.strip())
    return next(islice(filled, row, None), 0)


FORMAT = Format("OpenSees XML", ("*.xml",), is_opensees_xml, tables=_tables, shared=("*.xml",))
