"""The picture at every width: nothing wraps, nothing is cut off, nothing that means nothing is a number."""

import io
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from gui.model.results import ResultHistory
from gui.terminal.dashboard import Screen
from monitor.messages.blocks import Column, Event, EventKind, ResultStream
from monitor.messages.health import CompilationStatus, Health, StreamCounts
from monitor.messages.transfer import FREQUENCY, QUANTITIES, TransferBlock, TransferStream

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
EVENTS = [
    Event(EventKind.STARTED, 0.0, 0),
    Event(EventKind.GAP, 12.5, 12800, 128),
    Event(EventKind.REJECTED, 13.0, 0, 2, "a text that goes on and on and says what was wrong with it " * 3),
    Event(EventKind.RESTART, 1.7e9, 0),
]


def followed(actuators=("north", "south", "roof"), values=None):
    columns = tuple(Column(name, "", actuator) for actuator in actuators for name in values or OUTPUTS)
    row = list((values or OUTPUTS).values()) * len(actuators)
    results = ResultHistory(ResultStream("laboratory", 1, 10.0, 1, columns), minutes=1.0, memory=8 << 20)
    results.append(0.0, np.tile(row, (300, 1)))
    return results


def drawn(screen, width, height=None):
    console = Console(file=io.StringIO(), record=True, width=width, height=height or 50, color_system=None)
    console.print(screen, height=height)
    lines = console.export_text().splitlines()
    assert all(len(line.rstrip()) <= width for line in lines)
    return lines


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_every_line_has_room_and_what_matters_is_there(width):
    lines = drawn(Screen(followed(), HEALTH, 0.1, 0.0, EVENTS), width)
    text = "\n".join(lines)
    for word in ("● receiving", "laboratory", "1024 Hz nominal", "1023.9 actual", "lost 128", "duplicates 3",
                 "received 1,234,567", "restarts 1", "runs/demo.h5", "1,234,000 samples", "data 0.0 s old",
                 "128 samples lost", "2 messages rejected"):  # fmt: skip
        assert word in text
    rows = [line for line in lines if line.startswith(("north", "south", "roof"))]
    assert len(rows) == 3
    for row in rows:
        assert re.search(r" 12\.3( +0\.4)? 1\.111 ", row)
        assert row.rstrip().endswith("lag, undershoot")
        assert "…" not in row.replace("11.3…13.3", "")
    assert sum(line.startswith("─ events") for line in lines) == 1
    assert len(lines) <= 18


def test_more_room_tells_more():
    rows = {
        w: next(li for li in drawn(Screen(followed(), HEALTH), w) if li.startswith("north")) for w in (80, 100, 140)
    }
    assert re.search(r" 12\.3 +0\.4 1\.111 +12\.9 +1\.113 +13\.1 +1\.115 +-5\.7 +-3\.12 +33\.4 +1\.25", rows[140])
    assert re.search(r" 12\.3 +0\.4 1\.111 +12\.9 +-5\.7 +-3\.12 +33\.4 ", rows[100])
    assert "12.9" not in rows[80]
    assert rows[80].count("▄") < rows[140].count("▄")
    assert rows[80].count("▄") > 3


def test_what_means_nothing_is_a_dash_in_every_column():
    nothing = dict.fromkeys(OUTPUTS, math.nan)
    row = next(line for line in drawn(Screen(followed(values=nothing), HEALTH), 100) if line.startswith("north"))
    assert row.split() == ["north", *["—"] * 8, "no", "delay"]


@pytest.mark.parametrize(
    ("state", "silence", "word", "end"),
    [("stale", 0.1, "▲ stale", "stale"), ("receiving", 9.0, "▲ no data from the service", "no data")],
)
def test_old_values_are_not_shown_as_current(state, silence, word, end):
    screen = Screen(followed(), Health("laboratory", state, sample_rate=1024.0, age=7.0), silence, 8.0)
    lines = drawn(screen, 100)
    assert any(word in line for line in lines)
    row = next(line for line in lines if line.startswith("north"))
    assert "12.3" not in row
    assert row.rstrip().endswith(end)
    assert "▄" in row


