"""Tables that fit the terminal: columns that have no room go into further tables below, and no number is cut."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

# a column's padding and border, and the table's last border
_BORDERS, _EDGE = 3, 1


def print_table(
    console: Console, title: str, headings: Sequence[str], rows: Sequence[Sequence[str] | None], *, texts: int = 1
) -> None:
    """Print rows under headings, in as many tables as the width asks for; each begins with the first columns.

    Parameters
    ----------
    rows : a cell a heading; None draws a line.
    texts : so many columns on the left are text, and are repeated; those beside them are numbers.
    """
    cells = [row for row in rows if row is not None]
    widths = [max(map(cell_len, (heading, *(row[i] for row in cells)))) for i, heading in enumerate(headings)]
    kept = list(range(texts))
    room = console.width - _EDGE - sum(widths[i] + _BORDERS for i in kept)
    blocks: list[list[int]] = [[]]
    for i in range(texts, len(headings)):
        if blocks[-1] and sum(widths[k] + _BORDERS for k in (*blocks[-1], i)) > room:
            blocks.append([])
        blocks[-1].append(i)
    for number, block in enumerate(blocks):
        table = Table(title=Text(title) if number == 0 and title else None, title_justify="left")
        for i in (*kept, *block):
            table.add_column(headings[i], justify="left" if i < texts else "right", no_wrap=True, min_width=widths[i])
        for row in rows:
            if row is None:
                table.add_section()
            else:
                # Text, because names may hold brackets, which would be taken for markup
                table.add_row(*(Text(row[i]) for i in (*kept, *block)))
        # in a terminal too narrow for one number its lines are wrapped, not cut
        console.print(table, crop=False, overflow="ignore")
