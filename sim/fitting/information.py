"""What observations tell of parameters: covariances of estimates, and which parameters they cannot tell apart.

Covariances are for white errors and for autocorrelated ones, as those of a real actuator are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.arrays import Flags, Integers, Samples

# a direction that a normal matrix of unit diagonal sees so many times less than the best seen is not seen at all
_WORST_CONDITION = 1e13
# a parameter has a part in such a direction if this share of it lies there; less is rounding
_SHARE = 1e-4
# with fewer degrees of freedom nothing is given
_FEWEST_DEGREES = 5.0
_BATCHES, _FEWEST_BATCHES = 32, 10
# how many times longer a batch is than the errors are correlated
_BATCH_LENGTH = 4.0
# parameters of a null direction: less of it is rounding; of a weak direction: less of it matters little
_ROUNDING, _SMALL = 1e-4, 0.2
# a parameter is the reference of the others in a sum unless another is so many times more in the direction
_PIVOT = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Information:
    """Information of the observations about the parameters, for m problems; covariances are unknown (NaN) at a bound.

    The scatter of an estimate at a bound is unknown, as the normal approximation does not hold there. The covariance
    of the others assumes that those at a bound are known.

    Parameters
    ----------
    inverse : (m, p, p), pseudo-inverse of the normal matrices over the coordinates that are not held.
    matrix : (p, p), parameters = matrix @ coordinates.
    at_bound : (m, p), which parameters a bound takes part in.
    unidentified : (m, p), which the observations do not determine: those with a part in a null direction.
    rank : (m,), p less the number of null directions.
    """

    inverse: Samples
    matrix: Samples
    at_bound: Flags
    unidentified: Flags
    rank: NDArray[np.int64]

    def covariance(self, variance: Samples) -> Samples:
        """Return (m, p, p) for white errors of these variances, (m,).

        Unidentified parameters have an infinite variance, and covariances that are not known.
        """
        return self._marked(self.matrix @ (self.inverse * variance[:, None, None]) @ self.matrix.T)

    def sandwich(self, scores: Samples) -> Samples:
        """Return the covariance, (m, p, p), of estimates whose scores J'e have these covariances, (m, p, p)."""
        return self._marked(self.matrix @ (self.inverse @ scores @ self.inverse) @ self.matrix.T)

    def _marked(self, covariance: Samples) -> Samples:
        unknown = self.at_bound | self.unidentified
        covariance[unknown[:, :, None] | unknown[:, None, :]] = np.nan
        np.einsum("mpp->mp", covariance)[self.unidentified & ~self.at_bound] = np.inf
        return covariance


def information(normal: Samples, held: Flags, matrix: Samples) -> Information:
    """Return what normal matrices J'J, (m, p, p), yield where some coordinates, (m, p), are held at bounds."""
    size = np.sqrt(np.einsum("mpp->mp", normal))
    size[size == 0.0] = 1.0
    scaled = normal / size[:, :, None] / size[:, None, :]
    beside = held[:, :, None] | held[:, None, :]
    scaled[beside] = 0.0
    np.einsum("mpp->mp", scaled)[held] = 1.0
    seen, direction = np.linalg.eigh(scaled)
    null = ~(seen * _WORST_CONDITION > seen[:, -1:])
    weight = np.where(null, 0.0, 1.0 / np.where(null, 1.0, seen))
    inverse = (direction * weight[:, None, :]) @ direction.swapaxes(1, 2)
    inverse[beside] = 0.0
    # each parameter as a direction among the scaled coordinates
    along = matrix / size[:, None, :]
    along /= np.linalg.norm(along, axis=2, keepdims=True)
    unidentified = ((np.abs(along @ direction) > _SHARE) & null[:, None, :]).any(axis=2)
    return Information(
        np.asarray(inverse / size[:, :, None] / size[:, None, :]),
        matrix,
        (held @ (matrix != 0.0).T).astype(bool),
        np.asarray(unidentified),
        normal.shape[1] - null.sum(axis=1),
    )


