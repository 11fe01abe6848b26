"""Parameters of a model that drift, followed sample by sample: a bank of cubature Kalman filters.

The parameters are a random walk, of their logarithms as a rule, beside the model's hidden states. Each filter of the
bank assumes another pace of the walk; their answers are averaged by how well they foretold the last seconds, so that
a quiet model is known precisely and a change is followed at once. The noise of the outputs is that of what they did
not foretell. The model is a specimen moved by its actuator: linear, or with Bouc and Wen's hysteresis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf
from typing import NamedTuple, Protocol

import numpy as np

from sim.arrays import Samples, check_not_negative, check_positive, require
from sim.laboratory.elements import BoucWenSpring

PACES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Standard deviations of the walks of the bank, of the parameter a root of a second."""
_PRIOR = 0.5
# s of samples by which the bank is weighed, and by which the noise is known
_WEIGHED, _NOISE = 1.0, 2.0
# a filter of the bank keeps this share at least, so that it is there when the model changes
_LEAST_SHARE = 1e-6
# standard deviation of a hidden state, of one, at the start, where samples are missing, and of its own walk, a root
# of a second: no law is exact
_AT_REST, _LOST, _INEXACT = 0.1, 0.3, 0.01
# s of samples that tell whether a parameter is determined, and the step by which the output's change is found
_TOLD, _STEP = 4.0, 0.05
# largest correlation of one innovation with the next
_LONGEST_MEMORY = 0.98
# of the noise of the outputs, that of a constant error, which each has
_OFFSET_PRIOR = 1.0


class TrackedModel(Protocol):
    """A model whose parameters are followed.

    Attributes
    ----------
    nominal : (p,), the parameters as they are assumed.
    hidden : number of hidden states, of the size of one.
    """

    @property
    def nominal(self) -> Samples:
        """(p,), the parameters as they are assumed."""

    @property
    def hidden(self) -> int:
        """Number of hidden states, of the size of one."""

    def parameters(self, walk: Samples) -> Samples:
        """Return the parameters, (..., p), after a walk, (..., p), from the nominal ones; 0.01 is about a percent."""

    def tells(self, hidden: Samples) -> Samples:
        """Return (p,) shares, 0 or 1: whether hidden states of this size, (h,), tell of each parameter at all."""

    def advance(self, parameters: Samples, hidden: Samples, before: Samples, now: Samples) -> tuple[Samples, Samples]:
        """Return hidden states, (..., h), and the output, (...), one sample later.

        Parameters
        ----------
        parameters : (..., p).
        before, now : (i,), the inputs of two consecutive samples.
        """


class Estimate(NamedTuple):
    """What is known after a sample.

    Parameters
    ----------
    parameters, sd : (p,), the parameters and their standard deviations.
    gained : (p,), the share of the prior's uncertainty that the last seconds of motion take, 0 to 1, whatever the
        filters believe: by the change of the output with each parameter, and the noise (Cramer and Rao's bound); 0
        where the hidden states have not been large enough to tell of it.
    alike : (p,), the largest correlation of a parameter's error with that of another, 0 to 1, by the same.
    predicted : the output that was expected before the sample.
    offset : of the output, constant.
    pace : of the walk, averaged over the bank, a root of a second.
    """

    parameters: Samples
    sd: Samples
    gained: Samples
    alike: Samples
    predicted: float
    offset: float
    pace: float


