"""The course of a windowed indicator: levels and straight lines, each met by a step or a kink, fitted together.

A value is the mean of the course over its window. How a window weighs what is in it depends on the motion, so that a
value is uncertain by a part of what the course changes within its window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from monitor.messages.blocks import Samples

# of the change within a window, the standard deviation of its weighing
_WEIGHING = 0.2
# reduction of twice the negative log likelihood that one more stretch, or a slope of it, must give
STEP_PENALTY, SLOPE_PENALTY, KINK_PENALTY = 16.0, 12.0, 6.0
# standard deviations by which two values differ significantly
SIGNIFICANT = 5.0
# lengths in windows: of the shortest stretch, of a line tried for a step, of a stretch tried as a line
_SHORTEST, _TRIED, _BRIEF = 1.0, (1.5, 3.0), 6.0
# moves by which the time of a change is improved, in windows
_MOVES = 1.0, 0.5, 0.25, 0.125, 0.0625
_ROUNDS = 4
# stretches that are improved together, and windows on either side of their changes that are looked at
_TOGETHER, _REACH = 4, 20.0


@dataclass(frozen=True, slots=True)
class Observations:
    """Values of windows that end at ``time`` [s], (n,), with variances, and the window [s] that they are means over.

    ``share`` is the part of an independent observation that one value is.
    """

    time: Samples
    values: Samples
    variance: Samples
    window: float
    share: float

    def between(self, start: float, stop: float) -> Observations:
        """Return those whose windows are between two times."""
        inside = (self.time - self.window >= start) & (self.time <= stop)
        return replace(self, time=self.time[inside], values=self.values[inside], variance=self.variance[inside])


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a course from ``start`` [s]: ``slopes`` or is level, ``joined`` to the last or a step from it."""

    start: float
    slopes: bool
    joined: bool = False


