"""What stands above all panels: how the service is, in words that stay where there is little room."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF, QPalette
from PySide6.QtWidgets import QLabel

from gui.model.health_items import HealthItem, disk_seconds, fit, health_items
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.model.service_state import service_state
from gui.widgets.theme import DARK, LIGHT
from gui.window.status_bars import HealthStrip
from gui.wording.level import Level
from monitor.messages.blocks import Channel, Column, ResultBlock, ResultStream, Role, SignalBlock, Stream
from monitor.messages.health import CompilationStatus, Health, StreamCounts
from monitor.text.numbers import bytes_text, duration_text

RATE = 1000.0
FILE = "/data/runs/2026-11-21-frame.h5"
GOOD = Health(
    rig="laboratory",
    state="receiving",
    counts=StreamCounts(received=60_000),
    sample_rate=RATE,
    measured_rate=999.6,
    latency=0.0042,
    recording=FILE,
    recorded=59_000,
    disk_free=120_000_000_000,
)


def history_of(health, silence=0.1, age=0.05):
    history = History(memory=1 << 20)
    history.update(ReceivedMessages(health=health), silence=silence, age=age)
    return history


def strip_of(qtbot, health, width=2400, dropped=0, **told):
    strip = HealthStrip(LIGHT)
    qtbot.addWidget(strip)
    strip.resize(width, strip.sizeHint().height())
    strip.show()
    strip.show_health(history_of(health, **told), dropped)
    return strip


def test_a_good_service_in_full(qtbot):
    strip = strip_of(qtbot, GOOD)
    assert strip.texts == (
        "● receiving",
        "rig laboratory",
        "1000 Hz",
        "data 0.1 s old",
        "● recording 2026-11-21-frame.h5: 59 s, 59,000 samples on disk",
        "disk 120 GB free",
    )
    tips = [label.toolTip() for label in strip.findChildren(QLabel)]
    assert all(tips)
    assert any(FILE in tip for tip in tips)


def test_rate_and_latency_are_told_where_they_are_not_as_they_should_be(qtbot):
    late = strip_of(qtbot, replace(GOOD, latency=0.35, measured_rate=700.0)).texts
    assert "1000 Hz nominal, 700 Hz actual" in late
    assert "latency 350.0 ms" in late
    # one that has not been measured yet is not off
    assert "1000 Hz" in strip_of(qtbot, replace(GOOD, measured_rate=0.0)).texts


def test_an_overload_is_told_with_what_is_left_out(qtbot):
    strip = strip_of(qtbot, replace(GOOD, lag=2.34, shed=("viewers", "results", "broadband")))
    (label,) = (label for label in strip.findChildren(QLabel) if "overloaded" in label.text())
    assert label.text() == "▲ overloaded, 2.3 s behind"
    assert "omits feeds of third-party viewers, some rows of results, broadband;" in label.toolTip()
    assert "everything is recorded" in label.toolTip()
    assert not any("overloaded" in text for text in strip_of(qtbot, replace(GOOD, lag=0.2)).texts)


def test_what_is_being_compiled_is_told(qtbot):
    strip = strip_of(qtbot, replace(GOOD, compilation=CompilationStatus(("fdb", "paei"), 0.42)))
    (label,) = (label for label in strip.findChildren(QLabel) if label.text() == "compiling 42 %")
    assert "fdb, paei are computed once their kernels are compiled; everything is recorded" in label.toolTip()


def test_troubles_have_a_shape_a_word_and_a_colour(qtbot):
    counts = StreamCounts(received=60_000, lost=1280, duplicates=3, reordered=2, restarts=1, rejected=7)
    strip = strip_of(qtbot, replace(GOOD, counts=counts, unrecorded=12, unwritten_age=5.3), dropped=34)
    told = set(strip.texts)
    assert {"▲ lost 1,280", "▲ duplicates 3", "▲ out of order 2", "▲ restarts 1", "▲ rejected 7"} <= told
    assert {"■ not recorded 12", "▲ disk 5 s behind", "▲ window dropped 34"} <= told
    label = next(label for label in strip.findChildren(QLabel) if "1,280" in label.text())
    assert label.palette().color(QPalette.ColorRole.WindowText).name() == LIGHT.warn
    strip.apply_theme(DARK)
    assert label.palette().color(QPalette.ColorRole.WindowText).name() == DARK.warn


@pytest.mark.parametrize(
    ("health", "silence", "age", "text", "level"),
    [
        (None, 0.1, 0.1, "○ connecting", Level.WARN),
        (Health(), 0.1, 0.1, "○ waiting for the rig", Level.WARN),
        (GOOD, 0.1, 0.1, "● receiving", Level.GOOD),
        (GOOD, 0.1, 30.0, "▲ stale", Level.BAD),
        (GOOD, 3.0, 0.1, "▲ no data from the service", Level.BAD),
        (replace(GOOD, state="stale"), 0.1, 0.1, "▲ stale", Level.BAD),
        (replace(GOOD, state="ended"), 99.0, 99.0, "■ ended", Level.INFO),
        (replace(GOOD, state="calibrating"), 0.1, 0.1, "◆ calibrating", Level.WARN),
    ],
)
def test_the_state_has_a_word_and_a_shape(qtbot, health, silence, age, text, level):
    strip = strip_of(qtbot, health, silence=silence, age=age)
    assert strip.texts[0] == text
    assert service_state(health, silence, age).level is level


def test_results_that_are_rare_are_not_stale_between_two():
    assert service_state(GOOD, 0.1, 6.0, interval=5.0).key == "receiving"
    assert service_state(GOOD, 0.1, 13.0, interval=5.0).key == "stale"


def test_without_a_recording_it_says_so(qtbot):
    strip = strip_of(qtbot, replace(GOOD, recording="", recorded=0, disk_free=0))
    assert "○ not recording" in strip.texts
    assert not any("disk" in text for text in strip.texts)


def test_without_a_service_it_says_what_it_waits_for(qtbot):
    strip = strip_of(qtbot, GOOD)
    strip.show_disconnected()
    assert strip.texts == ("○ not connected",)
    strip.show_disconnected("the service starts")
    assert strip.texts == ("○ the service starts",)
    strip.show_health(history_of(GOOD))
    assert strip.texts[0] == "● receiving"


def test_how_long_the_disk_lasts_is_counted_from_what_is_written(qtbot):
    channels = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
    signals = SignalBlock(Stream("lab", 1, RATE, channels), 0, 0.0, np.zeros((100, 2)))
    columns = tuple(Column(f"v{i}", "", "a") for i in range(50))
    results = ResultBlock(ResultStream("lab", 1, RATE, 10, columns), 0, 0.0, np.zeros((10, 50)))
    history = history_of(GOOD)
    assert disk_seconds(history, GOOD) == float("inf")
    history.update(ReceivedMessages(signals=(signals,), results=(results,)), silence=0.1, age=0.1)
    # a row is its values, time, epoch and index, of 8 bytes each; results stand at every tenth sample
    second = 1000 * (2 + 3) * 8 + 100 * (50 + 3) * 8
    assert disk_seconds(history, GOOD) == pytest.approx(120e9 / second)
    for seconds, text, level in (
        (86_400.0 * 3, "disk 21 GB, 3 days left", Level.NONE),
        (1800.0, "▲ disk 148 MB, 30 min left", Level.WARN),
        (60.0, "■ disk 4.9 MB, 1 min left", Level.BAD),
    ):
        history.health = replace(GOOD, disk_free=round(seconds * second) + second // 100)
        item = next(item for item in health_items(history) if item.key == "disk")
        assert item.level is level
        assert item.text == text
    history.health = replace(GOOD, disk_free=-1)
    assert not [item for item in health_items(history) if item.key == "disk"]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_it_has_room_at_1280_pixels(qtbot, theme):
    bad = StreamCounts(received=60_000, lost=1280, restarts=1)
    strip = strip_of(qtbot, replace(GOOD, counts=bad), width=1280)
    strip.apply_theme(theme)
    told = strip.texts
    for word in ("● receiving", "▲ lost 1,280", "▲ restarts 1", "data 0.1 s old"):
        assert word in told
    assert any(text.startswith("● recording") for text in told)
    seen = [label for label in strip.findChildren(QLabel) if label.isVisible()]
    for label in seen:
        assert label.geometry().right() < 1280
        assert QFontMetricsF(label.font()).horizontalAdvance(label.text()) <= label.width()
        assert "…" not in label.text()
    places = sorted((label.x(), label.geometry().right()) for label in seen)
    assert all(right < left for (_, right), (left, _) in pairwise(places))


def test_the_least_important_gives_way_first(qtbot):
    strip = strip_of(qtbot, replace(GOOD, counts=StreamCounts(lost=5)), width=420)
    assert strip.texts[0] == "● receiving"
    assert any(text.startswith("● recording") for text in strip.texts)
    assert not any(text.startswith(("rig", "duplicates", "latency")) for text in strip.texts)
    strip.resize(40, strip.height())
    assert strip.texts[0].endswith("…")
    strip.resize(2400, strip.height())
    assert "rig laboratory" in strip.texts


items = st.lists(
    st.builds(
        HealthItem,
        st.just(""),
        st.text("abc", min_size=3, max_size=12),
        st.just("tip"),
        rank=st.integers(0, 5),
        brief=st.sampled_from(["", "ab"]),
    ),
    max_size=8,
).map(lambda found: [replace(item, key=str(i)) for i, item in enumerate(found)])


@given(items, st.integers(0, 120))
def test_what_is_shown_has_room_and_what_is_left_out_mattered_less(found, width):
    fitted = fit(found, width, len, 2)
    used = sum(len(text) for _, text in fitted) + 2 * max(0, len(fitted) - 1)
    shown = [item for item, _ in fitted]
    gone = [item for item in found if item not in shown]
    assert used <= width or all(item.rank == 0 for item in shown)
    assert [item for item in found if item in shown] == shown
    assert all(item.rank > 0 for item in gone)
    assert max((item.rank for item in shown), default=0) <= min((item.rank for item in gone), default=9)
    for item, text in fitted:
        assert text in (item.text, item.brief)
        if text != item.text:
            assert used + len(item.text) - len(text) > width


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1.0, "0 s"), (59.9, "59 s"), (60.0, "1 min"), (3599.0, "59 min"), (3600.0, "1 h"), (12_000.0, "3 h 20 min"),
        (172_799.0, "47 h 59 min"), (172_800.0, "2 days"), (1e9, "11,574 days"),
    ],
)  # fmt: skip
def test_long_times(seconds, text):
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (9_949, "9.9 kB"), (9_960, "10 kB"), (999_499, "999 kB"),
     (999_500, "1.0 MB"), (1_234_000_000, "1.2 GB"), (5 * 10**15, "5,000 TB")],
)  # fmt: skip
def test_large_amounts(amount, text):
    assert bytes_text(amount) == text


def test_the_tip_of_a_single_loss_is_singular():
    counts = StreamCounts(received=60_000, lost=1, reordered=1, rejected=1, restarts=2)
    tips = {item.key: item.tip for item in health_items(history_of(replace(GOOD, counts=counts)), 0)}
    assert tips["lost"] == "1 sample lost"
    assert tips["out of order"] == "1 sample out of order, ignored"
    assert tips["rejected"] == "1 malformed message rejected"
    assert tips["restarts"] == "2 restarts of the rig"
