"""Visible time range and cursors of all panels over time; it follows the newest sample, is paused, or is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from PySide6.QtCore import QObject, Signal

_MOST = 200

Parts = Mapping[str, Any]
"""What a step changes beside the span: manual limits of a row by its key, rows of a panel, the layout."""


@dataclass(frozen=True, slots=True)
class ViewState:
    """Span, right edge [s], whether it follows the newest sample, and the parts that a step changes."""

    span: float
    right: float
    following: bool
    parts: Parts = field(default_factory=dict)

    def same_span(self, other: ViewState) -> bool:
        """Whether both show the same span; one that follows the newest sample moves with it."""
        moving = self.following and other.following
        return self.span == other.span and self.following == other.following and (moving or self.right == other.right)


@dataclass(frozen=True, slots=True)
class _Step:
    before: ViewState
    after: ViewState
    kind: str

    @property
    def moves(self) -> bool:
        """Whether it changes the span."""
        return not self.before.same_span(self.after)


class ViewHistory:
    """Steps that have changed the view; a new one after going back replaces those that were undone."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._n_done = 0

    def clear(self) -> None:
        """Forget all steps."""
        self._steps.clear()
        self._n_done = 0

    def add(self, before: ViewState, after: ViewState, kind: str) -> None:
        """Add a step; consecutive ones of the same kind are one, such as notches of a wheel. Empty: never joined."""
        if before.same_span(after) and before.parts == after.parts:
            return
        del self._steps[self._n_done :]
        last = self._steps[-1] if self._steps else None
        if last is not None and kind and kind == last.kind and last.after.same_span(before):
            self._steps[-1] = replace(last, after=after)
        else:
            self._steps = [*self._steps, _Step(before, after, kind)][-_MOST:]
        self._n_done = len(self._steps)

    @property
    def has_back(self) -> bool:
        """Whether there is a step to undo."""
        return self._n_done > 0

    @property
    def has_forward(self) -> bool:
        """Whether there is an undone step."""
        return self._n_done < len(self._steps)

    def back(self) -> _Step | None:
        """Return the step to undo; None before the first."""
        if not self.has_back:
            return None
        self._n_done -= 1
        return self._steps[self._n_done]

    def forward(self) -> _Step | None:
        """Return the step that was undone last; None where none was."""
        if not self.has_forward:
            return None
        self._n_done += 1
        return self._steps[self._n_done - 1]


_SHORTEST, _LONGEST = 0.02, 90_000.0
"""Limits of the span, s: the longest is a little over a day."""
_DEFAULT = 30.0
_HEAD_ROOM = 0.8  # of the span that is ahead of a play head after a page is turned


