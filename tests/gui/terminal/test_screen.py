"""The screen at every size: nothing wraps, nothing is cut off, nothing that means nothing is a number."""

import dataclasses
import io
import math
import re

import numpy as np
import pytest
from msgspec.structs import replace
from rich.console import Console

from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.terminal.dashboard import Screen
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.blocks import Column, Event, EventKind, ResultBlock, ResultStream
from monitor.messages.health import CompilationStatus, Health, StreamCounts

OUTPUTS = {
    "broadband_delay": 0.0123,
    "broadband_delay_sd": 0.0004,
    "broadband_ratio": 1.111,
    "broadband_ratio_sd": 0.004,
    "fdb_delay": 0.0129,
    "fdb_delay_sd": 0.0001,
    "fdb_added_damping": -0.0312,
    "fdb_ratio": 1.113,
    "fdb_ratio_sd": 0.001,
    "fdb_phase": -0.1,
    "paei_delay": 0.0131,
    "paei_delay_sd": 0.0002,
    "paei_ratio": 1.115,
    "paei_ratio_sd": 0.001,
    "nrmse": 0.334,
    "fdb_frequency": 1.25,
}
HEALTH = Health(
    rig="laboratory",
    state="receiving",
    counts=StreamCounts(1_234_567, 128, 3, restarts=1),
    sample_rate=1024.0,
    measured_rate=1023.9,
    age=0.01,
    recording="runs/demo.h5",
    recorded=1_234_000,
)
EVENTS = (
    Event(EventKind.STARTED, 0.0, 0),
    Event(EventKind.GAP, 12.5, 12800, 128),
    Event(EventKind.REJECTED, 13.0, 0, 2, "a text that goes on and on and says what was wrong with it " * 3),
    Event(EventKind.RESTART, 1.7e9, 0),
)
SITE = {
    "reliability_first_passage": 0.591,
    "reliability_first_passage_se": 0.0016,
    "reliability_accumulated": 0.942,
    "reliability_accumulated_se": 0.0003,
    "reliability_windowed": 0.977,
    "reliability_windowed_se": 0.0004,
}
WIDTHS = [60, 80, 100, 140, 200]


def block(actuators=("north", "south", "roof"), values=OUTPUTS, sites=(), decided=-1.0, of_ratio="1", site=SITE):
    """Return results of actuators and of a model at sites, the last of which has its decision."""
    columns = [Column(name, of_ratio if "ratio" in name else "", a) for a in actuators for name in values]
    row = [*values.values()] * len(actuators)
    columns += [Column(name, "1", at) for at in sites for name in site]
    row += [*site.values()] * len(sites)
    if sites:
        columns.append(Column("reliability_decision", "1", sites[-1]))
        row.append(decided)
    return ResultBlock(ResultStream("laboratory", 1, 10.0, 1, tuple(columns)), 0, 0.0, np.array([row]))


def known(results=None, health=HEALTH, events=(), alarms=(), silence=0.1, age=0.0):
    history = History(8 << 20, 1.0)
    messages = ReceivedMessages(
        health, events, () if results is None else (results,), alarms=AlarmReport(alarms=alarms)
    )
    history.update(messages, silence=silence, age=age)
    return history


def drawn(history, width=100, height=None, styles=False):
    console = Console(file=io.StringIO(), record=True, width=width, height=height or 50, force_terminal=True)
    console.print(Screen(history), height=height)
    lines = console.export_text(styles=styles).splitlines()
    assert styles or all(len(line.rstrip()) <= width for line in lines)
    assert height is None or len(lines) <= height
    return [line.rstrip() for line in lines]


def row_of(values=OUTPUTS, width=140, **options):
    (row,) = [line for line in drawn(known(block(("north",), values, **options)), width) if line.startswith("north")]
    return row


@pytest.mark.parametrize("width", WIDTHS)
def test_every_line_has_room_and_what_matters_is_there(width):
    lines = drawn(known(block(), events=EVENTS), width)
    text = "\n".join(lines)
    for word in ("● receiving", "rig laboratory", "1024 Hz", "▲ lost 128", "▲ duplicates 3", "received 1,234,567",
                 "▲ restarts 1", "● recording demo.h5: 20 min, 1,234,000 samples on disk", "data 0.0 s old",
                 "128 samples lost", "2 messages rejected"):  # fmt: skip
        assert word in text
    assert "▲ rejected" not in text and "out of order" not in text
    rows = [line for line in lines if line.startswith(("north", "south", "roof"))]
    assert len(rows) == 3
    for row in rows:
        assert re.search(r" 12\.3 +0\.4 +1\.111 ", row)
        assert row.endswith("lag, undershoot") and "…" not in row
    assert sum(line.startswith("events ─") for line in lines) == 1
    assert len(lines) <= 15


