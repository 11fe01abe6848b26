"""What is seen from across the room: counts, the gravest alarm, a slow blink, and a height that never changes."""

from dataclasses import replace
from itertools import pairwise

import pytest
from msgspec import structs
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from gui.model.health_items import health_items
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from gui.widgets.theme import DARK, LIGHT
from gui.window.status_bars import AlarmBanner
from gui.wording.level import Level
from monitor.messages.alarms import Alarm, AlarmReport, AlarmState, Severity
from monitor.messages.health import Health
from tests.gui.panels.tile_rig import history_of as two_actuators

S = AlarmState
WARN = Alarm("north.fdb_delay.warn", "fdb_delay", "north", "s", Severity.WARN, high=0.02)
TRIP = structs.replace(WARN, name="north.fdb_delay.trip", severity=Severity.TRIP, high=0.05)
STANDING = (
    structs.replace(TRIP, state=S.UNACKNOWLEDGED, active=True, last=0.061),
    structs.replace(WARN, state=S.ACKNOWLEDGED, active=True),
)
HEARD = Health("lab", "receiving", sample_rate=200.0)


@pytest.fixture
def banner(qtbot):
    banner = AlarmBanner(LIGHT)
    qtbot.addWidget(banner)
    banner.resize(1200, banner.sizeHint().height())
    banner.show()
    return banner


def history_of(*alarms, silence=0.0):
    history = History()
    history.update(
        ReceivedMessages(health=HEARD, alarms=AlarmReport(alarms) if alarms else None), silence=silence, age=silence
    )
    return history


def ground(banner):
    """The colour of a pixel where no letter is, within the frame."""
    return banner.grab().toImage().pixelColor(banner.width() - 12, banner.height() // 2).name()


def test_it_says_how_many_stand_and_which_is_first(banner):
    banner.show_alarms(history_of(*STANDING), 0.0)
    assert banner.text == "■ TRIP 1 · ▲ WARN 1   north delay (FDB) 61 ms, limit 50 ms, unacknowledged"
    assert banner.accessibleDescription() == banner.text
    banner.show_alarms(history_of(WARN, structs.replace(TRIP, state=S.SHELVED)), 0.0)
    assert banner.text == "● no active alarms   2 configured, 1 shelved"
    banner.show_alarms(history_of(), 0.0)
    assert banner.text == "○ this service has no alarms"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_it_blinks_once_a_second_while_somebody_must_take_note(banner, theme):
    banner.apply_theme(theme)
    history = history_of(*STANDING)
    seen = []
    for tick in range(100):
        banner.show_alarms(history, tick * 0.04)
        seen.append(banner.filled)
        if tick in (0, 20):
            assert ground(banner) == (theme.bad if tick == 0 else theme.window)
    turns = sum(a != b for a, b in pairwise(seen))
    # in 4 s it goes on and off four times
    assert turns == 7 and seen.count(True) == pytest.approx(50, abs=4)
    acknowledged = history_of(*(structs.replace(alarm, state=S.ACKNOWLEDGED) for alarm in STANDING))
    for now in (0.0, 0.6):
        banner.show_alarms(acknowledged, now)
        assert banner.filled and ground(banner) == theme.bad
    banner.blinks = False
    for now in (0.0, 0.6):
        banner.show_alarms(history, now)
        assert banner.filled


def test_what_nobody_has_heard_for_long_is_grey_and_says_so(banner):
    banner.show_alarms(history_of(*STANDING, silence=30.0), 0.6)
    assert "no data from the service; last known: north delay (FDB) 61 ms" in banner.text
    assert ground(banner) == LIGHT.invalid
    banner.show_alarms(history_of(WARN, silence=30.0), 0.0)
    assert banner.text == "▲ no data from the service   alarms unknown"


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("waiting", "○ waiting for the rig   no active alarms, 1 configured"),
        ("stale", "▲ stale   no active alarms, 1 configured"),
        ("ended", "■ ended   no active alarms, 1 configured"),
    ],
)
def test_a_stream_that_is_not_current_is_not_normal(banner, state, text):
    history = History()
    history.update(ReceivedMessages(health=replace(HEARD, state=state), alarms=AlarmReport((WARN,))), age=0.1)
    banner.show_alarms(history, 0.0)
    assert banner.text == text
    # an active alarm comes first
    history.update(ReceivedMessages(health=replace(HEARD, state=state), alarms=AlarmReport(STANDING)), age=0.1)
    banner.show_alarms(history, 0.0)
    assert banner.text.startswith("■ TRIP 1 · ▲ WARN 1   north delay (FDB) 61 ms")


def test_its_height_depends_on_the_mode_alone(banner):
    heights = set()
    for alarms in ((), (WARN,), STANDING):
        banner.show_alarms(history_of(*alarms), 0.0)
        heights.add(banner.sizeHint().height())
    (height,) = heights
    banner.set_large(True)
    assert banner.sizeHint().height() > 1.7 * height
    assert banner.minimumSizeHint().width() == 0


