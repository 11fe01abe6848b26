"""History of zooms: spans and manual scales before and after each, to go back and forward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gui.plots.value_axis import Bounds

_MOST = 200

Scales = Mapping[str, Bounds | None]
"""Manual limits by row; None where they follow the values."""


@dataclass(frozen=True, slots=True)
class ZoomState:
    """Span, right edge [s], whether it follows the newest sample, and the scales that a step changes."""

    span: float
    right: float
    following: bool
    scales: Scales = field(default_factory=dict)

    def same_span(self, other: ZoomState) -> bool:
        """Whether both show the same span; one that follows the newest sample moves with it."""
        moving = self.following and other.following
        return self.span == other.span and self.following == other.following and (moving or self.right == other.right)


@dataclass(frozen=True, slots=True)
class _Step:
    before: ZoomState
    after: ZoomState
    kind: str


class ZoomHistory:
    """Steps of zooming; a new one after going back replaces those that were undone."""

    def __init__(self) -> None:
        self._steps: list[_Step] = []
        self._n_done = 0

    def clear(self) -> None:
        """Forget all steps."""
        self._steps.clear()
        self._n_done = 0

    def add(self, before: ZoomState, after: ZoomState, kind: str) -> None:
        """Add a step; consecutive ones of the same kind are one, such as notches of a wheel. Empty: never joined."""
        if before.same_span(after) and before.scales == after.scales:
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

    def back(self) -> ZoomState | None:
        """Return the state before the last step; None at the first."""
        if not self.has_back:
            return None
        self._n_done -= 1
        return self._steps[self._n_done].before

    def forward(self) -> ZoomState | None:
        """Return the state after the step that was undone last; None where none was."""
        if not self.has_forward:
            return None
        self._n_done += 1
        return self._steps[self._n_done - 1].after