class ParameterFilter:
    """Parameters of one model, followed; `update` takes one sample.

    Parameters
    ----------
    model : whose parameters are followed.
    sample_rate : Hz.
    scale : of the output, its usual size: the first guess of its noise is a hundredth of that.
    """

    def __init__(self, model: TrackedModel, sample_rate: float, scale: float) -> None:
        check_positive("parameter filter", sample_rate=sample_rate, scale=scale)
        self.model, self._scale = model, scale
        p, h, bank = len(model.nominal), model.hidden, len(PACES)
        self._p, n = p, p + h + 1
        self._paces = np.array(PACES)
        self._mean, self._covariance = np.zeros((bank, n)), np.zeros((bank, n, n))
        dt = 1.0 / sample_rate
        # the last state is a constant error of the output, in scales
        start = np.r_[np.full(p, _PRIOR**2), np.full(h, _AT_REST**2), _OFFSET_PRIOR**2]
        self._covariance[:] = np.diag(start)
        self._walk = np.zeros((bank, n, n))
        self._walk[:, range(p), range(p)] = self._paces[:, None] ** 2 * dt
        self._walk[:, range(p, p + h), range(p, p + h)] = _INEXACT**2 * dt
        self._points = np.sqrt(n) * np.concatenate([np.eye(n), -np.eye(n)])
        self._weights = np.full(bank, 1.0 / bank)
        self._forget, self._forget_noise = np.exp(-dt / _WEIGHED), np.exp(-dt / _NOISE)
        self._noise = np.full(bank, 1e-4)
        self._probes, self._information = np.zeros((p + 1, h)), np.zeros((p + 1, p + 1))
        self._reach = np.zeros(h)
        self._forget_told = np.exp(-dt / _TOLD)
        self._common = np.zeros((bank, 2))
        self._last = np.zeros(bank)
        self._scores = np.zeros(bank)
        self._count = 0

    def update(self, before: Samples, now: Samples, output: float) -> Estimate:
        """Take the inputs of two consecutive samples, (i,) each, and the output [unit of scale] of the second."""
        p, observed = self._p, output / self._scale
        covariance = self._covariance + self._walk
        root = np.linalg.cholesky(covariance)
        points = self._mean[:, None, :] + self._points @ np.swapaxes(root, -1, -2)
        hidden, outputs = self.model.advance(self.model.parameters(points[..., :p]), points[..., p:-1], before, now)
        points[..., p:-1] = hidden
        outputs = outputs / self._scale + points[..., -1]
        mean, expected = points.mean(axis=1), outputs.mean(axis=1)
        away, off = points - mean[:, None], outputs - expected[:, None]
        n_points = points.shape[1]
        covariance = np.einsum("bsi,bsj->bij", away, away) / n_points
        cross = np.einsum("bsi,bs->bi", away, off) / n_points
        spread = np.mean(off * off, axis=1)
        innovation = observed - expected
        noise = self._coloured(innovation, spread)
        variance = spread + noise
        gain = cross / variance[:, None]
        self._mean = mean + gain * innovation[:, None]
        covariance -= gain[:, :, None] * cross[:, None, :]
        self._covariance = self._bounded(0.5 * (covariance + np.swapaxes(covariance, -1, -2)))
        self._weigh(innovation, spread + self._noise)
        self._inform(before, now, float(self._weights @ noise))
        return self._estimate(expected)

    def _inform(self, before: Samples, now: Samples, noise: float) -> None:
        """Add what this sample would tell of each parameter, and of a constant error, to that of the last ones."""
        p = self._p
        walk = self._weights @ self._mean[:, :p] + _STEP * np.eye(p + 1, p, -1)
        self._probes, outputs = self.model.advance(self.model.parameters(walk), self._probes, before, now)
        self._reach = np.maximum(self._forget_told * self._reach, np.abs(self._probes[0]))
        change = np.append((outputs[1:] - outputs[0]) / (_STEP * self._scale), 1.0)
        self._information = self._forget_told * self._information + np.outer(change, change) / noise

    def interrupt(self) -> None:
        """Forget the hidden states: samples are missing before the next one."""
        hidden = slice(self._p, self._p + self.model.hidden)
        self._covariance[:, hidden, :] = self._covariance[:, :, hidden] = 0.0
        at = np.arange(hidden.start, hidden.stop)
        self._covariance[:, at, at] = _LOST**2

    def _coloured(self, innovation: Samples, spread: Samples) -> Samples:
        """Return the variance of the output's noise that counts: more where one innovation is like the next."""
        self._count += 1
        share = max(1.0 - self._forget_noise, 1.0 / (self._count + 1.0))
        self._common += share * (np.stack([innovation**2, innovation * self._last], axis=1) - self._common)
        self._last = innovation
        self._noise = np.maximum(self._common[:, 0] - spread, 0.05 * self._common[:, 0]) + 1e-14
        memory = np.clip(self._common[:, 1] / (self._common[:, 0] + 1e-300), 0.0, _LONGEST_MEMORY)
        return np.asarray(self._noise * (1.0 + memory) / (1.0 - memory))

    def _bounded(self, covariance: Samples) -> Samples:
        """Return the covariance with no parameter less certain than at the start, and none known exactly."""
        deviations = np.sqrt(np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 1e-18))
        scale = np.ones_like(deviations)
        scale[:, : self._p] = np.minimum(1.0, _PRIOR / deviations[:, : self._p])
        covariance = covariance * scale[:, :, None] * scale[:, None, :]
        at = np.arange(covariance.shape[-1])
        covariance[:, at, at] += 1e-13
        return covariance

    def _weigh(self, innovation: Samples, variance: Samples) -> None:
        """Weigh the bank by the likelihood of the last innovations."""
        self._scores = self._forget * self._scores - 0.5 * (np.log(variance) + innovation**2 / variance)
        weights = np.exp(self._scores - self._scores.max())
        self._weights = np.maximum(weights / weights.sum(), _LEAST_SHARE)
        self._weights /= self._weights.sum()

    def _estimate(self, expected: Samples) -> Estimate:
        p, weights = self._p, self._weights
        mean = weights @ self._mean[:, :p]
        apart = self._mean[:, :p] - mean
        covariance = np.einsum(
            "b,bij->ij", weights, self._covariance[:, :p, :p] + apart[:, :, None] * apart[:, None, :]
        )
        sd = np.sqrt(np.diagonal(covariance))
        prior = np.append(np.full(p, _PRIOR), _OFFSET_PRIOR)
        told = np.linalg.inv(self._information + np.diag(prior**-2))[:p, :p]
        bound = np.sqrt(np.diagonal(told))
        alike = np.abs(told / np.outer(bound, bound))
        np.fill_diagonal(alike, 0.0)
        parameters = self.model.parameters(mean)
        return Estimate(
            parameters,
            0.5 * np.abs(self.model.parameters(mean + sd) - self.model.parameters(mean - sd)),
            (1.0 - bound / _PRIOR) * self.model.tells(self._reach),
            np.max(alike, axis=0, initial=0.0),
            float(weights @ expected) * self._scale,
            float(weights @ self._mean[:, -1]) * self._scale,
            float(weights @ self._paces),
        )