def correlated_covariance(
    info: Information, sensitivities: Samples, residual: Samples, white: Samples
) -> tuple[Samples, float]:
    """Return the covariance, (p, p), for errors that are autocorrelated, and its degrees of freedom.

    The middle factor, between the inverses of J'J, is J'GJ, with G the autocovariances of the residuals up to their
    first change of sign (Newey and West 1987, truncated at the first zero). The errors are assumed stationary, so
    that it holds for a motion that is one event, too. Where the standard errors of white errors are
    larger, or those from how the scores of consecutive batches scatter (batch means; errors that
    grow with the motion make them larger), these are taken, with the correlations left as they are.

    Parameters
    ----------
    info : of one problem.
    sensitivities : (n, p), by the coordinates.
    residual : (n,); NaN is returned where this is correlated over too much of its length.
    white : (p, p), the covariance for white errors.
    """
    n, rank = len(residual), int(info.rank[0])
    gamma = _autocovariance(residual)
    # number of independent errors with the same information about their mean
    effective = n * gamma[0] / (2.0 * gamma.sum() - gamma[0]) if gamma[0] > 0.0 else float(n)
    degrees = effective - rank
    if not degrees >= _FEWEST_DEGREES:
        return info.sandwich(np.full((1, *white.shape), np.nan))[0], float(degrees)
    # residuals are smaller than errors, by what was fitted
    stationary = info.sandwich(_stationary(sensitivities, gamma)[None] * (effective / degrees))[0]
    batches = _batch_scores(sensitivities, residual, int(effective / _BATCH_LENGTH))
    others = [white, info.sandwich(batches[None])[0]] if batches is not None else [white]
    own = np.diag(stationary)
    with np.errstate(invalid="ignore", divide="ignore"):
        larger = np.sqrt([np.fmax(np.diag(each) / own, 1.0) for each in others]).max(axis=0)
    # what is zero or infinite has no ratio
    larger[~np.isfinite(larger)] = 1.0
    return stationary * np.outer(larger, larger), float(degrees)


def _autocovariance(residual: Samples) -> Samples:
    """Return the autocovariances, (k,), from lag zero to before the first that is not positive."""
    n = len(residual)
    padded = 1 << (2 * n - 1).bit_length()
    products = np.fft.irfft(np.abs(np.fft.rfft(residual, padded)) ** 2, padded)[:n] / n
    positive = np.logical_and.accumulate(products > 0.0)
    return products[: max(int(positive.sum()), 1)]


def _stationary(sensitivities: Samples, gamma: Samples) -> Samples:
    """Return J'GJ, (p, p), with the Toeplitz matrix of these autocovariances, by Fourier transforms."""
    n = len(sensitivities)
    padded = 1 << (2 * n - 1).bit_length()
    circle = np.zeros(padded)
    circle[: len(gamma)] = gamma
    circle[padded - len(gamma) + 1 :] = gamma[:0:-1]
    # cut off, autocovariances can be those of no process: no frequency has less than no power
    power = np.maximum(np.fft.rfft(circle).real, 0.0)
    spread = np.fft.irfft(power[:, None] * np.fft.rfft(sensitivities, padded, axis=0), padded, axis=0)[:n]
    return np.asarray(sensitivities.T @ spread)


def _batch_scores(sensitivities: Samples, residual: Samples, most: int) -> Samples | None:
    """Return the products of the scores, (p, p), of consecutive batches; None where these are too few."""
    number = min(_BATCHES, most)
    if number < _FEWEST_BATCHES:
        return None
    edges = np.linspace(0, len(residual), number + 1).astype(np.int64)[:-1]
    scores = np.add.reduceat(sensitivities * residual[:, None], edges, axis=0)
    return np.asarray(scores.T @ scores * (number / (number - 1.0)))


def transformed_covariance(covariance: Samples, matrix: Samples) -> Samples:
    """Return the covariance, (p, p), of parameters = matrix @ coordinates; unknown, or infinite, where a part is."""
    variance, part = np.diag(covariance), matrix != 0.0
    known = np.isfinite(variance)
    found = matrix @ np.where(known[:, None] & known, covariance, 0.0) @ matrix.T
    unknown = (part & ~known).any(axis=1)
    found[unknown[:, None] | unknown] = np.nan
    infinite, missing = ((part & which).any(axis=1) for which in (np.isinf(variance), np.isnan(variance)))
    np.einsum("pp->p", found)[infinite & ~missing] = np.inf
    return np.asarray(found)


def transformed_normal(normal: Samples, matrix: Samples) -> Samples:
    """Return the normal matrix, (p, p), of parameters = matrix @ coordinates."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(inverse.T @ normal @ inverse)


def transformed_ranges(ranges: Samples, matrix: Samples) -> Samples:
    """Return the ranges, (p,), of parameters = matrix @ coordinates; infinite for a sum of several."""
    alone = (matrix != 0.0).sum(axis=1) == 1
    place = np.argmax(matrix != 0.0, axis=1)
    with np.errstate(invalid="ignore"):
        scaled = np.abs(matrix[np.arange(len(matrix)), place]) * ranges[place]
    return np.where(alone, scaled, np.inf)


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
    null = ~(seen * _WORST_CONDITION > seen[-1])
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