def test_more_room_tells_more():
    rows = {width: row_of(width=width) for width in WIDTHS}
    assert re.search(r"^north +12\.3 +0\.4 +1\.111 lag", rows[60])
    assert re.search(r"^north +12\.3 +0\.4 +1\.111 +0\.004 +-3\.12 +33\.4 lag", rows[80])
    assert re.search(r" 0\.004 +12\.9 +13\.1 +-3\.12 +33\.4 lag", rows[100])
    assert re.search(r" 0\.004 +12\.9 +1\.113 +13\.1 +1\.115 +-5\.7 +1\.25 +-3\.12 +33\.4 lag", rows[140])
    first, second = [line for line in drawn(known(block()), 140) if "broadband" in line or "actuator" in line]
    # each number is below its name, and that below the indicator's
    for title, name in (("broadband", "delay ms"), ("FDB", "delay ms"), ("PAEI", "delay ms"), ("damping", "%")):
        assert second[: first.index(title) + len(title)].endswith(name)
    heading = "actuator delay ms ± ms ratio ± delay ms ratio delay ms ratio phase ° freq Hz % % tracking"
    assert second.split() == heading.split()
    for name, number in (("± ms", "0.4"), ("ratio", "1.111"), ("freq Hz", "1.25")):
        assert rows[140][: second.index(name) + len(name)].endswith(number)


def test_what_means_nothing_is_a_dash_in_every_column():
    assert row_of(dict.fromkeys(OUTPUTS, math.nan), 100).split() == ["north", *["—"] * 8, "no", "delay"]


def test_no_number_is_cut_however_large():
    row = row_of({**OUTPUTS, "broadband_delay": 1e9, "broadband_ratio": -1e12, "fdb_added_damping": 1e9}, 80)
    assert row.split()[1:7] == [">99999999", "0.4", "<-9999", "0.004", ">999999", "33.4"]


@pytest.mark.parametrize(
    ("state", "silence", "age", "word", "end"),
    [
        ("stale", 0.1, 8.0, "▲ stale", "stale"),
        ("receiving", 0.1, 8.0, "▲ stale", "stale"),
        ("receiving", 9.0, 0.0, "▲ no data from the service", "no data"),
        ("waiting", 0.1, 0.0, "○ waiting for the rig", "waiting"),
    ],
)
def test_old_values_are_not_shown_as_current(state, silence, age, word, end):
    health = Health("laboratory", state, sample_rate=1024.0, age=7.0)
    lines = drawn(
        known(block(("north",), {**OUTPUTS, "fdb_delay": 0.02}, ("deflection",)), health, (), (), silence, age)
    )
    assert lines[0].startswith(word)
    (row,) = [line for line in lines if line.startswith("north")]
    assert row.split() == ["north", *["—"] * 8, *end.split()]
    (site,) = [line for line in lines if line.startswith("deflection")]
    assert site.split() == ["deflection", *["—"] * 3, *end.split()]


def test_the_last_values_of_a_run_that_ended_stay():
    lines = drawn(known(block(), Health("laboratory", "ended"), silence=99.0, age=99.0))
    assert lines[0].startswith("■ ended")
    assert sum(bool(re.search(r" 12\.3 +0\.4 +1\.111 .*lag, undershoot", line)) for line in lines) == 3


def test_a_contradiction_names_the_indicator():
    assert "≠" not in row_of()
    # 2 sd of 0.4 ms and 0.1 ms, and 0.2 ms that nobody minds: 1.2 ms to either side of 12.3 ms
    for width in WIDTHS:
        assert row_of({**OUTPUTS, "fdb_delay": 0.0138}, width).endswith("lag, undershoot, ≠ FDB")
    assert "≠" not in row_of({**OUTPUTS, "fdb_delay": 0.0134})
    assert row_of({**OUTPUTS, "paei_ratio": 1.25}).endswith("lag, undershoot, ≠ PAEI")
    assert row_of({**OUTPUTS, "fdb_delay": 0.0138, "paei_ratio": 1.25}, 60).endswith("≠ FDB, PAEI")