def test_the_last_values_of_a_run_that_ended_stay():
    lines = drawn(Screen(followed(), Health("laboratory", "ended"), 99.0, 99.0), 100)
    assert any("■ ended" in line for line in lines)
    assert any("12.3  0.4 1.111" in line for line in lines)


def row_of(values, width=140):
    return next(
        line for line in drawn(Screen(followed(("north",), values), HEALTH), width) if line.startswith("north")
    )


def test_a_contradiction_is_marked_beside_the_ratio_and_at_what_contradicts():
    heading = "\n".join(drawn(Screen(followed(), HEALTH), 140))
    assert "≠" not in heading
    assert heading.index("broadband") < heading.index("FDB") < heading.index("PAEI")
    # 2 sd of 0.4 ms and 0.1 ms, and 0.2 ms that nobody minds: 1.2 ms to either side of 12.3 ms
    row = row_of({**OUTPUTS, "fdb_delay": 0.0138})
    assert re.search(r" 1\.111 ≠ +≠13\.8 ", row)
    assert row.count("≠") == 2
    assert re.search(r" 1\.111 ≠ +12\.9 +1\.113 +13\.1 ≠1\.250 ", row_of({**OUTPUTS, "paei_ratio": 1.25}))
    for width in (60, 80):
        lines = drawn(Screen(followed(values={**OUTPUTS, "fdb_delay": 0.0138}), HEALTH), width)
        assert sum(" 1.111 ≠ " in line for line in lines) == 3
        (why,) = [line for line in lines if line.startswith("north ≠ FDB; south ≠ FDB")]
        assert len(why) <= width
    # of a ratio alone, in words that say which of the two PAEI
    lines = drawn(Screen(followed(("north",), {**OUTPUTS, "paei_ratio": 1.25}), HEALTH), 140)
    assert any(line.startswith("north ≠ PAEI: believe broadband; several frequencies") for line in lines)
    # values that are old contradict nobody
    screen = Screen(followed(values={**OUTPUTS, "fdb_delay": 0.02}), replace(HEALTH, state="stale"), 0.1, 8.0)
    assert not any("≠" in line for line in drawn(screen, 140))


@pytest.mark.parametrize("height", [10, 14, 20])
def test_where_lines_are_short_the_sign_stays_and_its_reason_goes(height):
    names = [f"a{i}" for i in range(40)]
    lines = drawn(Screen(followed(names, {**OUTPUTS, "fdb_delay": 0.02}), HEALTH, 0.1, 0.0, EVENTS), 100, height)
    assert len(lines) <= height
    assert any(" 1.111 ≠ " in line for line in lines)
    assert not any("believe" in line for line in lines)


def test_without_the_broadband_delay_the_next_best_is_first():
    fdb = {name: value for name, value in OUTPUTS.items() if not name.startswith("broadband")}
    lines = drawn(Screen(followed(("north",), fdb), HEALTH), 140)
    assert any(re.search(r"PAEI +FDB ", line) for line in lines)
    (row,) = [line for line in lines if line.startswith("north")]
    assert re.search(r"^north +13\.1 +0\.2 1\.115 +12\.9 ", row)
    assert "≠" not in row and row.rstrip().endswith("lag, undershoot")


def late_at(*delays, coherence=0.9):
    """Return transfer functions of north and south at 1, 2, 3 ... Hz with these delays [s]."""
    columns = [FREQUENCY, *(Column(name, unit, a) for a in ("north", "south") for name, unit in QUANTITIES)]
    values = np.full((len(delays), len(columns)), np.nan)
    values[:, 0] = 1.0 + np.arange(len(delays))
    for i, column in enumerate(columns):
        if column.name == "delay":
            values[:, i] = delays
        elif column.name == "coherence":
            values[:, i] = coherence if column.actuator == "north" else 0.2
    return TransferBlock(TransferStream("laboratory", 1, 1024.0, tuple(columns)), 0, 0.0, values)


