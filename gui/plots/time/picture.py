"""Draw a scene: rows with their curves, the lane of events; headers, cursors and focus over them; tool tips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QLineF, QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPaintEngine, QPainter, QPen

from gui.model.alarms import AlarmSpan
from gui.model.history import PlacedEvent
from gui.model.severity import importance
from gui.plots.time.axis import TimeScale
from gui.plots.time.cache import PixmapCache, TextMetrics
from gui.plots.time.curves import ColumnsImage, CurvePainter, PixelColumns, value_scale
from gui.plots.time.decoration import (
    TimeAxis,
    colour_of,
    draw_background,
    draw_limit_labels,
    draw_limit_lines,
    draw_value_axis,
    limits_tip,
    translucent,
)
from gui.plots.time.headers import Readout, draw_row_header, row_header
from gui.plots.time.rows import CurveStyle, PlotRow, Trace
from gui.plots.time.scene import LANE_BAR, MARGIN, POINTER_TOLERANCE, Scene
from gui.plots.value_axis import ValueRange, duration_text
from gui.plots.view import View
from gui.widgets.theme import level_colour
from gui.wording.event_text import event_level, event_sentence, kind_name, severity_level, severity_word
from monitor.messages.alarms import Severity
from monitor.messages.blocks import EventKind, Samples
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


BAND_ALPHA = 56
_FAINT_ALPHA = 110


class ScenePainter:
    """Draw a scene without its cursors.

    Parameters
    ----------
    painter : with its origin at that of the widget.
    scene : what is drawn.
    pixmaps : cache of axis labels.
    """

    def __init__(self, painter: QPainter, scene: Scene, pixmaps: PixmapCache) -> None:
        self._painter, self._scene, self._theme, self._pixmaps = painter, scene, scene.theme, pixmaps
        self._raster = painter.paintEngine().type() is QPaintEngine.Type.Raster and not scene.as_vectors
        self._axis = TimeAxis(painter, scene)
        self._pixels: tuple[Samples, PixelColumns] | None = None

    def draw(self) -> None:
        """Draw the visible rows and the time axis below them."""
        painter, scene, window = self._painter, self._scene, QColor(self._theme.window)
        painter.fillRect(scene.area, window)
        painter.save()
        painter.translate(0.0, -scene.scrolled)
        for i in scene.seen:
            self._row(i)
        painter.restore()
        # the lowest row may extend behind the axis
        painter.fillRect(QRect(0, scene.axis_top, scene.area.width(), scene.places.axis_height), window)
        draw_lane(painter, scene)
        self._axis.draw(scene.bottom + scene.places.lane)

    def _plot(self, row: int) -> QRectF:
        places, place = self._scene.places, self._scene.places.rows[row]
        return QRectF(places.plot_left, place.plot_top, places.plot_width, place.plot_height)

    def _row(self, i: int) -> None:
        painter, scene, theme = self._painter, self._scene, self._theme
        row, data, plot, time = scene.rows[i], scene.frame.rows[i], self._plot(i), scene.scale
        limits = scene.ranges[row.key]
        values = value_scale(limits, plot.top(), plot.height())
        painter.save()
        painter.setClipRect(plot)
        draw_background(painter, plot, time, scene.frame, data, theme)
        self._axis.draw_grid(plot)
        draw_value_axis(painter, plot, row.key, values, scene.unit(i), theme, self._pixmaps)
        if data is not None:
            curves = CurvePainter(painter, time, values, smooth=scene.smooth, as_lines=not self._raster)
            for colour, trace in zip(row.bands, data.bands, strict=True):
                if colour is not None:
                    curves.band(trace, translucent(colour_of(theme, colour), BAND_ALPHA))
            # faint curves first, below the others
            pairs = sorted(zip(row.curves, data.curves, strict=True), key=lambda pair: not pair[0].faint)
            pairs = [pair for pair in pairs if not pair[0].hidden]
            for curve, trace in pairs:
                if curve.filled:
                    curves.band(trace, translucent(colour_of(theme, curve.colour), BAND_ALPHA))
            pairs = [pair for pair in pairs if not pair[0].filled]
            dense = [pair for pair in pairs if self._raster and not pair[1].exact and not pair[0].dashed]
            if dense:
                self._dense(plot, limits, dense)
            for curve, trace in pairs:
                if (curve, trace) not in dense:
                    curves.curve(trace, self._colour(curve), dashed=curve.dashed)
        draw_row_marks(painter, plot, scene, row)
        draw_limit_lines(painter, plot, row, values, theme)
        painter.restore()
        margin = QRectF(plot.right() + 1.0, plot.top(), scene.places.margin, plot.height())
        draw_limit_labels(painter, margin, row, values, scene.unit(i), theme, self._pixmaps)
        painter.setPen(QColor(theme.grid))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        # around the plot, not over its first row of pixels
        painter.drawRect(QRectF(plot.left() - 1.0, plot.top() - 1.0, plot.width() + 1.0, plot.height() + 1.0))

    def _dense(self, plot: QRectF, limits: ValueRange, curves: Sequence[tuple[CurveStyle, Trace]]) -> None:
        """Draw curves with several samples a pixel as one image, in pixels of the device."""
        ratio = self._painter.device().devicePixelRatioF()
        width, height = round(plot.width() * ratio), round(plot.height() * ratio)
        time = TimeScale(self._scene.frame.left, self._scene.frame.right, 0.0, width)
        values = value_scale(limits, 0.0, height, ratio)
        made = ColumnsImage(width, height, ratio)
        for curve, trace in curves:
            if len(trace.low):
                # curves of one envelope share one array of edges
                if self._pixels is None or self._pixels[0] is not trace.edges:
                    self._pixels = trace.edges, PixelColumns(trace.edges, time)
                pixels = self._pixels[1]
                made.add(pixels, pixels.heights(trace, values), self._colour(curve))
        self._painter.drawImage(plot.topLeft(), made.image())

    def _colour(self, curve: CurveStyle) -> QColor:
        colour = colour_of(self._theme, curve.colour)
        return translucent(colour, _FAINT_ALPHA) if curve.faint else QColor(colour)


def draw_row_headers(painter: QPainter, scene: Scene, readings: Sequence[Readout], pixmaps: PixmapCache) -> None:
    """Draw the headers of the visible rows, with their readouts."""
    places, theme = scene.places, scene.theme
    right = places.plot_left + places.plot_width
    painter.save()
    painter.setClipRect(QRect(0, 0, scene.area.width(), scene.axis_top))
    for i in scene.seen:
        row, place = scene.rows[i], places.rows[i]
        box = QRectF(MARGIN, place.top - scene.scrolled, right - MARGIN, place.plot_top - place.top)
        shown = row_header(row, readings[i], scene.unit(i), scene.ranges[row.key])
        draw = partial(draw_row_header, header=shown, theme=theme)
        pixmaps.draw(painter, ("heading", row.key), (shown, theme), box, QColor(theme.window), draw)
    painter.restore()


def draw_cursors(painter: QPainter, scene: Scene, view: View) -> None:
    """Draw the numbered cursors, the pinned one and the moving one over them, with their times and the difference."""
    cursor, pinned, theme = view.cursor, view.pinned, scene.theme
    for number, x in enumerate(view.marks, 1):
        _draw_cursor(painter, scene, x, QPen(QColor(theme.force), 1, Qt.PenStyle.DashDotLine), str(number))
    if pinned is not None:
        pen = QPen(QColor(theme.accent), 1, Qt.PenStyle.DashLine)
        _draw_cursor(painter, scene, pinned, pen, scene.instant(pinned))
    if cursor is not None:
        between = "" if pinned is None else f"   Δt {duration_text(cursor - pinned)}"
        _draw_cursor(painter, scene, cursor, QPen(QColor(theme.text), 1), scene.instant(cursor) + between)


def draw_focus(painter: QPainter, scene: Scene) -> None:
    """Draw the frame of the widget that has the keyboard focus."""
    painter.setPen(QPen(QColor(scene.theme.accent), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(scene.area.adjusted(0, 0, -1, -1))


def _draw_cursor(painter: QPainter, scene: Scene, x: float, pen: QPen, text: str) -> None:
    places, at = scene.places, scene.scale.pixel(x)
    if not places.plot_left <= at <= places.plot_left + places.plot_width:
        return
    painter.setPen(pen)
    for i in scene.seen:
        # not through the headers
        place = places.rows[i]
        top, end = place.plot_top - scene.scrolled, min(place.bottom - scene.scrolled, scene.bottom)
        if top < end:
            painter.drawLine(QPointF(round(at), top), QPointF(round(at), end))
    if scene.places.lane:
        painter.drawLine(QPointF(round(at), scene.bottom), QPointF(round(at), scene.bottom + scene.places.lane))
    metrics = QFontMetrics(painter.font())
    width = metrics.horizontalAdvance(text) + 8
    left = min(max(at - width / 2.0, 0.0), scene.area.width() - width)
    box = QRectF(left, scene.bottom + scene.places.lane + 2.0, width, metrics.height() + 2.0)
    painter.fillRect(box, pen.color())
    painter.setPen(QColor(scene.theme.base))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def limit_tip(scene: Scene, row: int, at: QPoint) -> str:
    """Return the limits of a row where the point is in its right margin; else empty."""
    right = scene.places.plot_left + scene.places.plot_width
    return limits_tip(scene.rows[row], scene.unit(row)) if at.x() > right else ""


def row_header_tip(scene: Scene, row: int, legend: Sequence[str]) -> str:
    """Return the tool tip of a row header: its full text."""
    shown = scene.rows[row]
    return "\n".join(filter(None, (f"{shown.name} {shown.quantity}".strip(), *legend, shown.legend)))


def event_tip(scene: Scene, at: QPoint, row: int | None, width: Callable[[str], float]) -> str:
    """Return the events at a point of the lane, or those of a row there, a line each; `width` is that of a label."""
    if at.y() >= scene.bottom:
        return lane_tip(scene, at.x(), width)
    found = [mark for mark in scene.frame.marks if row is not None and belongs(mark, scene.rows[row])]
    near = [mark for mark in found if abs(scene.scale.pixel(mark.x) - at.x()) <= POINTER_TOLERANCE]
    return "\n".join(marks_text(near))