@dataclass(frozen=True)
class Course:
    """Stretches from the first to the last observation, fitted to them by weighted least squares.

    ``least`` is the smallest change of interest.
    """

    stretches: tuple[Stretch, ...]
    seen: Observations
    least: float

    @property
    def edges(self) -> Samples:
        """Where the stretches begin, and the end, s."""
        return np.array(
            [*(each.start for each in self.stretches), max(self.seen.time[-1], self.stretches[-1].start + 1e-9)]
        )

    @cached_property
    def _ends(self) -> NDArray[np.intp]:
        """The number of the parameter that is the value at both ends of each stretch, (n, 2)."""
        ends, number = [], -1
        for each in self.stretches:
            number += 0 if each.joined else 1
            begin = number
            number += int(each.slopes)
            ends.append((begin, number))
        return np.array(ends)

    @cached_property
    def _fit(self) -> tuple[Samples, NDArray[np.float64], float]:
        """Values and covariance of the parameters, and twice the negative log likelihood."""
        seen, edges, ends = self.seen, self.edges, self._ends
        begins = np.concatenate([[-np.inf], edges[1:-1]])
        stops = np.append(edges[1:-1], np.inf)
        low = np.maximum(seen.time[:, None] - seen.window, begins)
        high = np.maximum(np.minimum(seen.time[:, None], stops), low)
        part = (high - low) / seen.window
        place = (0.5 * (low + high) - edges[:-1]) / np.diff(edges)
        place = np.where(ends[:, 0] == ends[:, 1], 0.0, place)
        design = np.zeros((len(seen.time), int(ends.max()) + 1))
        for number, (one, two) in enumerate(ends):
            design[:, one] += part[:, number] * (1.0 - place[:, number])
            design[:, two] += part[:, number] * place[:, number]
        variance = seen.variance
        for _ in range(3):
            weights = seen.share / variance
            normal = design.T @ (weights[:, None] * design)
            # what no window sees is not determined
            covariance = np.linalg.pinv(normal, hermitian=True)
            found = covariance @ (design.T @ (weights * seen.values))
            changes = self._at(found, seen.time) - self._at(found, seen.time - seen.window)
            variance = seen.variance + (_WEIGHING * changes) ** 2
        residual = (seen.values - design @ found) ** 2
        cost = seen.share * float(np.sum(residual / variance + np.log(variance / seen.variance)))
        free = max(1.0, seen.share * len(residual) - len(found))
        scatter = max(1.0, seen.share * float(np.sum(residual / variance)) / free)
        return found, np.asarray(scatter * covariance), cost

    def _at(self, found: Samples, time: Samples) -> Samples:
        edges = self.edges
        number = np.clip(np.searchsorted(edges, time, "right") - 1, 0, len(self.stretches) - 1)
        place = (time - edges[number]) / np.diff(edges)[number]
        one, two = found[self._ends[number]].T
        return np.asarray(one + (two - one) * place)

    @property
    def cost(self) -> float:
        """Twice the negative log likelihood, with the penalties of steps, kinks and lines."""
        joined = sum(each.joined for each in self.stretches)
        slopes = sum(each.slopes for each in self.stretches)
        steps = len(self.stretches) - 1 - joined
        return self._fit[2] + STEP_PENALTY * steps + KINK_PENALTY * joined + SLOPE_PENALTY * slopes

    @property
    def rank(self) -> tuple[int, float]:
        """The number of changes that are not significant, and the cost: the smallest is the best course."""
        found, covariance, _ = self._fit
        doubts = 0
        for number, each in enumerate(self.stretches):
            changes = [self._ends[number]] if each.slopes else []
            if number and not each.joined:
                changes.append(np.array([self._ends[number - 1, 1], self._ends[number, 0]]))
            for one, two in changes:
                variance = covariance[one, one] + covariance[two, two] - 2.0 * covariance[one, two]
                needed = max(self.least, SIGNIFICANT * np.sqrt(max(variance, 0.0)))
                doubts += int(abs(found[two] - found[one]) < needed)
        return doubts, self.cost

    def values(self, number: int, start: float, stop: float) -> tuple[float, float, float]:
        """Return the values of a stretch at two times, and the larger of their standard deviations."""
        found, covariance, _ = self._fit
        begin, end = self.edges[number : number + 2]
        place = (np.array([start, stop]) - begin) / (end - begin)
        design = np.zeros((2, len(found)))
        one, two = self._ends[number]
        design[:, one] += 1.0 - place
        design[:, two] += place
        first, last = design @ found
        return float(first), float(last), float(np.sqrt(np.max(np.diag(design @ covariance @ design.T))))

    def _timed(self, which: range) -> Course:
        """Return the course with the times of its changes where they cost least."""
        best = self
        for move in _MOVES:
            for number in which:
                for by in (-move, move):
                    while (
                        moved := best._moved(number, by * self.seen.window)
                    ) is not None and moved.rank < best.rank:
                        best = moved
        return best

    def _moved(self, number: int, by: float) -> Course | None:
        """Return the course with a change at another time; None where a stretch would become too short."""
        stretches = list(self.stretches)
        stretches[number] = replace(stretches[number], start=stretches[number].start + by)
        moved = Course(tuple(stretches), self.seen, self.least)
        return moved if moved._possible else None

    def _others(self) -> Iterator[tuple[Course, range]]:
        """Yield courses that differ in one change, and the changes whose times are to be found."""
        window, all_ = self.seen.window, self.stretches
        for i, each in enumerate(all_):
            if each.slopes:
                middle = Stretch(float(np.mean(self.edges[i : i + 2])), True, True)
                level, rest = replace(each, slopes=False), replace(middle, slopes=False)
                # a line is also what is first fitted to a step next to an end; a line alone is otherwise believed
                joints = ((level, middle), (each, rest)) if len(all_) > 1 else ()
                for two in *joints, (level, replace(rest, joined=False)):
                    yield Course((*all_[:i], *two, *all_[i + 1 :]), self.seen, self.least), range(max(1, i), i + 2)
                if i < len(all_) - 1:
                    before, step = all_[:i] or (level,), replace(all_[i + 1], start=middle.start, joined=False)
                    one = range(len(before), len(before) + 1)
                    yield Course((*before, step, *all_[i + 2 :]), self.seen, self.least), one
        for i in range(1, len(all_)):
            head, left, right, tail = all_[: i - 1], all_[i - 1], all_[i], all_[i + 1 :]
            yield Course((*head, left, *tail), self.seen, self.least), range(0)
            if right.slopes:
                yield (
                    Course((*head, left, replace(right, slopes=False), *tail), self.seen, self.least),
                    range(i, i + 1),
                )
            if right.joined or left.slopes or right.slopes:
                flipped = replace(right, joined=not right.joined)
                yield Course((*head, left, flipped, *tail), self.seen, self.least), range(i, i + 1)
            if not right.joined:
                for length in _TRIED:
                    line = Stretch(right.start - 0.5 * length * window, True, True)
                    rest = replace(right, start=right.start + 0.5 * length * window, joined=True)
                    yield Course((*head, left, line, rest, *tail), self.seen, self.least), range(i, i + 2)
            if tail and tail[0].start - right.start < _BRIEF * window:
                line, rest = Stretch(right.start, True, True), replace(tail[0], joined=True)
                yield Course((*head, left, line, rest, *tail[1:]), self.seen, self.least), range(i, i + 2)

    def refined(self) -> Course:
        """Return the likeliest course that steps made lines, lines joined and joints parted lead to, part by part."""
        all_, reach = self.stretches, _REACH * self.seen.window
        for number in range(0, max(1, len(all_) - 1), _TOGETHER // 2):
            edges = [-np.inf, *(each.start for each in all_[1:]), np.inf]
            some = all_[number : number + _TOGETHER]
            if not (some[1:] or some[0].slopes):
                break
            last = edges[number + len(some)]
            near = some[1:] or some
            seen = self.seen.between(max(edges[number], near[0].start - reach), min(last, near[-1].start + reach))
            if not len(seen.time):
                continue
            part = Course((replace(some[0], joined=False), *some[1:]), seen, self.least)._improved()
            rest = (replace(part.stretches[0], joined=some[0].joined), *part.stretches[1:])
            all_ = (*all_[:number], *rest, *all_[number + len(some) :])
        return Course(all_, self.seen, self.least)

    def _improved(self) -> Course:
        best = self._timed(range(1, len(self.stretches)))
        for _ in range(_ROUNDS):
            tried = [course._timed(which) for course, which in best._others() if course._possible]
            likeliest = min(tried, key=lambda course: course.rank, default=best)
            if likeliest.rank >= best.rank:
                break
            best = likeliest._timed(range(1, len(likeliest.stretches)))
        return best

    @property
    def _possible(self) -> bool:
        """Whether all stretches are long enough."""
        return bool(np.diff(self.edges).min() >= _SHORTEST * self.seen.window)