def test_the_delay_at_every_coherent_frequency_is_told_where_there_is_room():
    transfer = late_at(0.0111, 0.0122, -0.0033)
    lines = drawn(Screen(followed(("north", "south")), HEALTH, transfer=transfer), 100, 24)
    told = [line for line in lines if line.startswith("north") and " Hz " in line]
    assert told[0].split() == ["north", "1", "Hz", "11.1", "ms,", "2", "Hz", "12.2", "ms,", "3", "Hz", "-3.3", "ms"]
    assert any(line.startswith("south") and "no coherent motion yet" in line for line in lines)
    low = drawn(Screen(followed(("north", "south")), HEALTH, transfer=transfer), 100, 11)
    assert not any("delay by frequency" in line for line in low)
    assert sum(line.startswith(("north", "south")) for line in low) == 2


def test_of_many_frequencies_some_are_told_and_the_line_does_not_wrap():
    for width in (60, 80, 140):
        lines = drawn(Screen(followed(("north",)), HEALTH, transfer=late_at(*[0.012] * 200)), width, 30)
        (told,) = [line for line in lines if line.startswith("north") and " Hz " in line]
        assert told.count("12.0 ms") == (width - 15) // 20


def test_damping_that_is_taken_away_is_grave():
    console = Console(file=io.StringIO(), record=True, width=100, force_terminal=True)
    console.print(Screen(followed(("north",)), HEALTH))
    (row,) = [line for line in console.export_text(styles=True).splitlines() if "north" in line and "12.3" in line]
    assert re.search(r"\x1b\[1;31m *-3\.12", row)


@pytest.mark.parametrize("health", [None, Health()])
def test_before_the_first_block(health):
    text = "\n".join(drawn(Screen(None, health), 80))
    assert ("connecting" if health is None else "waiting for the rig") in text
    assert "no results yet" in text
    assert "nothing yet" in text


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 24), (100, 50), (140, 30)])
def test_sixteen_actuators_fit(width, height):
    names = [f"actuator-{i}" for i in range(1, 17)]
    lines = drawn(Screen(followed(names), HEALTH, 0.1, 0.0, EVENTS), width, height)
    assert len(lines) <= height
    assert [line.split()[0] for line in lines if line.startswith("actuator-")] == names
    assert any("restart" in line for line in lines[-3:])


@pytest.mark.parametrize("height", [10, 14, 20, 24])
def test_those_that_do_not_fit_are_counted(height):
    names = [f"a{i}" for i in range(40)]
    lines = drawn(Screen(followed(names), HEALTH, 0.1, 0.0, EVENTS), 100, height)
    assert len(lines) <= height
    shown = sum(line.startswith("a") and "lag, " in line for line in lines)
    assert any(f"{40 - shown} more" in line for line in lines)


def test_an_overload_is_told_with_what_is_left_out():
    health = Health("rig", "receiving", lag=2.34, shed=("viewers", "broadband"))
    text = "\n".join(drawn(Screen(followed(["north"]), health, 0.1, 0.0), 100))
    assert "overloaded, 2.3 s behind" in text
    assert "left out: viewers, broadband" in text


def test_what_is_being_compiled_is_told():
    health = Health("rig", "receiving", compilation=CompilationStatus(("fdb", "paei"), 0.42))
    text = "\n".join(drawn(Screen(followed(["north"]), health, 0.1, 0.0), 100))
    assert "being compiled, 42 %: fdb, paei" in text


def test_long_names_and_paths_give_way():
    name = "the-one-at-the-north-end-of-the-shaking-table"
    health = Health(
        "r" * 100, "receiving", recording="/mnt/" + "deep/" * 60 + "run.h5", unrecorded=7, unwritten_age=5.3
    )
    lines = drawn(Screen(followed([name]), health, 0.1, 0.0), 80)
    text = "\n".join(lines)
    assert "…" in text
    assert "run.h5" in text
    assert "disk 5 s behind" in text
    assert "7 samples not recorded" in text
    assert any(line.startswith("the-one-at-th") and line.rstrip().endswith("lag, undershoot") for line in lines)


