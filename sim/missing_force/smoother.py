"""The force that a model is missing as a Gaussian process: likelihood, smoothed force, states and band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Flags, Integers, Samples
from sim.laboratory.structure import Structure
from sim.missing_force.kalman_kernel import filter_forward, smooth_backward
from sim.missing_force.state_space import (
    QUANTITIES,
    Augmented,
    Matern,
    Modal,
    Physics,
    Sensor,
    augmented,
    intervals,
    loaded_steps,
    modal,
    noisy_steps,
    physics,
)

# standard deviation of the first displacement relative to the largest one observed: as good as unknown
_BROAD = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedForce:
    """Means and covariances given all samples.

    Parameters
    ----------
    time : (N,) s.
    means : (N, 2 n + 3 f): displacements, velocities, forces, and stretches and rates at the forces.
    covariances : (N, 2 n + 3 f, 2 n + 3 f), of them jointly at each instant.
    forces : f.
    log_likelihood : of the samples.
    """

    time: Samples
    means: Samples
    covariances: Samples
    forces: int
    log_likelihood: float

    @property
    def _dofs(self) -> int:
        return int(self.means.shape[1] - 3 * self.forces) // 2

    @property
    def displacement(self) -> Samples:
        """(N, n) m."""
        return self.means[:, : self._dofs]

    @property
    def velocity(self) -> Samples:
        """(N, n) m/s."""
        return self.means[:, self._dofs : 2 * self._dofs]

    @property
    def force(self) -> Samples:
        """(N, f) N, on the internal side of the equation: positive where it resists as a spring does."""
        return self.means[:, 2 * self._dofs : 2 * self._dofs + self.forces]

    @property
    def force_sd(self) -> Samples:
        """(N, f) N."""
        variances = np.einsum("kii->ki", self.covariances)[:, 2 * self._dofs : 2 * self._dofs + self.forces]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


@dataclass(frozen=True, eq=False)
class ForceProblem:
    """Samples of the motion of M x'' + C x' + K x + forces e = load, of which e(t) is not known.

    Parameters
    ----------
    structure : the linear model, of one draw.
    forces : (n, f): what one newton of each unknown force does at each dof; (1, -1) acts between two dofs.
    time : (N,) s, growing, equidistant or not: the grid on which load and samples are given and the force is wanted.
    load : (N, n) N, linear between the instants; zero by default. NaN: not known, and the motion after it begins as
        if nothing of what was before were known.
    sensors : (s,).
    observed : (N, s) m, m/s or m/s^2; NaN where there is no sample.
    initial_sd : (2 n,) m and m/s, of displacements and velocities before the first sample, about zero; by default so
        large that nothing is known. Where likelihoods of several structures are compared, it must be the same for
        all, as it is by default.
    ground : (N, n) m/s^2, what displacements are relative to; zero by default. A mass that is wrong has it, too.

    Raises
    ------
    ValueError : sizes do not fit, times do not grow, a sensor has no dof, no samples, or the load is known at none.
    """

    structure: Structure
    forces: ArrayLike
    time: Samples
    load: Samples | None
    sensors: Sequence[Sensor]
    observed: Samples
    initial_sd: ArrayLike | None = None
    ground: Samples | None = None
    physics: Physics = field(init=False)
    _modal: Modal = field(init=False)
    _grid: tuple[Samples, Integers] = field(init=False)
    _shift: Samples = field(init=False)
    _direct: Samples = field(init=False)
    # of the sampled instants alone, where these are few: their intervals, shifts and samples
    _sampled: tuple[tuple[Samples, Integers], Samples, Samples] = field(init=False)

    def __post_init__(self) -> None:
        n = self.structure.dofs
        time = np.asarray(self.time, dtype=np.float64)
        if time.ndim != 1 or len(time) < 2 or not np.all(np.diff(time) > 0.0):
            raise ValueError(f"missing force: times {time.shape}: give at least two that grow")
        observed = np.atleast_2d(np.asarray(self.observed, dtype=np.float64).T).T
        if not self.sensors:
            raise ValueError("missing force: no sensors: give at least one")
        if observed.shape != (len(time), len(self.sensors)):
            raise ValueError(
                f"missing force: samples {observed.shape} at {len(time)} instants of {len(self.sensors)} sensors: "
                "records must have one length, and a column each sensor"
            )
        if not np.any(np.isfinite(observed)):
            raise ValueError("missing force: no sensor has a finite sample")
        observed = np.where(np.isfinite(observed), observed, np.nan)
        load = np.zeros((len(time), n)) if self.load is None else np.asarray(self.load, dtype=np.float64)
        load = load[:, None] if load.ndim == 1 else load
        if load.shape != (len(time), n):
            raise ValueError(f"missing force: load {load.shape}: give {len(time)} instants of {n} dofs")
        if not np.any(np.isfinite(load).all(axis=1) & np.isfinite(observed).any(axis=1)):
            raise ValueError("missing force: the load is known at no instant with a sample")
        ground = np.zeros_like(load) if self.ground is None else self.ground
        model = physics(self.structure, np.asarray(self.forces, dtype=np.float64))
        for sensor in self.sensors:
            sensor.checked(n)
        spread = self.initial_sd
        if spread is None:
            rate = characteristic_rate(time, observed)
            spread = _BROAD * reach(time, self.sensors, observed) * np.repeat([1.0, rate], n)
        spread = np.asarray(spread, dtype=np.float64)
        if spread.shape != (2 * n,) or not (spread >= 0.0).all():
            raise ValueError(f"missing force: the first state ± {spread.shape}: give {2 * n} numbers, zero or more")
        dt, which = intervals(time)
        modes = modal(self.structure, model)
        _, first, second = loaded_steps(modes.physics.system, modes.physics.input, dt)
        shift = np.einsum("kij,kj->ki", first[which], load[:-1]) + np.einsum("kij,kj->ki", second[which], load[1:])
        # what a load adds that is not known is not known: those samples are left out
        accelerates = np.array([each.quantity == "acceleration" for each in self.sensors])
        direct = (model.acceleration[1][[each.dof - 1 for each in self.sensors]] * accelerates[:, None] @ load.T).T
        direct[:, ~accelerates] = 0.0
        # the kernels are compiled for one order of the memory
        observed = np.ascontiguousarray(observed - direct)
        for name, value in (
            ("time", time), ("load", load), ("observed", observed), ("initial_sd", spread), ("ground", ground),
            ("physics", model), ("_grid", (dt, which)), ("_shift", shift), ("_direct", direct), ("_modal", modes),
            ("_sampled", _sampled(modes.physics, time, (dt, which), shift, observed)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def n_forces(self) -> int:
        """Number of unknown forces."""
        return int(self.physics.unknown.shape[1])

    def between(self, first: int, last: int, without: Flags | bool = False) -> ForceProblem:
        """Return the problem of the instants from first to before last, of whose first state nothing is known.

        Parameters
        ----------
        without : samples that are left out.
        """
        part = slice(first, last)
        samples = np.where(without, np.nan, self.observed[part] + self._direct[part])
        load = np.asarray(self.load)[part]
        ground = np.asarray(self.ground)[part]
        return ForceProblem(self.structure, self.forces, self.time[part], load, self.sensors, samples, ground=ground)

    def log_likelihood(self, priors: Sequence[Matern], sigma: Samples) -> float:
        """Return the log likelihood of the samples; -inf where it is not finite.

        Parameters
        ----------
        priors : one for each force.
        sigma : (s,), standard deviations of the sensors' noise.
        """
        return self._filtered(priors, sigma, keep=False)[0]

    def smooth(self, priors: Sequence[Matern], sigma: Samples) -> SmoothedForce:
        """Return forces and states at all instants given all samples."""
        total, means, covariances, places, system, steps, rows, variance = self._filtered(priors, sigma, keep=True)
        n, f, modes = self.structure.dofs, self.n_forces, self._modal
        directions = np.asarray(self.forces, dtype=np.float64).T
        outputs = np.zeros((2 * n + 3 * f, len(system.system)))
        outputs[range(2 * n, 2 * n + f), system.force_rows] = 1.0
        for derivative in (0, 1):
            outputs[n * derivative : n * (derivative + 1), : 2 * n] = modes.rows(np.eye(n), derivative)
            first = 2 * n + f * (1 + derivative)
            outputs[first : first + f, : 2 * n] = modes.rows(directions, derivative)
        smoothed = np.empty((len(self.time), len(outputs)))
        joint = np.empty((len(self.time), len(outputs), len(outputs)))
        smooth_backward(
            *steps, rows, variance, self.observed, means, covariances, places, outputs, smoothed, joint,
        )  # fmt: skip
        return SmoothedForce(self.time, smoothed, joint, self.n_forces, total)

    def _filtered(
        self, priors: Sequence[Matern], sigma: Samples, *, keep: bool
    ) -> tuple[
        float, Samples, Samples, Integers, Augmented, tuple[Samples, Samples, Integers, Samples], Samples, Samples
    ]:
        modes = self._modal
        system = augmented(modes.physics, priors)
        if not np.all(np.asarray(sigma) > 0.0):
            raise ValueError(f"missing force: noise {sigma}: standard deviations must be positive")
        (dt, which), known_shift, observed = (self._grid, self._shift, self.observed) if keep else self._sampled
        d, states = len(system.system), len(self.physics.system)
        variance = np.square(np.broadcast_to(np.asarray(sigma, dtype=np.float64), len(self.sensors)))
        transition, noise = noisy_steps(system.system, system.intensity, dt)
        # a model so unstable that one step overflows, as searches may try
        overflown = not (np.isfinite(transition).all() and np.isfinite(noise).all())
        shift = np.zeros((len(which), d))
        shift[:, :states] = known_shift
        mean, covariance = np.zeros(d), np.zeros((d, d))
        root = modes.state(np.diag(np.asarray(self.initial_sd)))
        covariance[:states, :states] = root @ root.T
        covariance[states:, states:] = system.force_covariance
        unknown = np.isnan(shift).any(axis=1)
        if unknown.any():
            # one more step, after which nothing of what was is known
            shift[unknown] = mean
            which = np.where(unknown, len(dt), which)
            transition, noise = (
                np.concatenate([transition, np.zeros((1, d, d))]),
                np.concatenate([noise, covariance[None]]),
            )
        rows = _rows(self.sensors, modes, system)
        means, places = np.empty((len(observed), d)), np.empty(len(observed), dtype=np.int64)
        # memory of rows that are not filled is not used
        covariances = np.empty((len(observed) if keep else 2, d, d))
        total = filter_forward(
            transition, noise, which, shift, rows, variance, observed, mean, covariance, means, covariances, places
        )  # fmt: skip
        total = total if np.isfinite(total) and not overflown else -np.inf
        return total, means, covariances, places, system, (transition, noise, which, shift), rows, variance


def _sampled(
    model: Physics, time: Samples, grid: tuple[Samples, Integers], shift: Samples, observed: Samples
) -> tuple[tuple[Samples, Integers], Samples, Samples]:
    """Return intervals, shifts and samples of the instants that a likelihood needs: the first and those sampled."""
    needed = np.asarray(np.isfinite(observed).any(axis=1))
    needed[0] = True
    at = np.flatnonzero(needed)
    # after a load that is not known the grid is that of the smoother
    if 2 * len(at) > len(time) or len(at) < 2 or not np.all(np.isfinite(shift)):
        return grid, shift, observed
    transition = loaded_steps(model.system, model.input, grid[0])[0]
    shifts, total = [], np.zeros(len(model.system))
    for k, step in enumerate(grid[1][: at[-1]].tolist()):
        total = transition[step] @ total + shift[k]
        if needed[k + 1]:
            shifts.append(total)
            total = np.zeros(len(model.system))
    return intervals(time[at]), np.array(shifts), observed[at]


def _rows(sensors: Sequence[Sensor], modes: Modal, system: Augmented) -> Samples:
    """Return (s, d): what each sensor sees of the state."""
    n = len(modes.shapes)
    by_state, _, by_force = modes.physics.acceleration
    rows = np.zeros((len(sensors), len(system.system)))
    for row, sensor in zip(rows, sensors, strict=True):
        direction = np.eye(n)[sensor.dof - 1 : sensor.dof]
        if sensor.quantity == "acceleration":
            shape = modes.rows(direction, 0)[0, :n]
            row[: 2 * n], row[system.force_rows] = shape @ by_state, shape @ by_force
        else:
            row[: 2 * n] = modes.rows(direction, QUANTITIES.index(sensor.quantity))[0]
    return rows


def characteristic_rate(time: Samples, observed: Samples) -> float:
    """Return the rate at which a record varies, rad/s: its rms over that of its integral, the median of the columns.

    Noise hardly changes it, unlike the slope.
    """
    rates = []
    for column in observed.T:
        known = np.isfinite(column)
        if known.sum() > 2 and np.ptp(column[known]) > 0.0:
            t, y = time[known], column[known] - column[known].mean()
            integral = np.concatenate([[0.0], np.cumsum(0.5 * (y[1:] + y[:-1]) * np.diff(t))])
            integral -= np.polyval(np.polyfit(t, integral, 1), t)
            rates.append(float(np.sqrt(np.mean(y**2) / np.mean(integral**2))))
    return float(np.median(rates)) if rates else float(2.0 * np.pi / (time[-1] - time[0]))


def reach(time: Samples, sensors: Sequence[Sensor], observed: Samples) -> float:
    """Return the largest displacement that a record suggests, m, whatever its sensors measure; 1 where it is zero."""
    rate = characteristic_rate(time, observed)
    largest = np.max(np.abs(observed), axis=0, initial=0.0, where=np.isfinite(observed))
    found = [float(each) / rate ** QUANTITIES.index(by.quantity) for each, by in zip(largest, sensors, strict=True)]
    return max(found) or 1.0
