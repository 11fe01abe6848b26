"""Tables of reports: how wide they are, and that no number is cut."""

from io import StringIO

import pytest
from rich.console import Console

from monitor.text.blocks import Column, Data, Figure, Points, Row, Table, Text, Tone, words
from replay.tables import print_blocks, report_console


@pytest.mark.parametrize(("columns", "width"), [("72", 72), ("", 100), ("wide", 100), ("0", 100)])
def test_the_width_in_a_pipe_is_that_of_the_environment(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert report_console().width == width


def test_blocks_on_the_console(capsys):
    columns = (
        words("model"),
        words(),
        Column("tolerance", "%", "g", 100.0),
        Column("reliability\nat the end", form=".2f"),
    )
    rows = [("good", "", 0.08, 0.711), None, Row(("", "[bold]", 0.16, None), Tone.PAPER)]
    print_blocks(
        [
            Data({"study": "beam"}),
            Text("Cases", Tone.HEADING),
            Table("At 5 s", columns, rows, "A note."),
            Figure("picture", lambda: pytest.fail("it is drawn")),
            Text("A text."),
            Points(("a point", "another")),
        ]
    )
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "Cases",
        "At 5 s",
        "A note.",
        f"{'reliability':>41}",
        f"{'model':15}{'tolerance [%]'}{'at the end':>13}",
        "─" * 41,
        f"{'good':15}{'8':>13}{'0.71':>13}",
        "",
        f"{'       [bold]':15}{'16':>13}{'—':>13}",
        "",
        "A text.",
        "  a point",
        "  another",
    ]


@pytest.mark.parametrize("width", [30, 50, 80, 120])
def test_no_number_is_cut_however_narrow_the_terminal(width):
    console = Console(file=StringIO(), width=width)
    rows = [
        ("broadband_delay", "ms", "8.165e-05", "-1.234e+12", "0.5", "1.23456789", "words that are wrapped"),
        None,
        ("b", "", *"1234", ""),
    ]
    columns = words("indicator"), words("unit"), *map(Column, ("median", "±", "mean", "95 %")), words("where")
    print_blocks([Table("a title", columns, rows)], console)
    said = console.file.getvalue()
    assert "…" not in said
    for word in ("broadband_delay", "8.165e-05", "-1.234e+12", "1.23456789", "median", "95 %"):
        assert word in "".join(said.splitlines()) if width < 40 else word in said
    if width >= 50:
        assert max(map(len, said.splitlines())) <= width