def test_without_the_broadband_delay_the_next_best_is_first():
    fdb = {name: value for name, value in OUTPUTS.items() if not name.startswith("broadband")}
    lines = drawn(known(block(("north",), fdb)), 140)
    assert any(re.search(r"PAEI +FDB ", line) for line in lines)
    (row,) = [line for line in lines if line.startswith("north")]
    assert re.search(r"^north +13\.1 +0\.2 +1\.115 +0\.001 +12\.9 +1\.113 +-5\.7 ", row)
    assert "≠" not in row and row.endswith("lag, undershoot")


def test_a_paused_headline_gives_way():
    history = known(block(("north",)), dataclasses.replace(HEALTH, shed=("broadband",)))
    (row,) = [line for line in drawn(history) if line.startswith("north")]
    assert re.search(r"^north +13\.1 +0\.2 +1\.115 ", row)


def test_a_ratio_of_different_units_is_no_undershoot():
    assert row_of(of_ratio="mm/V").endswith("33.4 lag")


def test_damping_that_is_taken_away_is_grave():
    (row,) = [line for line in drawn(known(block(("north",))), styles=True) if "north" in line and "12.3" in line]
    assert re.search(r"\x1b\[1;31m *-3\.12", row)


@pytest.mark.parametrize(("health", "word"), [(None, "connecting"), (Health(), "waiting for the rig")])
def test_before_the_first_block(health, word):
    text = "\n".join(drawn(known(None, health), 80))
    assert word in text and "no results yet" in text and "nothing yet" in text
    assert ("○ not recording" in text) == (health is not None)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 24), (100, 50), (140, 30)])
def test_sixteen_actuators_fit(width, height):
    names = [f"actuator-{i}" for i in range(1, 17)]
    lines = drawn(known(block(names), events=EVENTS), width, height)
    assert [line.split()[0] for line in lines if line.startswith("actuator-")] == names
    assert "restart" in lines[-1]


@pytest.mark.parametrize("height", [10, 14, 20, 24])
def test_those_that_do_not_fit_are_counted(height):
    lines = drawn(known(block([f"a{i}" for i in range(40)]), events=EVENTS), 100, height)
    shown = sum(line.startswith("a") and "lag, " in line for line in lines)
    assert 0 < shown < 40
    assert f"and {40 - shown} more" in lines


def test_an_overload_and_what_is_being_compiled_are_told():
    shed, late = ("viewers", "broadband"), CompilationStatus(("fdb", "paei"), 0.42)
    text = "\n".join(drawn(known(block(), Health("rig", "receiving", lag=2.34, shed=shed, compilation=late))))
    assert "▲ overloaded, 2.3 s behind" in text
    assert "left out: viewers, broadband" in text
    assert "being compiled, 42 %: fdb, paei" in text
    assert text.count("42 %") == text.count("compil") == 1


def test_long_names_and_paths_give_way():
    path = "/mnt/" + "deep/" * 60 + "run.h5"
    health = Health("r" * 100, "receiving", recording=path, unrecorded=7, unwritten_age=5.3)
    lines = drawn(known(block(["the-one-at-the-north-end-of-the-shaking-table"]), health), 80)
    text = "\n".join(lines)
    for told in ("rig rrrr", "…", "recording run.h5: 0 samples on disk", "disk 5 s behind", "not recorded 7"):
        assert told in text
    narrow = dataclasses.replace(HEALTH, recording=f"runs/{'x' * 60}.h5")
    assert "● recording 20 min" in "\n".join(drawn(known(block(), narrow), 60))
    assert any(line.startswith("the-one-at-t") and line.endswith("lag, undershoot") for line in lines)


def test_nothing_that_a_rig_says_is_taken_for_markup():
    events = (Event(EventKind.NOTE, 0.0, 0, 0, "[bold]not bold[/bold] [/]"),)
    health = Health("[red]rig[/red]", "receiving", recording="runs/[x].h5")
    alarm = replace(TRIP, name="[i]a[/i]")
    text = "\n".join(drawn(known(block(["[b]"], sites=["[/u]"]), health, events, (alarm,))))
    for said in ("[bold]not bold[/bold] [/]", "rig [red]rig[/red]", "recording [x].h5", "[b] ", "[/u]", "[i]a[/i]"):
        assert said in text


