"""Identifiability: which parameters the data cannot tell apart, and which sums of them they determine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Integers, Samples
from sim.fitting.covariance import WORST_CONDITION

# parameters of a null direction: less of it is rounding; of a weak direction: less of it matters little
_ROUNDING, _SMALL = 1e-4, 0.2
# a parameter is the reference of the others in a sum unless another is so many times more in the direction
_PIVOT = 0.2


@dataclass(frozen=True, slots=True)
class Combination:
    """A weighted sum of parameters that the data determine; of a nonlinear model to first order, near the estimates.

    Parameters
    ----------
    weights : of each parameter in it, by name; that of the first is one.
    value, standard_error : of the sum.
    """

    weights: tuple[tuple[str, float], ...]
    value: float
    standard_error: float

    def __str__(self) -> str:
        """Return it as a formula, such as k1 + 0.8 k2."""
        text = ""
        for name, weight in self.weights:
            sign = "-" if weight < 0.0 else "+"
            size = f"{abs(weight):.3g}"
            term = name if size == "1" else f"{size} {name}"
            text = f"{text} {sign} {term}" if text else term
        return text


@dataclass(frozen=True, slots=True)
class ConfoundedGroup:
    """Parameters that the data do not tell apart.

    Parameters
    ----------
    names : of the parameters.
    exact : the data contain nothing about a direction among them; else it is known, but less well than by the bounds.
    determined : the sums of them that are determined; none: not one of them is.
    standard_errors : of each alone; infinite where exact.
    ranges : upper less lower bound of each.
    """

    names: tuple[str, ...]
    exact: bool
    determined: tuple[Combination, ...]
    standard_errors: tuple[float, ...]
    ranges: tuple[float, ...]

    def __str__(self) -> str:
        """Return it as one line."""
        names = _listed(self.names)
        sums = _listed([f"{each} ({each.value:.4g} ± {each.standard_error:.2g})" for each in self.determined])
        verb = "is" if len(self.determined) == 1 else "are"
        errors, ranges = (
            _listed([f"{value:.3g}" for value in values]) for values in (self.standard_errors, self.ranges)
        )
        if self.exact:
            if not self.determined:
                return f"{names} {'is' if len(self.names) == 1 else 'are'} not determined by the data"
            return f"{names} cannot be told apart: only {sums} {verb} determined near this point"
        if not self.determined:
            single = len(self.names) == 1
            return (
                f"{names} {'is' if single else 'are'} hardly determined: standard error{'' if single else 's'} "
                f"{errors}, more than the range allowed, {ranges}"
            )
        return (
            f"{names} can hardly be told apart: {sums} {verb} determined near this point, but each alone with "
            f"standard errors {errors} where the ranges allowed are {ranges}"
        )


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def confounded_groups(
    names: Sequence[str], parameters: Samples, normal: Samples, variance: float, ranges: Samples
) -> tuple[ConfoundedGroup, ...]:
    """Return the groups of parameters that the data cannot tell apart, first those of which nothing is known.

    Near a fit of a nonlinear model the sums are those of the linear model with the same sensitivities.

    Parameters
    ----------
    names : (p,).
    parameters : (p,), the estimates.
    normal : (p, p), J'J of the sensitivities.
    variance : of the errors.
    ranges : (p,), upper less lower bound; infinite where there is none: then only what is exact is found. With zero a
        parameter is known. Where the estimates are within the bounds does not matter.
    """
    free = np.flatnonzero(ranges != 0.0)
    if not len(free):
        return ()
    block = normal[np.ix_(free, free)]
    size = np.sqrt(np.diag(block))
    size = np.where(size > 0.0, size, 1.0)
    seen, direction = np.linalg.eigh(block / np.outer(size, size))
    null = ~(seen * WORST_CONDITION > seen[-1])
    scaled = direction[:, ~null] / np.sqrt(seen[~null]) / size[:, None]
    covariance = variance * scaled @ scaled.T
    labels = [names[i] for i in free.tolist()]
    estimate, spread = parameters[free], ranges[free]
    error = np.sqrt(np.diag(covariance))

    def group(members: Integers, vectors: Samples, unit: Samples, *, exact: bool) -> ConfoundedGroup:
        alone = np.full(len(members), np.inf) if exact else error[members]
        among: list[str] = [labels[i] for i in members.tolist()]
        return ConfoundedGroup(
            tuple(among),
            exact,
            _combinations(among, vectors, unit, estimate[members], covariance[np.ix_(members, members)]),
            tuple(alone.tolist()),
            tuple(spread[members].tolist()),
        )

    found, unknown = [], np.zeros(len(free), dtype=bool)
    for members, vectors in _blocks(direction[:, null], _ROUNDING):
        unknown[members] = True
        found.append(group(members, vectors, 1.0 / size[members], exact=True))
    ranged = np.flatnonzero(~unknown & np.isfinite(spread))
    if (error[ranged] > spread[ranged]).any():
        within = spread[ranged]
        square, axes = np.linalg.eigh(covariance[np.ix_(ranged, ranged)] / np.outer(within, within))
        for members, vectors in _blocks(axes[:, square > 1.0], _SMALL):
            places = ranged[members]
            if (error[places] > spread[places]).any():
                found.append(group(places, vectors, within[members], exact=False))
    return tuple(found)


def _blocks(directions: Samples, least: float) -> list[tuple[Integers, Samples]]:
    """Return the groups of parameters, (g,), that directions, (p, d), connect, each with its directions, (g, e)."""
    # the projection does not depend on which basis of the directions was found
    shadow = directions @ directions.T
    own = np.sqrt(np.maximum(np.diag(shadow), 0.0))
    joined = np.abs(shadow) > least * np.maximum.outer(own, own) * own.max(initial=0.0)
    left, found = set(np.flatnonzero(own > least * own.max(initial=0.0)).tolist()), []
    while left:
        reached, front = set[int](), {min(left)}
        while front:
            reached |= front
            front = {j for i in front for j in np.flatnonzero(joined[i]).tolist() if j in left} - reached
        left -= reached
        members = np.array(sorted(reached), dtype=np.int64)
        share, vectors = np.linalg.eigh(shadow[np.ix_(members, members)])
        number = min(max(round(float(share.sum())), 1), len(members))
        found.append((members, vectors[:, len(members) - number :]))
    return found


def _combinations(
    names: Sequence[str], vectors: Samples, unit: Samples, estimate: Samples, covariance: Samples
) -> tuple[Combination, ...]:
    """Return the g - d sums of g parameters that moves along vectors, (g, d), in units, (g,), do not change."""
    g, d = vectors.shape
    if g == d:
        return ()
    pivots = _pivots(vectors)
    leading = np.array([i for i in range(g) if i not in pivots], dtype=np.int64)
    found = []
    for row, i in zip(-vectors[leading] @ np.linalg.inv(vectors[pivots]), leading.tolist(), strict=True):
        weights = np.zeros(g)
        # rounding is no part of a sum
        weights[i], weights[pivots] = 1.0, np.where(np.abs(row) > _ROUNDING, row, 0.0)
        weights *= unit[i] / unit
        parts = [(names[j], float(weights[j])) for j in (i, *pivots.tolist()) if weights[j] != 0.0]
        error = max(float(weights @ covariance @ weights), 0.0) ** 0.5
        found.append(Combination(tuple(parts), float(weights @ estimate), error))
    return tuple(found)


def _pivots(rows: Samples) -> NDArray[np.int64]:
    """Return (d,) independent rows of (g, d), the last that will do."""
    left, chosen = rows.copy(), list[int]()
    for _ in range(rows.shape[1]):
        size = np.linalg.norm(left, axis=1)
        size[chosen] = 0.0
        pick = int(np.flatnonzero(size >= _PIVOT * size.max())[-1])
        chosen.append(pick)
        axis = left[pick] / size[pick]
        left = left - np.outer(left @ axis, axis)
    return np.array(sorted(chosen), dtype=np.int64)