PARAMETERS = {"stiffness": "N/m", "damping": "N s/m", "yield_displacement": "m", "hardening": "1"}
"""Those that can be followed, and their units."""
# of z, from which the specimen yields enough to tell how
_YIELDS = 0.5
# yield displacements of a step: longer ones are taken in pieces
_PIECE = 0.25
_MOST_PIECES = 40


@dataclass(frozen=True)
class DrivenSpecimen:
    """f = a k x + (1 - a) k x_y z + c x', as `BoucWenSpring` has it, with a dashpot; a linear spring without yield.

    Parameters
    ----------
    stiffness : k, N/m; damping : c, N s/m; yield_displacement : x_y, m, infinite for a linear one; hardening : a.
    exponent : n of Bouc and Wen.
    followed : names of the parameters that are followed.

    Raises
    ------
    ValueError : a value is out of its range, or a parameter that is followed is zero, infinite or unknown.
    """

    stiffness: float
    damping: float = 0.0
    yield_displacement: float = inf
    hardening: float = 0.0
    exponent: float = 2.0
    followed: tuple[str, ...] = ("stiffness",)

    def __post_init__(self) -> None:
        check_positive("specimen", stiffness=self.stiffness)
        check_not_negative("specimen", damping=self.damping)
        require(bool(self.followed), "specimen followed", self.followed, f"some of {', '.join(PARAMETERS)}")
        for name in self.followed:
            require(name in PARAMETERS, "specimen followed", name, f"of {', '.join(PARAMETERS)}")
            value = getattr(self, name)
            largest = 1.0 if name == "hardening" else inf
            require(0.0 < value < largest, f"specimen {name}", value, "above 0, and finite, where it is followed")
        if self.hidden:
            _ = self._spring
        elif "hardening" in self.followed:
            raise ValueError("specimen hardening: a linear specimen has none: give its yield_displacement")

    @cached_property
    def _spring(self) -> BoucWenSpring:
        """Its hysteresis, that unloads along the initial stiffness."""
        return BoucWenSpring(self.stiffness, self.yield_displacement, self.hardening, self.exponent)

    @property
    def nominal(self) -> Samples:
        """(p,), the followed parameters as they are assumed."""
        return np.array([getattr(self, name) for name in self.followed])

    def parameters(self, walk: Samples) -> Samples:
        """Return the followed parameters, (..., p), after a walk of their logarithms; of the hardening's odds."""
        result = self.nominal * np.exp(walk)
        for i, name in enumerate(self.followed):
            if name == "hardening":
                odds = self.hardening / (1.0 - self.hardening) * np.exp(walk[..., i])
                result[..., i] = odds / (1.0 + odds)
        return np.asarray(result)

    @property
    def hidden(self) -> int:
        """One of a hysteretic specimen, z."""
        return 0 if isinf(self.yield_displacement) else 1

    def tells(self, hidden: Samples) -> Samples:
        """Return (p,), 0 for what a specimen that does not yield says nothing of, by the size of z, (hidden,)."""
        yields = bool(self.hidden) and hidden[0] > _YIELDS
        return np.array([float(yields or name in ("stiffness", "damping")) for name in self.followed])

    def advance(self, parameters: Samples, hidden: Samples, before: Samples, now: Samples) -> tuple[Samples, Samples]:
        """Return z, (..., hidden), and the force, (...), N, one sample later.

        Parameters
        ----------
        parameters : (..., p), those followed.
        before, now : (2,), displacement [m] and velocity [m/s].
        """
        values: dict[str, Samples | float] = {name: getattr(self, name) for name in PARAMETERS}
        values |= {name: parameters[..., i] for i, name in enumerate(self.followed)}
        k, x = values["stiffness"], now[0]
        viscous = np.asarray(values["damping"]) * now[1]
        if not self.hidden:
            return hidden, np.asarray(k * x + viscous)
        hardening, limit = values["hardening"], values["yield_displacement"]
        step = (now[0] - before[0]) / np.asarray(limit)
        pieces = min(max(1, int(np.ceil(np.max(np.abs(step)) / _PIECE))), _MOST_PIECES)
        z = hidden[..., 0]
        for _ in range(pieces):
            z = self._spring.slipped(z, step / pieces)
        return z[..., None], np.asarray(k * (hardening * x + (1.0 - hardening) * limit * z) + viscous)
