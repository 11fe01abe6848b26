"""Tables of reports: how wide they are, and that no number is cut."""

import pytest
from rich.table import Table

from replay.tables import print_table, report_console, uncut


@pytest.mark.parametrize(("columns", "width"), [("72", 72), ("", 100), ("wide", 100), ("0", 100)])
def test_the_width_in_a_pipe_is_that_of_the_environment(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert report_console().width == width


def test_columns_without_room_follow_in_further_tables(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    numbers = [f"{k}.{k:09d}" for k in range(1, 7)]
    print_table(report_console(wrap=True), "", ("name", *"abcdef"), [("one", *numbers)])
    shown = capsys.readouterr().out
    assert all(number in shown for number in numbers)
    assert shown.count("one") == 3 and max(map(len, shown.splitlines())) <= 40


def test_no_number_is_cut_where_the_terminal_is_narrow(capsys):
    table = Table()
    table.add_column("name", no_wrap=True)
    for k in range(6):
        table.add_column(f"{k}", justify="right")
    numbers = [f"{k}.{k:09d}\n± {k}" for k in range(1, 7)]
    table.add_row("one", *numbers)
    report_console(40).print(uncut(table), crop=False)
    shown = capsys.readouterr().out
    assert all(number.split("\n")[0] in shown for number in numbers) and "…" not in shown
