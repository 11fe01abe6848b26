"""A stack of rows over one time axis that all panels over time share."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.plots.axis_ranges import AxisRanges
from gui.plots.background_cache import BackgroundCache
from gui.plots.pixmap_cache import PixmapCache
from gui.plots.readout_throttle import ReadoutThrottle
from gui.plots.time_curves import ValueScale
from gui.plots.time_frame import Frame
from gui.plots.time_gestures import TimeGestures
from gui.plots.time_layout import MARGIN
from gui.plots.time_legend import entries
from gui.plots.time_overlay import draw_cursors, draw_focus, draw_headings
from gui.plots.time_reading import Reading, readings
from gui.plots.time_row import Row
from gui.plots.time_rows import RowArea
from gui.plots.time_scale import TimeScale
from gui.plots.time_scene import Scene
from gui.plots.time_tip import event_tip, heading_tip
from gui.plots.view import View
from gui.widgets.painting import painting
from gui.widgets.theme import Theme


class TimeStack(RowArea):
    """Rows over time: the wheel zooms in time, with Ctrl in value, dragging scrubs, a click pins a second cursor.

    A double click lets a row's scale follow its values again. Where there is no room for all rows they are scrolled:
    by the scroll bar, the wheel over the value axes, or PgUp and PgDn.

    Parameters
    ----------
    view : what is looked at.
    theme : colours to begin with.
    """

    def __init__(self, view: View, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view, self._theme = view, theme
        self._ranges = AxisRanges()
        self._frame = Frame()
        self._still, self._kept, self._pace = BackgroundCache(), PixmapCache(), ReadoutThrottle()
        self._smooth, self._smooth_when_paused = False, True
        self.message = ""
        self.setAccessibleName("values over time")
        font = self.font()
        # figures of one width, so that values do not tremble
        font.setFeature(QFont.Tag("tnum"), 1)
        self.setFont(font)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._gestures = TimeGestures(self, view)
        view.pointed.connect(self._point)
        view.moved.connect(self._smoothen)

    @property
    def frame(self) -> Frame:
        """What was drawn last."""
        return self._frame

    @property
    def scene(self) -> Scene:
        """What there is to see, but for the cursors."""
        smooth, area = self._smooth, self.viewport().rect()
        return Scene(
            self._rows, self._ranges, self._frame, self.places, area, self.scrolled, self._theme, smooth=smooth
        )

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show other rows; scales of those that stay are kept."""
        self._ranges.take(rows)
        self._frame = Frame(self._frame.left, self._frame.right, (None,) * len(rows), self._frame.segments)
        self._take(rows)
        self._kept.forget()
        self._pace.forget()
        self._renew()

    def forget(self) -> None:
        """Forget all scales: other signals are shown."""
        self._ranges.forget()

    def restyle(self, theme: Theme) -> None:
        """Take other colours."""
        self._theme = theme
        self._renew()

    def set_smooth(self, when_paused: bool) -> None:
        """Let lines be smooth while the view stands still, or never; live they are not, which costs frames."""
        self._smooth_when_paused = when_paused
        self._smoothen()

    def draw(self, frame: Frame, *, more: bool = False) -> None:
        """Show other numbers, one item for each row.

        Parameters
        ----------
        more : others are on their way, so that headings may wait for them; who says so calls `rest` where none came.
        """
        self._frame = frame
        self._pace.take(frame, more=more)
        self._ranges.follow(self._rows, frame)
        self._renew()

    def rest(self) -> None:
        """Write the newest values into the headings: no others have come."""
        self._pace.rest()
        if self._pace.behind:
            self.viewport().update()

    def limits(self, key: str) -> tuple[float, float]:
        """Return the limits of a row's value axis."""
        found = self._ranges[key]
        return found.low, found.high

    def legend(self, row: int) -> list[str]:
        """Return what a row's legend says: ``command 1.25 mm``, with the difference to the pinned instant."""
        found = entries(self._rows[row], self._readings()[row], self.scene.unit(row))
        return [" ".join(filter(None, (entry.curve.label, entry.value, entry.difference))) for entry in found]

    def zoom_values(self, row: int, factor: float, at: float) -> None:
        """Make a row's scale `factor` times as long around a value; `release` undoes it."""
        self._ranges[self._rows[row].key].zoom(factor, at)
        self._renew()

    def release(self, row: int) -> None:
        """Let a row's scale follow its values."""
        self._ranges.release(self._rows[row].key, self._frame.rows[row])
        self._renew()

    def scale(self) -> TimeScale:
        """Return where instants stand in the viewport."""
        return self.scene.scale

    def instant(self, x: float) -> str:
        """Return the rig's time at `x`, as fine as a pixel; a dash in a break."""
        return self.scene.instant(x)

    def value_at(self, row: int, y: float) -> float:
        """Return the value of a row at a pixel of the viewport."""
        place, limits = self.places.rows[row], self._ranges[self._rows[row].key]
        return ValueScale(limits.low, limits.high, place.plot_top, place.plot_height).value(y + self.scrolled)

    def tip(self, at: QPoint) -> str:
        """Return what a tool tip says at a place: the event there, or all of a row's legend over its heading."""
        row = self.row_at(at.y())
        if row is not None and at.y() + self.scrolled < self.places.rows[row].plot_top:
            return heading_tip(self.scene, row, self.legend(row))
        return event_tip(self.scene, at)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802, ARG002 - Qt's name and arguments
        """Draw the still part, from memory where it is the same, and what moves with the cursor."""
        with painting(self.viewport()) as painter:
            painter.setFont(self.font())
            self._paint(painter, self.scene)

    def _paint(self, painter: QPainter, scene: Scene) -> None:
        if self._rows:
            self._still.draw(painter, scene, self.viewport().devicePixelRatioF(), self._kept)
            live = self._view.following and self._view.cursor is None and self._view.pinned is None
            draw_headings(painter, scene, self._pace.choose(self._readings(), live=live), self._kept)
            draw_cursors(painter, scene, self._view.cursor, self._view.pinned)
            if self.hasFocus():
                draw_focus(painter, scene)
        else:
            painter.fillRect(scene.area, QColor(self._theme.window))
            painter.setPen(QColor(self._theme.muted))
            inner = scene.area.adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
            painter.drawText(inner, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.message)

    def _readings(self) -> list[Reading]:
        return readings(self._frame, len(self._rows), self._view.cursor, self._view.pinned)

    def _renew(self) -> None:
        self._still.forget()
        super()._renew()

    def _point(self) -> None:
        """Draw the cursors elsewhere."""
        self.viewport().update()

    def _smoothen(self) -> None:
        """Draw anew where the view has just stopped, or goes on."""
        smooth = self._smooth_when_paused and not self._view.following
        if smooth != self._smooth:
            self._smooth = smooth
            self._renew()
        if not self._view.following:
            self.rest()
