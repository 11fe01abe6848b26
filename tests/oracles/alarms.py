"""Alarms straight from their definitions, in plain Python: conditions row by row, lives step by step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class Condition:
    """The condition of one limit; remembers every valid value since the last hole or NaN."""

    low: float
    high: float
    deadband: float
    on_rows: int
    off_rows: int
    least_rows: int = 0
    active: bool = False
    run: list[float] = field(default_factory=list)
    age: float = math.inf
    ready: bool = False
    suppressed: int = 0

    def hole(self) -> None:
        self.run, self.ready = [], False

    def step(self, value: float) -> bool:
        """Take the value of the next row; tell whether the condition turned."""
        self.age += 1
        if math.isnan(value):
            self.hole()
            return False
        self.run.append(value)
        needed = 1 + (self.off_rows if self.active else self.on_rows)
        newest = self.run[-needed:]
        far_enough = self.back if self.active else self.out
        was_ready, self.ready = self.ready, len(newest) == needed and all(map(far_enough, newest))
        if self.active and was_ready and not self.ready:
            self.suppressed += 1
        if not self.ready or (self.active and self.age < self.least_rows):
            return False
        if not self.active:
            self.age = self.suppressed = 0
        self.active = not self.active
        # what has turned it is used up
        self.hole()
        return True

    def out(self, value: float) -> bool:
        return not self.low <= value <= self.high

    def back(self, value: float) -> bool:
        return self.low + self.deadband <= value <= self.high - self.deadband


# the arrows of the standard's diagram: (state, what happens) -> state; for alarms that are acknowledged
PLAIN = {
    ("normal", "occur"): "unacknowledged",
    ("unacknowledged", "acknowledge"): "acknowledged",
    ("unacknowledged", "return_to_normal"): "returned_unacknowledged",
    ("acknowledged", "return_to_normal"): "normal",
    ("returned_unacknowledged", "acknowledge"): "normal",
    ("returned_unacknowledged", "occur"): "unacknowledged",
}
LATCHING = PLAIN | {
    ("unacknowledged", "return_to_normal"): "latched_unacknowledged",
    ("acknowledged", "return_to_normal"): "latched_acknowledged",
    ("latched_unacknowledged", "acknowledge"): "latched_acknowledged",
    ("latched_unacknowledged", "occur"): "unacknowledged",
    ("latched_acknowledged", "reset"): "normal",
    ("latched_acknowledged", "occur"): "unacknowledged",
}
# and for those that nobody has to take note of
SELF_TOLD = {("normal", "occur"): "acknowledged", ("acknowledged", "return_to_normal"): "normal"}
SELF_TOLD_LATCHING = SELF_TOLD | {
    ("acknowledged", "return_to_normal"): "latched_acknowledged",
    ("latched_acknowledged", "occur"): "acknowledged",
    ("latched_acknowledged", "reset"): "normal",
}


def arrows(latching: bool, acknowledge: bool) -> dict[tuple[str, str], str]:
    if acknowledge:
        return LATCHING if latching else PLAIN
    return SELF_TOLD_LATCHING if latching else SELF_TOLD


@dataclass
class Life:
    """One alarm; `steps` has (action, previous, state) of every transition."""

    latching: bool
    acknowledge: bool
    state: str = "normal"
    beneath: str = "normal"
    active: bool = False
    left: float = 0.0
    steps: list[tuple[str, str, str]] = field(default_factory=list)

    def happen(self, action: str) -> bool:
        """Tell whether it had an effect that can be seen."""
        if action in ("occur", "return_to_normal"):
            self.active = action == "occur"
        shelved = self.state == "shelved"
        if shelved and action in ("acknowledge", "reset"):
            return False
        following = arrows(self.latching, self.acknowledge).get((self.beneath, action))
        if following is None:
            return False
        self.beneath = following
        if shelved:
            return False
        self._go(action, following)
        return True

    def shelve(self, seconds: float) -> None:
        self.left = seconds
        self._go("shelve", "shelved")

    def unshelve(self) -> bool:
        if self.state != "shelved":
            return False
        if self.active:
            self.beneath = "unacknowledged" if self.acknowledge else "acknowledged"
        elif not self.beneath.startswith("latched"):
            self.beneath = "normal"
        self._go("unshelve", self.beneath)
        return True

    def wait(self, passed: float) -> None:
        if self.state == "shelved":
            self.left -= passed
            if self.left <= 0.0:
                self.unshelve()

    def _go(self, action: str, state: str) -> None:
        self.steps.append((action, self.state, state))
        self.state = state
