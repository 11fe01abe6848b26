"""Choices of columns: what has no problems is understood by those who read the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.sources.opening.columns import ACTUATORS, FILE, RATE, RESAMPLE, ActuatorColumns, ColumnChoice, choice_of
from gui.sources.opening.connect_dialog import RecentList
from gui.sources.opening.open_dialog import ColumnMemory
from monitor.__main__ import parser_for
from monitor.messages.recordings import ColumnGuess, FileColumn
from replay.formats import Selection

NAMES = ("t", "-p", "q r", "force=1", "5", "ü")
COLUMNS = tuple(FileColumn(name, "mm", number, name) for number, name in enumerate(NAMES, 1))
columns = st.sampled_from(["", *NAMES])
choices = st.builds(
    ColumnChoice,
    st.lists(st.builds(ActuatorColumns, columns, columns, columns), max_size=3).map(tuple),
    columns,
    st.sampled_from(["", "100", "0.5", "0", "-1", "x", "inf", "nan"]),
    st.booleans(),
    dataset=st.sampled_from(["", "/run 1", "-d=2"]),
)


def selection(choice):
    """Return what the command makes of the words of a choice."""
    given = parser_for(["replay"]).parse_args(["replay", "file", *choice.words])
    columns = tuple(given.command), tuple(given.measured), tuple(given.force)
    return Selection(
        *columns, given.time, given.rate, given.auxiliary, resample=given.resample, dataset=given.dataset
    )


@given(choices)
def test_what_has_no_problems_is_understood(choice):
    if choice.problems():
        return
    read = selection(choice)
    assert read.auxiliary is choice.auxiliary
    assert read.dataset == (choice.dataset or None)
    assert read.rate == (float(choice.rate) if choice.rate else None)
    assert read.time == (choice.time or None if not choice.rate else None)
    if not choice.auxiliary:
        assert read.command == tuple(each.command for each in choice.actuators)
        assert read.measured == tuple(each.measured for each in choice.actuators)
        named = (*read.command, *read.measured, *read.force, *([read.time] if read.time else []))
        assert len(set(named)) == len(named)
        assert len(read.force) in (0, len(read.command))


def test_a_rate_to_interpolate_to_is_an_option_beside_the_others():
    choice = ColumnChoice((ActuatorColumns("a", "b"),), "t", resample="250.5")
    assert choice.words == ("--command=a", "--measured=b", "--time=t", "--resample=250.5")
    read = selection(choice)
    assert (read.time, read.resample, read.rate) == ("t", 250.5, None)
    assert list(ColumnChoice((), auxiliary=True, resample="-1").problems()) == [RESAMPLE]


def test_problems_stand_where_they_are():
    twice = ColumnChoice((ActuatorColumns("p", "q"), ActuatorColumns("q", "", "r")), time="r", rate="")
    assert twice.problems() == {
        (0, "force"): "every actuator needs one, or none has",
        (1, "command"): "serves as measured of actuator 1 already",
        (1, "measured"): "choose a column",
        (1, "force"): "serves as time already",
    }
    assert list(ColumnChoice((), rate="fast").problems()) == [RATE, ACTUATORS]
    # of times nobody asks where a rate is given
    assert ColumnChoice((ActuatorColumns("t", "q"),), time="t", rate="100").problems() == {}
    assert ColumnChoice((), auxiliary=True).problems() == {}
    assert list(ColumnChoice((), rate="0", auxiliary=True).problems()) == [(FILE, "rate")]


def test_a_guess_is_a_choice():
    guess = ColumnGuess(("a", "b"), ("c", "d"), ("e", "f"), "t")
    assert choice_of(guess) == ColumnChoice(
        (ActuatorColumns("a", "c", "e"), ActuatorColumns("b", "d", "f")), "t", "", False
    )
    assert choice_of(ColumnGuess(("a",), ("c",), (), None)).actuators == (ActuatorColumns("a", "c", ""),)
    assert choice_of(ColumnGuess(auxiliary=True)).auxiliary
    assert choice_of(None) == ColumnChoice()


GOOD = ColumnChoice((ActuatorColumns("-p", "q r"),), "t")


def test_choices_are_remembered_by_the_names_of_the_columns(settings):
    memory = ColumnMemory(settings)
    assert memory.recall(COLUMNS) is None
    memory.remember(COLUMNS, GOOD)
    settings.sync()
    again = ColumnMemory(settings)
    assert again.recall(COLUMNS[::-1]) == GOOD
    assert again.recall(COLUMNS[1:]) is None


def test_only_so_many_are_remembered(settings):
    memory = ColumnMemory(settings)
    files = [[FileColumn(f"a{i}"), FileColumn("b")] for i in range(60)]
    for i, file in enumerate(files):
        memory.remember(file, ColumnChoice((ActuatorColumns(f"a{i}", "b"),)))
    assert [memory.recall(file) is not None for file in files] == [False] * 10 + [True] * 50
    assert len(settings.allKeys()) == 51


@pytest.mark.parametrize(
    "garbage", ["", "{", '{"actuators": 3}', '{"actuators": [{"command": "x", "measured": "y"}]}']
)
def test_damaged_settings_remember_nothing(settings, garbage):
    memory = ColumnMemory(settings)
    memory.remember(COLUMNS, GOOD)
    for key in settings.allKeys():
        settings.setValue(key, garbage)
    assert memory.recall(COLUMNS) is None
    memory.remember(COLUMNS, GOOD)
    assert memory.recall(COLUMNS) == GOOD


def test_what_was_used_last_comes_first(settings):
    recent = RecentList(settings, "x", most=3)
    for text in ("a", "b", "a", "c", "d"):
        recent.add(text)
    assert recent.texts == ("d", "c", "a")
    recent.remove("c")
    assert RecentList(settings, "x", most=3).texts == ("d", "a")
    settings.setValue("x", "not json")
    assert recent.texts == ()