def test_a_click_wants_the_list(banner, qtbot):
    with qtbot.waitSignal(banner.clicked):
        QTest.mouseClick(banner, Qt.MouseButton.LeftButton)


def test_the_strip_says_the_same(banner):
    def item(history):
        return next((item for item in health_items(history) if item.key == "alarms"), None)

    found = item(history_of(*STANDING))
    assert (found.text, found.level, found.rank) == ("■ TRIP 1 · ▲ WARN 1", "bad", 0)
    assert item(history_of(WARN)).text == "no active alarms"
    assert item(history_of()) is None


def test_it_sounds_while_one_is_unacknowledged_where_that_is_wanted(banner, monkeypatch):
    sounded = []
    monkeypatch.setattr("gui.window.status_bars.QApplication.beep", lambda: sounded.append(now))

    def seen(history, *times):
        nonlocal now
        sounded.clear()
        for now in times:
            banner.show_alarms(history, now)
        return list(sounded)

    now = 0.0
    every = [0.2 * n for n in range(26)]
    assert seen(history_of(*STANDING), *every) == []
    banner.sounds = True
    # at once, and then every two seconds
    assert seen(history_of(*STANDING), *every) == pytest.approx([0.0, 2.0, 4.0])
    quiet = [
        history_of(STANDING[1]),
        history_of(structs.replace(TRIP, state=S.SHELVED, active=True)),
        history_of(*STANDING, silence=60.0),
        history_of(),
    ]
    for history in quiet:
        assert seen(history, *every) == []
        # the next one is heard at once
        assert seen(history_of(*STANDING), 5.1) == [5.1]
    # a clock that is set back does not silence it
    assert seen(history_of(*STANDING), 1.0) == [1.0]


def test_it_is_green_only_while_all_are_judged(banner):
    unjudged = structs.replace(TRIP, state=S.NOT_JUDGED, not_judged="no data")
    banner.show_alarms(history_of(WARN, TRIP), 0.0)
    assert banner._level is Level.GOOD
    banner.show_alarms(history_of(WARN, unjudged), 0.0)
    assert (banner.text, banner._level) == ("⊘ 1 alarm not judged   no active alarms, 2 configured", Level.NONE)
    history = history_of(
        *STANDING, structs.replace(unjudged, name="t"), structs.replace(WARN, name="w", state=S.SHELVED)
    )
    banner.show_alarms(history, 0.0)
    assert banner.text.endswith("unacknowledged, 1 not judged, 1 shelved")
    (item,) = [item for item in health_items(history) if item.key == "alarms"]
    assert (item.text, item.rank) == ("■ TRIP 1 · ▲ WARN 1 · ⊘ 1 not judged", 0)
    (item,) = [item for item in health_items(history_of(WARN, unjudged)) if item.key == "alarms"]
    # never hidden
    assert (item.text, item.rank, item.level) == ("⊘ 1 not judged", 0, Level.NONE)


def wall_text(banner, history):
    banner.set_large(True)
    banner.show_alarms(history, 0.0)
    return banner.text.partition("   ")[0]


def test_a_wall_is_one_sentence(banner):
    actuators = [structs.replace(WARN, name=f"a{n}.warn", actuator=f"a{n}") for n in range(64)]
    well = history_of(*actuators)
    assert wall_text(banner, well) == "● TEST OK · 0 s · not recording"
    well.update(ReceivedMessages(health=replace(HEARD, recording="run.h5", recorded=9)))
    assert wall_text(banner, well) == "● TEST OK · 0 s · recording"
    unlimited = two_actuators(actuators=("a0", "b"))
    unlimited.update(ReceivedMessages(alarms=AlarmReport((actuators[0],))))
    assert wall_text(banner, unlimited).startswith("○ NO LIMITS ON 1 OF 2 · ") and banner._level is Level.NONE
    one = structs.replace(actuators[7], state=S.NOT_JUDGED, not_judged="no data")
    assert wall_text(banner, history_of(*actuators[:7], one, *actuators[8:])) == "⊘ 1 of 64 NOT JUDGED"
    late = structs.replace(TRIP, value="delay", actuator="act40", state=S.UNACKNOWLEDGED, active=True, last=0.0698)
    assert wall_text(banner, history_of(*actuators, late)) == "■ TRIP act40 delay 69.8 ms"
    assert wall_text(banner, history_of(late, structs.replace(STANDING[0], time=-1.0))).endswith("(+1 more)")
    assert wall_text(banner, history_of()) == "○ NO ALARMS · 0 s · not recording"
    assert wall_text(banner, history_of(*actuators, silence=60.0)) == "▲ no data from the service"
    # the rig, and the time of day
    assert banner.text.split("   ")[1] == "lab"
    assert len(banner.text.split("   ")[2]) == len("12:34:56")
