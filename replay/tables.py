"""Console output of reports: tables that fit the terminal, in which no number is cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# a column's padding and border, and the table's last border
_BORDERS, _EDGE = 3, 1


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


def uncut(table: Table) -> Table:
    """Return a table in which no number is cut: columns flush right, or without wrapping, are as wide as their cells.

    Print it with ``crop=False``, so that a narrow terminal wraps its lines.
    """
    for column in table.columns:
        if column.justify == "right" or column.no_wrap:
            lines = [line for cell in (column.header, *column.cells) for line in str(cell).split("\n")]
            column.min_width = max(map(cell_len, lines))
    return table


def print_table(
    console: Console, title: str, headings: Sequence[str], rows: Sequence[Sequence[str] | None], *, texts: int = 1
) -> None:
    """Print a table; columns for which there is no room follow in further tables, with the first columns repeated.

    Parameters
    ----------
    rows : one cell for each heading; None draws a line.
    texts : number of text columns on the left, which are repeated; the others are numbers.
    """
    cells = [row for row in rows if row is not None]
    widths = [max(map(cell_len, (heading, *(row[i] for row in cells)))) for i, heading in enumerate(headings)]
    repeated = list(range(texts))
    room = console.width - _EDGE - sum(widths[i] + _BORDERS for i in repeated)
    blocks: list[list[int]] = [[]]
    for i in range(texts, len(headings)):
        if blocks[-1] and sum(widths[k] + _BORDERS for k in (*blocks[-1], i)) > room:
            blocks.append([])
        blocks[-1].append(i)
    if title:
        # not the table's own: a title wider than the table would be split within words
        console.print(Text(title, "italic"))
    for block in blocks:
        table = Table()
        for i in (*repeated, *block):
            table.add_column(headings[i], justify="left" if i < texts else "right", no_wrap=True, min_width=widths[i])
        for row in rows:
            if row is None:
                table.add_section()
            else:
                table.add_row(*(Text(row[i]) for i in (*repeated, *block)))
        # a terminal too narrow for one number wraps the lines, and cuts nothing
        console.print(table, crop=False, overflow="ignore")