@pytest.mark.parametrize("width", WIDTHS)
def test_each_site_has_one_line_between_actuators_and_events(width):
    sites = ["a", "strain at midspan", "all sites"]
    lines = drawn(known(block(("a0", "a1"), sites=sites), events=EVENTS), width)
    heads = [
        line.split()[0] for line in lines if line.startswith(("a0 ", "a1 ", "model", "a ", "strain", "all", "ev"))
    ]
    assert heads == ["a0", "a1", "model", "a", "strain", "all", "events"]
    heading, *rows = lines[lines.index(next(line for line in lines if line.startswith("model"))) :][:4]
    for row in rows:
        # each number stands under its name
        for words, number in (("first-passage", "0.591 ±0.0016"), ("accumulated", "0.942 ±0.0003")):
            assert row[heading.index(words) :].startswith(number)
        assert ("0.977 ±0.0004" in row) == ("windowed" in heading) == (width >= 80)
    assert [row.endswith("■ reject") for row in rows] == [False, False, True]


def test_a_model_without_actuators_is_not_told_to_be_nothing():
    text = "\n".join(drawn(known(block((), sites=["deflection"]), events=EVENTS), 80, 24))
    assert "no results yet" not in text and "tracking" not in text and "■ reject" in text


@pytest.mark.parametrize(
    ("value", "word", "colour"), [(1.0, "● accept", "32"), (0.0, "▲ watch", "33"), (-1.0, "■ reject", "1;31")]
)
def test_a_decision_is_a_word_and_a_colour(value, word, colour):
    text = "\n".join(drawn(known(block((), sites=["deflection"], decided=value)), styles=True))
    assert f"\x1b[{colour}m{word}" in text


@pytest.mark.parametrize("value", [math.nan, 2.0, -7.0, 0.5, math.inf])
def test_a_decision_that_is_none_is_not_decided(value):
    lines = drawn(known(block((), sites=["deflection"], decided=value)))
    assert any("0.942 ±0.0003" in line and line.endswith("○ not decided") for line in lines)


def test_a_missing_value_or_standard_error_of_a_site_is_not_made_up():
    for missing, told in (
        (SITE, ["—"] * 3),
        (["reliability_first_passage_se"], ["0.942", "±0.0003", "0.591", "0.977", "±0.0004"]),
    ):
        history = known(block((), sites=["deflection"], site=SITE | dict.fromkeys(missing, math.nan)))
        (line,) = [line for line in drawn(history) if line.startswith("deflection")]
        assert line.split()[1:-2] == told


def test_values_that_stay_after_the_ensembles_end_are_dim():
    results = block((), sites=["deflection"])
    later = ResultBlock(results.stream, 1, 0.1, np.full_like(results.values, np.nan))
    now, after = known(results), known(results)
    after.update(ReceivedMessages(results=(later,)), silence=0.1, age=0.0)
    assert drawn(now) == drawn(after)
    assert "\x1b[2m0.591" in "\n".join(drawn(after, styles=True))
    assert "\x1b[2m0.591" not in "\n".join(drawn(now, styles=True))


@pytest.mark.parametrize("n_actuators", [0, 1, 3, 40])
@pytest.mark.parametrize("height", [12, 14, 18, 24])
def test_where_lines_are_short_the_decision_and_an_actuator_stay(n_actuators, height):
    for n_sites in (1, 3, 30):
        sites = [*(f"site {i}" for i in range(n_sites)), "all sites"][-n_sites:]
        names = [f"a{i}" for i in range(n_actuators)]
        lines = drawn(known(block(names, sites=sites), events=EVENTS), 100, height)
        assert sum("■ reject" in line for line in lines) == 1
        assert any(line.startswith("a0 ") for line in lines) == (n_actuators > 0)
        assert any(line.startswith("events ─") for line in lines)
        shown = sum(line.startswith(("site", "all sites")) for line in lines)
        assert shown == n_sites or f"and {n_sites - shown} more" in lines


def test_where_all_goes_wrong_at_once_alarms_and_the_decision_stay_within_twelve_lines():
    health = dataclasses.replace(HEALTH, shed=("viewers", "paei"), unrecorded=3, unwritten_age=9.0, disk_free=10**12)
    lines = drawn(known(block(sites=("a", "b", "all sites")), health, EVENTS, (WARN, TRIP, QUIET)), 60, 12)
    assert "actuators: 3, no room in 12 lines" in lines
    assert any("■ TRIP  south" in line for line in lines) and any("■ reject" in line for line in lines)


