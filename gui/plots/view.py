"""Visible time range of all panels over time: it follows the newest sample or is paused; and their cursors."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

_SHORTEST, _LONGEST = 0.02, 90_000.0
"""s: of a span that can be looked at; the longest is a day and a bit."""
_DEFAULT = 30.0


class View(QObject):
    """The span [left, right] of x in s that all time panels show.

    Where the cursor is pinned, panels of one instant show that one; else the right edge.

    Signals
    -------
    moved : the span is another one, or it is followed or not.
    pointed : the cursor is elsewhere, pinned or gone.
    chosen : panels of one actuator show another one.
    """

    moved = Signal()
    pointed = Signal()
    chosen = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.span = _DEFAULT
        self.right = 0.0
        self.following = True
        self.cursor: float | None = None
        self.pinned: float | None = None
        self.actuator = ""
        self._begin, self._end = 0.0, 0.0

    @property
    def left(self) -> float:
        """Where the span begins."""
        return self.right - self.span

    @property
    def instant(self) -> float:
        """What panels of one instant show."""
        return min(self.right, self._end) if self.pinned is None else self.pinned

    @property
    def newest(self) -> float:
        """The right edge while following; a run that is shorter than the span grows from left to right."""
        return max(self._end, self._begin + self.span)

    @property
    def behind(self) -> float:
        """Seconds from the right edge to the newest sample."""
        return max(0.0, self._end - self.right)

    def extend(self, begin: float, end: float) -> None:
        """Say what there is to look at; while following, the right edge goes with `end`."""
        self._begin, self._end = begin, end
        if self.following and self.newest != self.right:
            self.right = self.newest
            self.moved.emit()

    def restart(self) -> None:
        """Forget where it stood: other signals are looked at."""
        self.right = self._begin = self._end = 0.0
        self.cursor = self.pinned = None
        self.follow()
        self.pointed.emit()

    def follow(self) -> None:
        """Go back to the newest sample, and stay with it."""
        self.following = True
        self.right = self.newest
        self.moved.emit()

    def live(self) -> None:
        """Let go of a pinned cursor, and follow."""
        self.pin(None)
        self.follow()

    def pause(self) -> None:
        """Freeze the display; acquisition continues."""
        if self.following:
            # room for what is still to come would fill while the view stands
            self.following, self.right = False, min(self.right, self._end)
            self.moved.emit()

    def toggle(self) -> None:
        """Freeze the display, or follow again."""
        self.pause() if self.following else self.live()

    def shift(self, seconds: float) -> None:
        """Look `seconds` later, or earlier if negative; at the newest sample, following begins again."""
        self.look_at(self.right + seconds)

    def look_at(self, right: float) -> None:
        """Put the right edge somewhere; at the newest sample or beyond, follow."""
        earliest = min(self._end, self._begin + self.span)
        self.following = right >= self._end
        self.right = self.newest if self.following else max(right, earliest)
        self.moved.emit()

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Make the span `factor` times as long, around `at` or, following, with the right edge where it is."""
        span = min(max(self.span * factor, _SHORTEST), _LONGEST)
        if not self.following and at is not None:
            # the point under the mouse stays where it is
            self.right = at + (self.right - at) * span / self.span
        self.span = span
        if self.following:
            self.follow()
        else:
            self.look_at(self.right)

    def set_span(self, seconds: float) -> None:
        """Look at so many seconds, with the right edge where it is."""
        self.zoom(seconds / self.span)

    def show_all(self) -> None:
        """Look at all there is."""
        self.show(self._begin, self._end)

    def show(self, left: float, right: float) -> None:
        """Look at a span that was chosen."""
        self.span = min(max(right - left, _SHORTEST), _LONGEST)
        # while following, the right edge is the newest sample: looking there goes on following
        self.look_at(right)

    def point(self, x: float | None) -> None:
        """Put the cursor at `x`, or take it away."""
        if x != self.cursor:
            self.cursor = x
            self.pointed.emit()

    def pin(self, x: float | None) -> None:
        """Let the cursor stay at `x`, or unpin it; the view is paused while one is pinned."""
        self.pinned = x
        if x is not None:
            self.pause()
        self.pointed.emit()

    def choose(self, actuator: str) -> None:
        """Let the panels of one actuator show this one."""
        if actuator != self.actuator:
            self.actuator = actuator
            self.chosen.emit()