def test_nothing_that_a_rig_says_is_taken_for_markup():
    events = [Event(EventKind.NOTE, 0.0, 0, 0, "[bold]not bold[/bold] [/]")]
    health = Health("[red]rig[/red]", "receiving", recording="runs/[x].h5")
    text = "\n".join(drawn(Screen(followed(["[b]"]), health, 0.0, 0.0, events), 100))
    for said in ("[bold]not bold[/bold] [/]", "[red]rig[/red]", "runs/[x].h5", "[b]"):
        assert said in text


def judged(n_actuators=1, n_sites=1):
    """Return the results of actuators and of a model that is judged at sites, and rejected."""
    names = [*(f"site {i}" for i in range(n_sites)), "all sites"][: n_sites + (n_sites > 1)]
    columns = [Column(name, "", f"a{i}") for i in range(n_actuators) for name in OUTPUTS]
    row = [*OUTPUTS.values()] * n_actuators
    for name in names:
        columns += [Column("reliability_first_passage", "1", name), Column("reliability_accumulated", "1", name)]
        row += [0.012, 0.634]
    columns.append(Column("reliability_decision", "1", names[-1]))
    results = ResultHistory(ResultStream("laboratory", 1, 10.0, 1, tuple(columns)), minutes=1.0, memory=8 << 20)
    results.append(0.0, np.tile([*row, -1.0], (300, 1)))
    return results


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_a_model_is_judged_between_actuators_and_events(width):
    lines = drawn(Screen(judged(2, 3), HEALTH, 0.1, 0.0, EVENTS), width)
    heads = [
        line.split()[0] for line in lines if line.startswith(("a0", "a1", "─ model", "site", "all sites", "─ ev"))
    ]
    assert heads == ["a0", "a1", "─", "site", "site", "site", "all", "─"]
    (decided,) = [line for line in lines if "■ reject" in line]
    assert decided.startswith("all sites") and "0.012" in decided and "0.634" in decided


def test_a_model_without_actuators_is_not_told_to_be_nothing():
    text = "\n".join(drawn(Screen(judged(0), HEALTH, 0.1, 0.0, EVENTS), 80, 24))
    assert "no results yet" not in text and "tracking" not in text
    assert "■ reject" in text


@pytest.mark.parametrize("n_actuators", [0, 1, 3, 40])
@pytest.mark.parametrize("height", [10, 12, 14, 18, 24])
def test_where_lines_are_short_the_decision_stays(n_actuators, height):
    for n_sites in (1, 3, 30):
        lines = drawn(Screen(judged(n_actuators, n_sites), HEALTH, 0.1, 0.0, EVENTS), 100, height)
        assert len(lines) <= height
        decided = [line for line in lines if "■ reject" in line]
        assert len(decided) == 1 or height < 14 - 2 * (n_actuators == 0)
        if n_actuators and height > 10:
            assert any(line.startswith("a0 ") for line in lines)
        assert any(line.startswith("─ events") for line in lines)


def test_events_give_way_before_models():
    lines = drawn(Screen(judged(1, 3), HEALTH, 0.1, 0.0, EVENTS), 100, 14)
    assert sum(line.startswith(("site", "all sites")) for line in lines) == 4
    assert len(lines) - next(i for i, line in enumerate(lines) if line.startswith("─ events")) == 2


@pytest.mark.parametrize(("state", "silence", "word"), [("stale", 0.1, "stale"), ("receiving", 9.0, "no data")])
def test_an_old_judgement_is_not_shown_as_current(state, silence, word):
    lines = drawn(Screen(judged(0), Health("laboratory", state, sample_rate=10.0, age=7.0), silence, 8.0), 100)
    (line,) = [line for line in lines if line.startswith("site 0")]
    assert line.split() == ["site", "0", *word.split()]


def test_a_decision_is_an_event_like_a_note():
    said = "deflection: reject: first-passage 0.012 is under 0.05"
    lines = drawn(Screen(judged(0), HEALTH, events=[Event(EventKind.DECISION, 1.9, 95, 0, said)]), 100)
    (told,) = [line for line in lines if "decision" in line]
    assert told.split(maxsplit=3) == ["1.9", "s", "decision", said]