def test_a_decision_is_an_event_like_a_note():
    said = "deflection: reject: first-passage 0.012 is under 0.05"
    lines = drawn(known(events=(Event(EventKind.DECISION, 1.9, 95, 0, said),)))
    assert lines[-1].split(maxsplit=3) == ["1.9", "s", "decision", said]


WARN = Alarm(
    *("north.fdb_delay.warn", "fdb_delay", "north", "s", Severity.WARN),
    high=0.02,
    state=AlarmState.ACKNOWLEDGED,
    last=0.0312,
    time=12.0,
)
TRIP = Alarm(
    *("south.paei_ratio.trip", "paei_ratio", "south", "", Severity.TRIP),
    low=0.9,
    high=1.1,
    state=AlarmState.LATCHED_UNACKNOWLEDGED,
    last=1.0,
    time=9.0,
)
QUIET = Alarm("north.fdb_delay.trip", "fdb_delay", "north", "s", Severity.TRIP, high=0.05)


def alarms_drawn(*alarms, width=110, height=None, **options):
    lines = drawn(known(alarms=alarms, **options), width, height)
    first = next((i for i, line in enumerate(lines) if line.startswith("alarms: ")), len(lines))
    return lines[first : next(i for i, line in enumerate(lines) if line.startswith("no results"))]


def test_active_alarms_are_told_in_words_and_shapes_the_gravest_first():
    heading, first, second = alarms_drawn(QUIET, WARN, TRIP)
    assert heading.startswith("alarms: ■ TRIP 1 · ▲ WARN 1, 1 unacknowledged ─")
    assert first == "     9.0 s  ■ TRIP  south.paei_ratio 1, limits 0.9 … 1.1: latched, unacknowledged"
    assert second == "    12.0 s  ▲ WARN  north.fdb_delay 31.2 ms, limit 20 ms: acknowledged"
    assert alarms_drawn(QUIET) == alarms_drawn() == []


def test_an_alarm_of_the_headline_says_which_indicator_speaks():
    for source, told in (("paei_delay", ", by PAEI"), ("broadband_delay", "")):
        (_, line) = alarms_drawn(replace(WARN, name="north.delay.warn", value="delay", source=source))
        assert line.endswith(f"north.delay 31.2 ms, limit 20 ms: acknowledged{told}")


@pytest.mark.parametrize("height", [8, 12, 20, 40])
def test_alarms_have_a_third_of_the_lines_and_their_counts_are_told(height):
    lines = alarms_drawn(*[TRIP, WARN] * 9, width=60, height=height, health=Health("rig", "receiving"))
    # the header has one line
    assert len(lines) == min(8, max(2, (height - 1) // 3))
    assert lines[0].startswith("alarms: ■ TRIP 9 · ▲ WARN 9, 9 unacknowledged")


def test_beside_an_alarm_for_an_earlier_count_stands_no_later_count():
    state = AlarmState.UNACKNOWLEDGED
    lost = Alarm(
        "lost_data.warn", "health.lost", "", "samples", Severity.WARN, None, 0.0, state, active=True, last=0.0
    )
    assert alarms_drawn(lost)[1].endswith("lost_data, limit 0 samples: unacknowledged")


def test_what_is_not_judged_is_told_after_active_alarms_with_its_reason():
    paused = replace(QUIET, state=AlarmState.NOT_JUDGED, not_judged="paused: overload")
    heading, first, second = alarms_drawn(paused, WARN)
    assert heading.startswith("alarms: ▲ WARN 1, 1 not judged ─")
    assert "▲ WARN" in first
    assert second == "         —  ⊘ TRIP  north.fdb_delay, limit 50 ms: not judged: paused: overload"
    assert alarms_drawn(paused)[0].startswith("alarms: 1 not judged ─")
    # without data neither is any other one, nor has it a value
    heading, first, second = alarms_drawn(WARN, QUIET, silence=9.0)
    assert heading.startswith("alarms: ▲ WARN 1, 2 not judged ─")
    assert first.endswith("north.fdb_delay, limit 20 ms: acknowledged, not judged: no data from the service")
