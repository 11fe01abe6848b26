"""What an operator reads from across the room: the numbers of one instant, or a dash and a word."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from PySide6.QtCore import QBuffer, Qt
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QLabel, QScrollArea

from gui.model.alarms import DisplayLimit
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.severity import NO_LIMITS
from gui.model.tracking_status import Status, tracking_status
from gui.panels.tile import LANDSCAPE_MIN_HEIGHT, LANDSCAPE_MIN_WIDTH, MIN_HEIGHT, MIN_WIDTH, fitted
from gui.panels.tiles import columns_for, tile_size
from gui.widgets.theme import DARK
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from tests.gui.panels.tile_rig import RECEIVING, VALUES, drawn, history_of, panel_of, read, tiles


def test_a_tile_says_delay_phase_and_ratio_with_their_units(qtbot):
    panel, _ = panel_of(qtbot, history_of())
    content, numbers = read(panel, "north")
    # the phase is of the dominant frequency, the others are of the whole band
    assert numbers == {"delay": "12.3 ms ± 0.4", "phase": "-8.6 ° at 2.1 Hz", "amplitude": "92.4 % ± 0.3"}
    assert (content.source, content.origin) == ("broadband", ("broadband", "0.25 s window"))
    # facts, in neutral ink: neither alarms nor limits are set
    assert content.status == Status("lag, undershoot", "→", Level.NONE)
    assert (content.severity, content.level) == (NO_LIMITS, Level.NONE)
    assert not content.time_label


def test_now_is_the_newest_row_and_a_pinned_instant_is_its_own(qtbot, watched, hybrid_arrivals):
    blocks = [block for arrivals in hybrid_arrivals for block in arrivals.results]
    stream = blocks[0].stream
    values = np.concatenate([block.values for block in blocks])
    wanted = {(c.actuator, c.name): i for i, c in enumerate(stream.columns)}
    panel, view = panel_of(qtbot, watched)
    rows = {None: len(values) - 1}
    for x in (3.2, 5.0, 9.99):
        # of the rows that are the last of their display instant, the newest by then
        times = np.arange(len(values)) / stream.sample_rate
        last = np.flatnonzero(np.diff(np.floor(times * 25.0 + 1e-6), append=np.inf))
        rows[x] = int(last[times[last] <= x + 1e-9][-1])
    for x, row in rows.items():
        if x is not None:
            view.pin(x)
        panel.refresh(watched)
        for actuator in ("north", "south", "roof"):
            delay, ratio, delay_sd, ratio_sd, phase = (
                float(values[row, wanted[actuator, name]])
                for name in (
                    "broadband_delay",
                    "broadband_ratio",
                    "broadband_delay_sd",
                    "broadband_ratio_sd",
                    "fdb_phase",
                )
            )
            content, numbers = read(panel, actuator)
            if math.isnan(delay):
                # half a second after the delay of north has changed by 27 ms
                assert (actuator, x) == ("north", 9.99)
                assert all(text.startswith("—") for text in numbers.values())
                continue
            shown = {label: float(text.split()[0]) for label, text in numbers.items()}
            assert shown["delay"] == pytest.approx(1e3 * delay, abs=0.0501)
            assert shown["phase"] == pytest.approx(math.degrees(phase), abs=0.0501)
            assert shown["amplitude"] == pytest.approx(100.0 / ratio, abs=0.0501)
            assert content.time_label == ("" if x is None else f"at {x:.2f} s")
            assert content.status == tracking_status(delay, ratio, delay_sd, ratio_sd)


def test_before_a_window_is_full_there_is_no_number(qtbot, watched):
    panel, view = panel_of(qtbot, watched)
    panel.window_seconds = 2.0
    view.pin(1.0)
    panel.refresh(watched)
    content, numbers = read(panel, "north")
    assert content.status.words == "window not full"
    assert set(numbers.values()) == {"— ms", "— °", "— %"}
    assert content.time_label == "at 1.00 s"


def test_what_means_nothing_is_no_delay_once_the_window_is_full(qtbot):
    panel, _ = panel_of(qtbot, history_of(dict.fromkeys(VALUES, math.nan)))
    content, numbers = read(panel, "north")
    assert content.status == Status("no delay", "○", Level.NONE)
    assert set(numbers.values()) == {"— ms", "— °", "— %"}
    assert not content.remark


@pytest.mark.parametrize(
    ("state", "silence", "age", "words", "why"),
    [
        ("stale", 0.1, 0.1, "stale", ""),
        ("receiving", 9.0, 0.1, "no data", "no data from the service"),
        ("receiving", 0.1, 9.0, "stale", ""),
        ("waiting", 0.1, 0.1, "waiting", "waiting for the rig"),
    ],
)
def test_old_values_are_never_shown_as_those_of_now(qtbot, state, silence, age, words, why):
    history = history_of()
    panel, view = panel_of(qtbot, history)
    history.health, history.silence, history.age = replace(RECEIVING, state=state), silence, age
    panel.refresh(history)
    content, numbers = read(panel, "north")
    assert content.status.words == words
    assert content.remark == why
    assert all(text.startswith("—") for text in numbers.values())
    # who looks back knows that it is not now
    view.pin(0.3)
    panel.refresh(history)
    content, numbers = read(panel, "north")
    assert numbers["delay"].startswith("12.3 ms")
    assert content.time_label == "at 10.30 s"


def test_the_last_values_of_a_run_stay_with_its_end_beside_them(qtbot):
    history = history_of(health=replace(RECEIVING, state="ended"))
    panel, _ = panel_of(qtbot, history)
    content, numbers = read(panel, "north")
    assert numbers["delay"].startswith("12.3 ms")
    # row 511 at 1024 Hz, after 10 s of the rig
    assert content.time_label == "ended at 10.50 s"


def test_limits_warn_and_trip_up_and_down(qtbot):
    history = history_of()
    panel, _ = panel_of(qtbot, history)
    panel.set_limits({"delay": DisplayLimit("delay", 5.0, 12.0), "phase": DisplayLimit("phase", 8.0, 9.0)})
    panel.refresh(history)
    content, _ = read(panel, "north")
    assert content.severity.text == "◇ over display limit: delay, phase"
    assert content.level is Level.BAD and not content.severity.active
    levels = {reading.label: reading.level for reading in content.values}
    assert levels == {"delay": Level.BAD, "phase": Level.WARN, "amplitude": Level.NONE}
    panel.set_limits({"ratio": DisplayLimit("ratio", 8.0, 8.5)})
    panel.refresh(history)
    assert read(panel, "north")[0].severity.text == "◇ over display limit: amplitude"
    assert read(panel, "north")[0].level is Level.WARN
    panel.set_limits({"ratio": DisplayLimit("ratio", 8.3, 9.0)})
    panel.refresh(history)
    assert read(panel, "north")[0].severity.text == "● within display limits"
    assert read(panel, "north")[0].level is Level.GOOD


def test_a_ratio_of_different_units_is_no_share(qtbot):
    panel, _ = panel_of(qtbot, history_of({**VALUES, "broadband_delay": 0.0}, unit="V/mm"))
    content, numbers = read(panel, "north")
    assert numbers["ratio"] == "1.082 V/mm ± 0.003"
    assert content.status.words == "no lag"
    assert not content.remark


def test_a_judged_site_has_its_decision_and_reliabilities(qtbot, judged, judged_arrivals):
    block = [b for arrivals in judged_arrivals for b in arrivals.results][-1]
    columns = {c.name: i for i, c in enumerate(block.stream.columns)}
    values = np.concatenate([b.values for arrivals in judged_arrivals for b in arrivals.results])

    def last(name):
        column = values[:, columns[f"reliability_{name}"]]
        return float(column[~np.isnan(column)][-1])

    panel, view = panel_of(qtbot, judged)
    content, numbers = read(panel, "deflection")
    assert last("decision") == -1.0
    assert content.status == Status("reject", "■", Level.BAD)
    assert float(numbers["accumulated"].split()[0]) == pytest.approx(last("accumulated"), abs=0.00051)
    assert float(numbers["first-passage"].split()[0]) == pytest.approx(last("first_passage"), abs=0.00051)
    # a site is no actuator
    qtbot.mouseClick(tiles(panel)[-1], Qt.MouseButton.LeftButton)
    assert view.actuator == ""


def test_a_click_and_the_arrow_keys_choose(qtbot, watched):
    panel, view = panel_of(qtbot, watched, 700, 300)
    board = panel.findChild(QScrollArea).widget()
    qtbot.mouseClick(tiles(panel)[1], Qt.MouseButton.LeftButton)
    assert view.actuator == "south"
    assert [tile.selected for tile in tiles(panel)] == [False, True, *[False] * 4]
    heard = []
    view.actuator_changed.connect(lambda: heard.append(view.actuator))
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End):
        qtbot.keyClick(board, key)
    assert heard == ["roof", "south", "north", "roof"]
    view.select_actuator("north")
    assert [tile.selected for tile in tiles(panel)] == [True, *[False] * 5]


def test_many_actuators_scroll_and_the_chosen_one_is_in_sight(qtbot):
    names = tuple(f"a{i:02d}" for i in range(64))
    panel, view = panel_of(qtbot, history_of(actuators=names), 360, 300)
    assert len(tiles(panel)) == 64
    assert all(tile.width() >= MIN_WIDTH and tile.height() >= LANDSCAPE_MIN_HEIGHT for tile in tiles(panel))
    view.select_actuator("a63")
    area = panel.findChild(QScrollArea)
    assert area.viewport().rect().contains(tiles(panel)[63].mapTo(area.viewport(), tiles(panel)[63].rect().center()))


def test_numbers_on_their_way_are_not_shown_faster_than_they_can_be_read(qtbot, hybrid_arrivals):
    history = History(memory=32 << 20)
    panel = None
    shown = []
    for arrivals in hybrid_arrivals[:200]:
        history.update(arrivals, silence=0.1, age=0.02)
        if panel is None:
            panel, view = panel_of(qtbot, history)
        view.extend(history.begin_x, history.end_x)
        panel.refresh(history)
        shown.append(tiles(panel)[0].content)
    changes = sum(one != other for one, other in pairwise(shown))
    assert changes <= 8.0 / 0.2
    # where nothing more comes, the newest is shown at the next look
    panel.refresh(history)
    delay = history.results.value("north", "broadband_delay")
    assert float(read(panel, "north")[1]["delay"].split()[0]) == pytest.approx(1e3 * delay, abs=0.0501)


def test_without_results_it_says_what_comes(qtbot):
    panel, view = panel_of(qtbot, History(memory=1 << 20))
    said = panel.findChild(QLabel)
    assert said.isVisible()
    assert said.text().startswith("Waiting for results")
    history = history_of()
    view.extend(0.0, history.end_x)
    panel.configure(history)
    assert not said.isVisible()
    assert tiles(panel)[0].isVisible()
    panel.apply_theme(DARK)
    assert not panel.grab().isNull()


@given(st.integers(1, 64), st.integers(MIN_WIDTH, 4000), st.integers(MIN_HEIGHT, 3000))
def test_tiles_are_never_too_small_and_all_have_room(n, width, height):
    columns = columns_for(n, width, height)
    wide, high = tile_size(n, columns, width, height)
    assert wide >= MIN_WIDTH
    assert high >= (MIN_HEIGHT if wide < LANDSCAPE_MIN_WIDTH else LANDSCAPE_MIN_HEIGHT)
    assert columns * wide <= width
    # no other number of columns makes larger letters
    sizes = []
    for other in range(1, n + 1):
        w, h = tile_size(n, other, width, height)
        if w >= MIN_WIDTH:
            sizes.append(letters(w, h))
    assert letters(wide, high) == pytest.approx(max(sizes))


def letters(wide, high):
    """How large plain numbers are: words and numbers below each other or, where there is room, beside each other."""
    below, beside = min(wide / 10.0, high / 8.6), min(wide / 22.0, high / 4.8)
    # beside each other the small print is larger
    return max(below, 1.2 * beside) if wide >= LANDSCAPE_MIN_WIDTH and beside > below else below


@pytest.mark.parametrize("size", [(MIN_WIDTH, MIN_HEIGHT), (320, 180), (1900, 1000)])
@pytest.mark.parametrize("text", ["north", "-1234.5", "no data from the service", "◇ over display limit: delay"])
def test_letters_shrink_until_the_text_has_room(qapp, size, text):
    for share in (0.44, 1.0):
        width = share * 0.9 * size[0]
        font, fits = fitted(text, QFont(), 0.14 * size[1], width)
        assert 6 <= font.pixelSize() <= max(6.0, 0.14 * size[1])
        assert fits == (QFontMetricsF(font).horizontalAdvance(text) <= width)
        assert fits or font.pixelSize() == 6


@pytest.mark.parametrize(
    "size",
    [
        (MIN_WIDTH, MIN_HEIGHT),
        (MIN_WIDTH, 500),
        (LANDSCAPE_MIN_WIDTH, LANDSCAPE_MIN_HEIGHT),
        (900, LANDSCAPE_MIN_HEIGHT),
        (900, MIN_HEIGHT),
        (700, 500),
    ],
)
@pytest.mark.parametrize("state", ["receiving", "stale", "silent", "looked back"])
def test_nothing_is_cut_off_a_tile(qtbot, size, state):
    worst = {**VALUES, "broadband_delay": -1.2345, "broadband_delay_sd": 0.1234, "broadband_ratio": 10.1}
    worst |= {"fdb_phase": -3.1, "fdb_frequency": 12.34}
    history = history_of(worst, actuators=("north_actuator",))
    panel, view = panel_of(qtbot, history, *size)
    panel.set_limits({q: DisplayLimit(q, 1.0, 2.0) for q in ("delay", "phase", "ratio")})
    if state == "looked back":
        view.pin(0.4)
    else:
        history.health = replace(RECEIVING, state="stale" if state == "stale" else "receiving")
        history.silence = 9.0 if state == "silent" else 0.1
    panel.refresh(history)
    tile = tiles(panel)[0]
    tile.resize(*size)
    words = drawn(tile)
    told = ("← lead, undershoot", "−1234", "−177.6", "◇ over display limit: delay, phase, ampl.")
    expected = {
        "receiving": (*told, "at 12.3 Hz", "9.9", "0.25 s window"),
        "looked back": (*told, "at 10.40 s"),
        "stale": ("▲ stale", "—"),
        "silent": ("▲ no data", "—", "no data from the service"),
    }[state]
    for text in ("north_actuator", "delay", "phase", "ampl.", "ms", "°", "%", *expected):
        assert text in words
    assert not any("…" in text for text in words)
    # what contradicts is told in words where there is room beside the alarm, else by the sign before the indicator
    origin = "broadband, 0.25 s" if state == "looked back" else "broadband"
    assert ({"≠ FDB", origin} <= set(words) or f"≠ {origin}" in words) == (state in ("receiving", "looked back"))
    assert "≠ FDB" in words or size[0] < 900 or state in ("stale", "silent")


def test_badges_have_one_size_whatever_they_say(qtbot):
    history = history_of(actuators=("north", "south"))
    late = Alarm("a", "broadband_delay", "north", "s", Severity.TRIP, high=0.01, state=AlarmState.UNACKNOWLEDGED)
    late = structs.replace(late, active=True, last=0.0123)
    other = structs.replace(late, name="b", value="fdb_delay")
    warned = structs.replace(late, name="c", actuator="south", severity=Severity.WARN)
    history.update(ReceivedMessages(health=RECEIVING, alarms=AlarmReport((late, other, warned))), age=0.02)
    panel, _ = panel_of(qtbot, history)
    sizes = {}
    for tile in tiles(panel):
        buffer, generator = QBuffer(), QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(tile.size())
        tile.render(generator)
        found = re.findall(
            r'<text[^>]*font-size="([0-9.]+)"[^>]*>(.*?)</text>', bytes(buffer.data()).decode(), re.DOTALL
        )
        sizes |= {text.strip(): float(size) for size, text in found}
    badges = {text: size for text, size in sizes.items() if "TRIP" in text or "WARN" in text}
    assert sorted(badges) == ["■ TRIP: delay 12.3 ms (+1 more)", "▲ WARN: delay 12.3 ms"]
    assert len(set(badges.values())) == 1
