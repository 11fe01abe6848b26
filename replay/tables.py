"""Blocks on the console: tables that fit the terminal, in which no number is cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.text.blocks import Block, Points, Row, Tone
from monitor.text.blocks import Table as TableBlock
from monitor.text.blocks import Text as TextBlock


def report_console(width: int = 100, *, wrap: bool = False) -> Console:
    """Return a console for reports, in which brackets are text: file names and headers may have some.

    Parameters
    ----------
    width : in a pipe, which has none of its own, unless the environment gives COLUMNS.
    wrap : wrap text in a pipe as well; else a line stays one line, for scripts.
    """
    terminal, columns = sys.stdout.isatty(), os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else width
    return Console(width=None if terminal else width, soft_wrap=not (terminal or wrap), markup=False, highlight=False)


_STYLES = {
    Tone.PLAIN: "",
    Tone.HEADING: "bold",
    Tone.STRONG: "bold",
    Tone.GOOD: "bold green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
    Tone.PAPER: "cyan",
    Tone.ASIDE: "dim",
}
# between two columns, and of a column of words that is wrapped at the least
_GAP, _WORDS = 2, 24


def print_blocks(blocks: Iterable[Block], console: Console | None = None) -> None:
    """Print what blocks tell people but for figures, by default within 100 columns where there is no terminal."""
    console = console or report_console(wrap=True)
    before: Block | None = None
    for block in blocks:
        if not isinstance(block, TextBlock | Points | TableBlock):
            continue
        if before and _stands_apart(before, block):
            console.print()
        if isinstance(block, TableBlock):
            _print_block_table(console, block)
        elif isinstance(block, Points):
            for line in block.lines:
                console.print(Padding(Text(line, _STYLES[block.tone]), (0, 0, 0, 2)))
        else:
            console.print(Text(block.text, _STYLES[block.tone]))
        before = block


def _stands_apart(before: Block, block: Block) -> bool:
    """Whether a line is left before a heading, and on both sides of a table that has no heading."""
    is_heading, is_under_heading = (
        isinstance(each, TextBlock) and each.tone is Tone.HEADING for each in (block, before)
    )
    return is_heading or (not is_under_heading and TableBlock in (type(before), type(block)))


def _print_block_table(console: Console, block: TableBlock) -> None:
    """Print a table; columns without room follow in further ones, with the names of the rows repeated."""
    if block.title:
        console.print(Text(block.title, "bold"))
    if block.note:
        console.print(Text(block.note))
    columns = block.shown
    rows = [[(row, block.cells(row)) for row in group] for group in block.groups]
    texts = zip([column.heading for column in columns], *(cells for group in rows for _, cells in group), strict=True)
    widths = [max(cell_len(line) for text in column for line in text.split("\n")) for column in texts]
    names = next((i for i, column in enumerate(columns) if column.form), len(columns))
    # words after numbers are wrapped where there is no room
    least = [w if columns[i].form or i < names else min(w, _WORDS) for i, w in enumerate(widths)]
    for number, part in enumerate(_parts(least, names, console.width)):
        if number:
            console.print()
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
        for i in part:
            side: JustifyMethod = "right" if columns[i].form else "left"
            is_whole = least[i] == widths[i]
            heading = columns[i].heading
            table.add_column(heading, justify=side, no_wrap=is_whole, min_width=least[i], overflow="fold")
        for group in rows:
            for row, cells in group:
                style = _STYLES[row.tone] if isinstance(row, Row) else ""
                table.add_row(*(Text(cells[i]) for i in part), style=style)
            table.add_section()
        # a terminal too narrow for one number wraps the lines, and cuts nothing
        console.print(table, crop=False, overflow="ignore")


def _parts(widths: Sequence[int], names: int, room: int) -> list[list[int]]:
    """Return which columns go side by side, the first `names` in each part."""
    always = list(range(names))
    parts = [always]
    for i in range(names, len(widths)):
        if len(parts[-1]) > names and sum(widths[k] + _GAP for k in (*parts[-1], i)) > room + _GAP:
            parts.append(always)
        parts[-1] = [*parts[-1], i]
    return parts
