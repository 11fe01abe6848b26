"""The whole window on a service whose every word looks like HTML: nowhere is a word taken for it."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QGraphicsTextItem, QGraphicsView, QLabel, QWidget

from monitor.messages.alarms import Alarm, AlarmAction, AlarmReport, AlarmState, Severity, Transition
from tests.gui.test_hostile_streams import IMAGE, blocks, read

PICTURE = "\N{OBJECT REPLACEMENT CHARACTER}"


def hostile_alarms():
    alarm = Alarm(
        IMAGE,
        "fdb_delay",
        IMAGE,
        IMAGE[:16],
        Severity.TRIP,
        high=0.1,
        state=AlarmState.UNACKNOWLEDGED,
        active=True,
        last=1.0,
        advice=IMAGE,
    )
    step = Transition(
        1,
        IMAGE,
        Severity.TRIP,
        AlarmAction.OCCUR,
        AlarmState.NORMAL,
        AlarmState.UNACKNOWLEDGED,
        0.0,
        0,
        1.0,
        0.1,
        IMAGE[:16],
        IMAGE,
    )
    return AlarmReport((alarm,), (step,))


def test_nothing_that_a_service_says_is_taken_for_html(fed):
    hands = fed()
    told = list(blocks(name=IMAGE, units=("<b>", "<i>")))
    told[-1] = replace(told[-1], alarms=hostile_alarms())
    hands.played.say(*told)
    hands.until(lambda: hands.history is not None and hands.history.alarms is not None)
    hands.window.notification_bar.show_message("warning", IMAGE, 0.0)
    for dock in hands.window.dock_area.docks.values():
        dock.show()
        dock.raise_()
        hands.ticks()
    widgets = [hands.window, *hands.window.findChildren(QWidget)]
    labels = [each for each in widgets if isinstance(each, QLabel)]
    assert [label for label in labels if "img" in label.text()]
    # whatever they say later, too
    assert {label.textFormat() for label in labels} == {Qt.TextFormat.PlainText}
    for widget in widgets:
        for tip in (widget.toolTip(), widget.whatsThis(), widget.statusTip()):
            assert not GuiQt.mightBeRichText(tip) or "img" not in tip or IMAGE in read(tip), tip
    scenes = [view.scene() for view in widgets if isinstance(view, QGraphicsView) and view.scene() is not None]
    texts = [item.toPlainText() for scene in scenes for item in scene.items() if isinstance(item, QGraphicsTextItem)]
    assert texts and not [text for text in texts if PICTURE in text]
