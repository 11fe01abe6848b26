"""Lane of events below the rows: a tick each, labels that are merged where they would overlap, and alarm states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gui.model.alarms import AlarmSpan
from gui.model.history import PlacedEvent
from gui.model.severity import importance
from gui.plots.time.axis import TimeScale
from gui.plots.time.cache import TextMetrics
from gui.plots.time.rows import PlotRow
from gui.plots.time.scene import LANE_BAR, POINTER_TOLERANCE, Scene
from gui.widgets.theme import level_colour
from gui.wording.event_text import event_level, event_sentence, kind_name, severity_level, severity_word
from monitor.messages.alarms import Severity
from monitor.messages.blocks import EventKind
from monitor.text.numbers import instant_text

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_TEXT_GAP, _NEXT_GAP = 3.0, 8.0  # px before a label, and after it
_MOST_KINDS, _MOST_TOLD = 2, 8


@dataclass(frozen=True, slots=True)
class MarkGroup:
    """Events with one label; `begin` and `end` are px of the first event and of the end of the label."""

    marks: tuple[PlacedEvent, ...]
    label: str
    begin: float
    end: float


def belongs(mark: PlacedEvent, row: PlotRow) -> bool:
    """Whether an event is about a value of a row: an alarm on it, or the decision on its site."""
    event = mark.event
    if event.alarm is not None:
        return (event.alarm.actuator, event.alarm.quantity) in row.watched
    return event.kind is EventKind.DECISION and any(owner == event.site for owner, _ in row.watched)


def draw_row_marks(painter: QPainter, plot: QRectF, scene: Scene, row: PlotRow) -> None:
    """Draw the events that belong to a row as lines through it, and its alarm states as bars at its top."""
    for mark in scene.frame.marks if row.watched else ():
        if belongs(mark, row):
            x = round(scene.scale.pixel(mark.x))
            painter.setPen(QPen(QColor(level_colour(scene.theme, event_level(mark.event))), 1, Qt.PenStyle.DotLine))
            painter.drawLine(QLineF(x, plot.top(), x, plot.bottom()))
    own = [state for state in scene.frame.states if (state.actuator, state.quantity) in row.watched]
    _draw_states(painter, plot, scene, own)


def draw_lane(painter: QPainter, scene: Scene) -> None:
    """Draw the lane below the rows, with the states of all alarms."""
    theme, scale, places = scene.theme, scene.scale, scene.places
    lane = QRectF(places.plot_left, scene.bottom, places.plot_width, places.lane)
    _draw_states(painter, lane, scene, scene.frame.states)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for group in mark_groups(scene, TextMetrics(painter.font()).width):
        level = max((event_level(mark.event) for mark in group.marks), key=importance)
        painter.setPen(QColor(level_colour(theme, level)))
        for x in (round(scale.pixel(mark.x)) for mark in group.marks):
            # short where it would cross the label
            painter.drawLine(QLineF(x, lane.top(), x, lane.bottom() if x < group.begin else lane.top() + LANE_BAR))
        text = QRectF(group.begin, lane.top() + LANE_BAR, group.end - group.begin, lane.height() - LANE_BAR)
        painter.drawText(text, _LEFT, group.label)


def mark_groups(scene: Scene, width: Callable[[str], float]) -> list[MarkGroup]:
    """Return the events of a scene in groups: those whose labels would overlap have one."""
    right = scene.scale.begin + scene.scale.width
    groups: list[MarkGroup] = []
    for mark in sorted(scene.frame.marks, key=lambda each: each.x):
        group = _group((mark,), scene.scale, right, width)
        while groups and group.begin < groups[-1].end + _NEXT_GAP:
            group = _group((*groups.pop().marks, *group.marks), scene.scale, right, width)
        groups.append(group)
    return groups


def _group(
    marks: tuple[PlacedEvent, ...], scale: TimeScale, right: float, width: Callable[[str], float]
) -> MarkGroup:
    label = group_label([mark.event.kind for mark in marks])
    size = width(label) + 1.0
    # at the right end the label is before its events
    begin = min(scale.pixel(marks[0].x) + _TEXT_GAP, right - size)
    return MarkGroup(marks, label, begin, begin + size)


def group_label(kinds: Sequence[EventKind]) -> str:
    """Return ``note``, ``5 notes``, ``alarm, 2 notes``, or ``9 events`` of many kinds."""
    counts = Counter(kinds)
    if len(counts) > _MOST_KINDS:
        return f"{len(kinds)} events"
    return ", ".join(_counted(kind_name(kind), n) for kind, n in counts.items())


def _counted(name: str, n: int) -> str:
    if n == 1:
        return name
    return f"{n} {name}" if name.endswith(("ed", "s")) else f"{n} {name}s"


def lane_tip(scene: Scene, x: float, width: Callable[[str], float]) -> str:
    """Return the events at a place of the lane, a line each, and the alarms that are active there."""
    groups = (group for group in mark_groups(scene, width) if group.begin - 2 * POINTER_TOLERANCE <= x <= group.end)
    found = [mark for group in groups for mark in group.marks]
    at = scene.scale.x(x)
    active = [
        f"{severity_word(state.severity)} {state.name} is active"
        for state in scene.frame.states
        if state.begin <= at <= state.end
    ]
    return "\n".join((*marks_text(found), *active))


def marks_text(marks: Sequence[PlacedEvent]) -> list[str]:
    """Return the newest events, a line each."""
    left_out = [f"and {len(marks) - _MOST_TOLD} earlier"] if len(marks) > _MOST_TOLD else []
    return left_out + [
        f"{instant_text(mark.event.time)}  {kind_name(mark.event.kind)}  {event_sentence(mark.event)}".strip()
        for mark in marks[-_MOST_TOLD:]
    ]


def _draw_states(painter: QPainter, box: QRectF, scene: Scene, states: Iterable[AlarmSpan]) -> None:
    scale, segments = scene.scale, scene.frame.segments
    newest = min(scale.right, segments[-1].x_end) if segments else scale.right
    # trips over warnings
    for state in sorted(states, key=lambda each: each.severity is Severity.TRIP):
        left, right = (scale.pixel(x) for x in (max(state.begin, scale.left), min(state.end, newest)))
        if left <= right:
            colour = QColor(level_colour(scene.theme, severity_level(state.severity)))
            painter.fillRect(QRectF(left, box.top(), max(1.0, right - left), LANE_BAR), colour)