class View(QObject):
    """The span [left, right] of x in s that all panels over time show.

    Panels of one instant show the pinned cursor, or else the right edge. Of a recording that is shown as a whole no
    newest sample is followed, and the pinned cursor is always there: it is the play head.

    Signals
    -------
    range_changed : the span has changed, or whether it follows the newest sample.
    cursor_changed : the cursor has moved, or was pinned, unpinned or removed.
    actuator_changed : another actuator was selected.
    restored : `Parts` of a step that was undone or done again.

    Attributes
    ----------
    steps : that have changed it.
    """

    range_changed = Signal()
    restored = Signal(dict)
    cursor_changed = Signal()
    actuator_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.span = _DEFAULT
        self.right = 0.0
        self.following = True
        self.cursor: float | None = None
        self.cursor_scrolls = False
        """Whether the cursor moves with the view, under a mouse at rest."""
        self.pinned: float | None = None
        self.marks: tuple[float, ...] = ()
        """Further cursors from left to right, numbered from 1; they move nothing."""
        self.actuator = ""
        self.recorded = False
        self._stays_live = False
        self._begin, self._end = 0.0, 0.0
        self.steps = ViewHistory()
        self._in_step = False

    @property
    def left(self) -> float:
        """Left edge of the span."""
        return self.right - self.span

    @property
    def instant(self) -> float:
        """The x that panels of one instant show."""
        return min(self.right, self._end) if self.pinned is None else self.pinned

    @property
    def newest(self) -> float:
        """The right edge while following; a run that is shorter than the span grows from left to right."""
        return max(self._end, self._begin + self.span)

    @property
    def behind(self) -> float:
        """Seconds from the right edge to the newest sample."""
        return max(0.0, self._end - self.right)

    @property
    def head_at_end(self) -> bool:
        """Whether the pinned cursor is at the newest sample."""
        return self.pinned == self._end

    def extend(self, begin: float, end: float) -> None:
        """Set the range of available data; while following, the right edge moves with `end`."""
        self._begin, self._end = begin, end
        if self.following and self.newest != self.right:
            self.right = self.newest
            self.range_changed.emit()

    def move_axis(self, seconds: float) -> None:
        """Follow data that have moved on the axis by `seconds`."""
        self.right += seconds
        self._begin += seconds
        self._end += seconds
        self.cursor = None
        if self.pinned is not None:
            self.pinned += seconds
        self.marks = tuple(x + seconds for x in self.marks)
        self.range_changed.emit()
        self.cursor_changed.emit()

    def show_recording(self, begin: float, end: float) -> None:
        """Show all of a recording, with the play head at its end."""
        self.restart()
        self.recorded, self.following = True, False
        self._begin, self._end = begin, end
        self.show_all()
        self.steps.clear()
        self.pin(end)

    def grow_recording(self, begin: float, end: float) -> None:
        """Set the range of a recording that is being loaded; what is at its end, view or play head, stays there."""
        if end == self._end:
            return
        whole, at_end = self.left <= self._begin and self.right >= self._end, self.head_at_end
        self._begin, self._end = begin, end
        if whole:
            self.show_all()
            self.steps.clear()
        if at_end:
            self.pin(end)

    def restart(self) -> None:
        """Return to the initial state, for other signals."""
        self.recorded = False
        self.steps.clear()
        self.right = self._begin = self._end = 0.0
        self.cursor = self.pinned = None
        self.marks = ()
        self.follow()
        self.cursor_changed.emit()

    def follow(self) -> None:
        """Go to the newest sample, and follow it."""
        self.following = not self.recorded
        self.right = self.newest
        self.range_changed.emit()

    def live(self) -> None:
        """Unpin the cursor, and follow."""
        if not self.recorded:
            self.pin(None)
        self.follow()

    def stay_live(self, on: bool) -> None:
        """With `on`, follow the newest sample whatever is done with mouse and keys."""
        self._stays_live = on
        if on:
            self.live()

    def move_head(self, x: float) -> None:
        """Move the play head, and the span where it is not visible there."""
        self.pin(x)
        if not self.left <= x <= self.right:
            self.set_right(x + 0.5 * self.span)

    def keep_in_view(self, x: float, before: float) -> None:
        """Scroll with a play head that has moved from `before`, where that was visible, to `x`."""
        if self.left <= before <= self.right and not self.left <= x <= self.right:
            self.set_right(x + (1.0 - _HEAD_ROOM if x < before else _HEAD_ROOM) * self.span)

    def pause(self) -> None:
        """Freeze the display; acquisition continues."""
        if self._stays_live and not self.recorded:
            self.follow()
        elif self.following:
            # the empty space at the right would fill while the view is paused
            self.following, self.right = False, min(self.right, self._end)
            self.range_changed.emit()

    def toggle(self) -> None:
        """Freeze the display, or follow again."""
        self.pause() if self.following else self.live()

    def shift(self, seconds: float) -> None:
        """Pan by `seconds`; at the newest sample, following is resumed."""
        self.pan_to(self.right + seconds)

    def pan_to(self, right: float) -> None:
        """Move the right edge; consecutive pans are one step."""
        with self.step("pan"):
            self.set_right(right)

    def set_right(self, right: float) -> None:
        """Move the right edge; at the newest sample or beyond, follow."""
        earliest = min(self._end, self._begin + self.span)
        self.following = not self.recorded and (self._stays_live or right >= self._end)
        at_end = self.following or right >= self._end
        self.right = self.newest if at_end else max(right, earliest)
        self.range_changed.emit()

    def zoom(self, factor: float, at: float | None = None) -> None:
        """Scale the span by `factor` about `at`; while following, the right edge is fixed."""
        with self.step("time"):
            span = min(max(self.span * factor, _SHORTEST), _LONGEST)
            if not self.following and at is not None:
                # the point under the mouse does not move
                self.right = at + (self.right - at) * span / self.span
            self.span = span
            if self.following:
                self.follow()
            else:
                self.set_right(self.right)

    def set_span(self, seconds: float) -> None:
        """Set the length of the span: about the play head of a recording; else the right edge is fixed."""
        with self.step():
            if self.recorded and self.pinned is not None:
                self.show(self.pinned - seconds / 2.0, self.pinned + seconds / 2.0)
            else:
                self.zoom(seconds / self.span)

    def show_all(self) -> None:
        """Show all available data."""
        self.show(self._begin, self._end)

    def show(self, left: float, right: float) -> None:
        """Show a span."""
        with self.step():
            self.span = min(max(right - left, _SHORTEST), _LONGEST)
            # a right edge at the newest sample keeps following
            self.set_right(right)

    @contextmanager
    def step(self, kind: str = "", parts: Callable[[], Parts] = dict) -> Iterator[None]:
        """Make what is done within a step that can be undone.

        Parameters
        ----------
        kind : consecutive steps of one kind are joined; empty: never.
        parts : returns those that may change.
        """
        if self._in_step:
            yield
            return
        before = ViewState(self.span, self.right, self.following, parts())
        self._in_step = True
        try:
            yield
        finally:
            self._in_step = False
        self.steps.add(before, ViewState(self.span, self.right, self.following, parts()), kind)

    @property
    def can_pin(self) -> bool:
        """Whether the cursor can be pinned, or the play head moved: not while the view stays live."""
        return self.recorded or not self._stays_live

    def undo(self) -> None:
        """Undo the last step."""
        if step := self.steps.back():
            self._restore(step.before, span=step.moves)

    def redo(self) -> None:
        """Do the step again that was undone last."""
        if step := self.steps.forward():
            self._restore(step.after, span=step.moves)

    def _restore(self, state: ViewState, *, span: bool) -> None:
        if span:
            self.span = state.span
            if state.following:
                self.follow()
            else:
                self.set_right(state.right)
        if state.parts:
            self.restored.emit(dict(state.parts))

    def set_cursor(self, x: float | None, *, scrolled: bool = False) -> None:
        """Move the cursor to `x`, or remove it; `scrolled`: the data moved under a mouse at rest."""
        if x != self.cursor:
            self.cursor, self.cursor_scrolls = x, scrolled
            self.cursor_changed.emit()

    def pin(self, x: float | None) -> None:
        """Pin the cursor at `x`, or unpin it with None, without pausing. A play head is only moved."""
        if self.recorded:
            self.pinned = self.pinned if x is None else min(max(x, self._begin), self._end)
        else:
            self.pinned = None if self._stays_live else x
        self.cursor_changed.emit()

    def toggle_pin(self, x: float) -> None:
        """Pin the cursor at `x`, or unpin a pinned one; move a play head."""
        self.pin(x if self.recorded or self.pinned is None else None)

    def set_marks(self, marks: Iterable[float]) -> None:
        """Set the further cursors; those at one instant are one."""
        self.marks = tuple(sorted(set(marks)))
        self.cursor_changed.emit()

    def add_mark(self, x: float | None = None) -> None:
        """Add a cursor at `x`; None: at the moving cursor, or else at the instant in view."""
        at = self.instant if self.cursor is None else self.cursor
        self.set_marks((*self.marks, at if x is None else x))

    def marked_region(self, x: float | None) -> tuple[float, float] | None:
        """Return the cursors left and right of `x`; None where there are not both."""
        left = [mark for mark in self.marks if x is not None and mark <= x]
        right = self.marks[len(left) :]
        return (left[-1], right[0]) if left and right else None

    def select_actuator(self, actuator: str) -> None:
        """Select the actuator that panels of one actuator show."""
        if actuator != self.actuator:
            self.actuator = actuator
            self.actuator_changed.emit()
