"""The loop of a hybrid test: structure, specimen, transfer system, compensator, for any number of tests at once.

`HybridLoop` is the description, `LoopRecord` what a test leaves; the running twin at the end has the order of a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import pi

import numpy as np
from numpy.typing import ArrayLike

from sim.arrays import Samples, check_positive, require
from sim.excitation import Excitation, Loading, SeparateExcitations
from sim.laboratory.integrators import Equations, ExplicitNewmark, Integrator
from sim.laboratory.parts import Compensation, Element, Shape, TransferSystem
from sim.laboratory.structure import Structure, assembled, highest_frequency, product
from sim.laboratory.transfer import TransferChain

CHUNK = 512


class HybridInstability(ArithmeticError):  # noqa: N818 - the field's word for it
    """The command of `actuator` left the stroke [m] of the rig at `time` [s]."""

    def __init__(self, time: float, stroke: float, actuator: int = 0) -> None:
        super().__init__(time, stroke, actuator)
        self.time, self.stroke, self.actuator = time, stroke, actuator

    def __str__(self) -> str:
        where = f"command {self.actuator} beyond the stroke of {self.stroke} m at {self.time:.3f} s"
        return f"{where}: the loop is unstable or the load too strong, reduce the delay or the load"


@dataclass(frozen=True, eq=False)
class LoopRecord:
    """What was recorded, a row for every target of the integrator; NaN after a test has left its stroke.

    Parameters
    ----------
    time : (n,) s.
    command, sent, measured, position : (n, ..., actuators) m: the command, the same after the compensator, the
        measured signal, and where the specimen is.
    force : (n, ..., actuators) N, of the specimen.
    displacement, velocity : (n, ..., dofs) of the structure, m and m/s.
    load, spring_force : (n, ..., dofs) N: what drives the structure, and what its nonlinear springs answer.
    """

    time: Samples
    command: Samples
    sent: Samples
    measured: Samples
    position: Samples
    force: Samples
    displacement: Samples
    velocity: Samples
    load: Samples
    spring_force: Samples

    @property
    def diverged_at(self) -> Samples:
        """(...): s at which each test left its stroke, NaN where it did not."""
        lost = np.isnan(self.command[..., 0])
        return np.where(lost.any(axis=0), self.time[np.argmax(lost, axis=0)], np.nan)


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridLoop:
    """Everything that decides a hybrid test, or many at once.

    Parameters
    ----------
    structure : the numerical substructure, n degrees of freedom.
    specimen : the experimental substructure, elementwise over the actuators (`SeparateElements`: one for each).
    excitation : one for all tests, a tuple of one for each draw of the last axis of `draws`, `SeparateExcitations` of
        the degrees of freedom, or the forces (steps, ..., n) [N] at every time step.
    dt : time step of the integrator, s.
    duration : s.
    transfer : transfer system; None for a perfect one.
    integrator : how the equations are stepped.
    compensator : settings of a compensator, anything with `begin(dt, shape)`; None for none.
    coupling : T, (actuators, n): displacements of the actuators per displacement of the structure; forces return by
        its transpose. None: an actuator at every degree of freedom.
    draws : leading axes of all arrays, independent tests; () for one.
    substeps : actuator steps between two targets; their commands lie on a straight line.
    pace : seconds in the laboratory per second of the equations: 1 is real time, more is pseudodynamic.
    sample_loss : probability that a measured sample does not reach the compensator; may be an array of the draws.
    stroke : m, the command at which a test ends; the default is beyond any rig and stops a test that diverges.
    seed : of sensor noise and sample loss.

    Raises
    ------
    ValueError : a part of another kind, a value out of its range, sizes that do not fit, a delay longer than the run
        (where the transfer system has a `longest_delay` [s]), or a time step over the integrator's limit.
    """

    structure: Structure
    specimen: Element
    excitation: Excitation | tuple[Excitation, ...] | SeparateExcitations | Samples
    dt: float
    duration: float
    transfer: TransferSystem | None = None
    integrator: Integrator = ExplicitNewmark()  # noqa: RUF009 - frozen
    compensator: Compensation | None = None
    coupling: ArrayLike | None = None
    draws: Shape = ()
    substeps: int = 1
    pace: float = 1.0
    sample_loss: float | Samples = 0.0
    stroke: float = 1e3
    seed: int = 1

    def __post_init__(self) -> None:
        self._check_parts()
        check_positive("loop", dt=self.dt, duration=self.duration, pace=self.pace)
        require(self.n_steps > 0, "loop duration", self.duration, f"a time step of {self.dt} s or more")
        require(self.substeps >= 1, "loop substeps", self.substeps, "1 or more")
        require(self.stroke > 0.0, "loop stroke", self.stroke, "positive")
        loss = np.asarray(self.sample_loss, dtype=np.float64)
        right = (loss >= 0.0) & (loss < 1.0)
        require(bool(np.all(right)), "loop sample_loss", float(loss.flat[np.argmin(right)]), "from 0 to less than 1")
        n = self.structure.dofs
        matrix = np.eye(n) if self.coupling is None else np.asarray(self.coupling, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != n or not np.all(np.isfinite(matrix)):
            raise ValueError(f"loop coupling of shape {matrix.shape}: give (actuators, {n}) finite numbers")
        object.__setattr__(self, "coupling", matrix)
        self._check_excitation()
        self._check_draws()
        delay, lasts = getattr(self.transfer, "longest_delay", 0.0), self.n_steps * self.dt * self.pace
        require(delay < lasts, "transfer delay", delay, f"shorter than the run, {lasts:g} s in the laboratory")
        highest = 2.0 * pi * highest_frequency(np.asarray(self.structure.mass), self.tangent())
        if highest * self.dt > self.integrator.limit * (1.0 + 1e-12):
            raise ValueError(
                f"loop dt {self.dt:g} s: must be at most {self.integrator.limit / highest:.4g} s, the limit of "
                f"{type(self.integrator).__name__} for the highest frequency of {highest / (2.0 * pi):.4g} Hz"
            )

    @property
    def n_steps(self) -> int:
        """Number of time steps."""
        return round(self.duration / self.dt)

    @property
    def n_actuators(self) -> int:
        """Number of actuators."""
        return int(np.asarray(self.coupling).shape[0])

    @property
    def period(self) -> float:
        """Time between two steps of the actuators in the laboratory, s."""
        return self.dt * self.pace / (self.integrator.stages * self.substeps)

    def tangent(self) -> Samples:
        """Return (..., n, n): K with springs and specimens at their largest stiffness, N/m."""
        return self.structure.tangent() + assembled(self.specimen.stiffness, np.asarray(self.coupling))

    def run(self) -> LoopRecord:
        """Run the test; raises HybridInstability where one test alone leaves its stroke."""
        chunks = list(self.chunks())
        columns = {f.name: np.concatenate([getattr(chunk, f.name) for chunk in chunks]) for f in fields(LoopRecord)}
        return LoopRecord(**columns)

    def chunks(self, length: int = CHUNK) -> Iterator[LoopRecord]:
        """Give the record of `length` targets at a time; raises as `run` does."""
        yield from RunningLoop(self).chunks(length)

    def loads(self, first: int, stop: int) -> Samples:
        """Return (stop - first, ..., n): the loads [N] at targets by number."""
        numbers = np.arange(first, stop) / self.integrator.stages
        shape = (len(numbers), *self.draws, self.structure.dofs)
        if isinstance(self.excitation, np.ndarray):
            forces = _interpolated(self.excitation, numbers)
        elif isinstance(self.excitation, SeparateExcitations):
            values, pattern = self.excitation.sample(numbers * self.dt), self.load_pattern(self.excitation)
            forces = values.reshape(len(numbers), *(1,) * (pattern.ndim - 1), -1) * pattern
        else:
            several = self.excitation if isinstance(self.excitation, tuple) else (self.excitation,)
            values = np.stack([excitation.sample(numbers * self.dt) for excitation in several], axis=-1)
            forces = values.reshape(len(numbers), *(1,) * (len(self.draws) - 1), -1, 1) * self.load_pattern(
                several[0]
            )
        if forces.ndim > len(shape):
            forces = forces[:, 0]
        forces = forces.reshape(len(numbers), *(1,) * (len(shape) - forces.ndim), *forces.shape[1:])
        if not np.all(np.isfinite(forces)):
            wrong = int(np.argmin(np.isfinite(forces).reshape(len(forces), -1).all(axis=1)))
            time = numbers[wrong] * self.dt
            raise ValueError(f"load at {time:.6g} s is not a finite number: correct the excitation")
        return np.broadcast_to(forces, shape)

    def load_pattern(self, excitation: Excitation | SeparateExcitations) -> Samples:
        """Return (..., n): the load per value of an excitation."""
        influence = np.asarray(self.structure.influence)
        if excitation.loading is Loading.FORCE:
            return influence
        return -product(np.asarray(self.structure.mass), influence)

    def _check_parts(self) -> None:
        if not isinstance(self.structure, Structure):
            raise ValueError(f"loop structure is {_kind(self.structure)}: give a Structure")  # noqa: TRY004
        wanted = {
            "specimen": "an element such as LinearSpring(5e4)",
            "transfer": "a transfer system such as TransferChain((Delay(0.01),)), or None",
            "integrator": "an integrator such as ChenRicles()",
            "compensator": "settings such as by_name('fdb', nominal) of monitor.compensation.methods, or None",
        }
        for name, example in wanted.items():
            part = getattr(self, name)
            absent = part is None and name in ("transfer", "compensator")
            if not absent and (isinstance(part, type) or not callable(getattr(part, "begin", None))):
                raise ValueError(f"loop {name} is {_kind(part)}: give {example}")

    def _check_draws(self) -> None:
        parts = [("specimen", np.shape(self.specimen.stiffness), (*self.draws, self.n_actuators))]
        parts += [("structure", matrix.shape[:-2], self.draws) for matrix in self.structure.matrices]
        for springs in self.structure.springs:
            parts.append(("springs", np.shape(springs.element.stiffness), (*self.draws, len(springs.between))))
        for name, given, wanted in parts:
            try:
                right = np.broadcast_shapes(given, wanted) == wanted
            except ValueError:
                right = False
            if not right:
                raise ValueError(f"{name} of shape {given} in a loop of {wanted}: they must broadcast to it")

    def _check_excitation(self) -> None:
        n = self.structure.dofs
        if isinstance(self.excitation, SeparateExcitations):
            if len(self.excitation.excitations) != n:
                raise ValueError(
                    f"{len(self.excitation.excitations)} separate excitations for {n} degrees of freedom"
                )
            return
        for each in self.excitation if isinstance(self.excitation, tuple) else (self.excitation,):
            if isinstance(each, Excitation) or (each is self.excitation and isinstance(each, np.ndarray)):
                continue
            if hasattr(each, "acceleration") and hasattr(each, "sample_rate"):
                wanted = "Recorded(acceleration=motion.acceleration, sample_rate=motion.sample_rate)"
            else:
                wanted = "an excitation such as Harmonic(...), a tuple of them, or an array of forces"
            raise ValueError(f"loop excitation is {_kind(each)}: give {wanted}")
        if isinstance(self.excitation, tuple):
            n_draws = self.draws[-1] if self.draws else 1
            if len(self.excitation) != n_draws:
                raise ValueError(f"{len(self.excitation)} excitations for {n_draws} draws: give one for each")
            if len({excitation.loading for excitation in self.excitation}) > 1:
                raise ValueError("excitations of ground and force in one loop: give an array of forces")
        elif isinstance(self.excitation, np.ndarray):
            given, wanted_shape = self.excitation.shape, (self.n_steps, *self.draws, n)
            if given[0] < self.n_steps or len(given) < 2 or given[-1] != n or len(given) > len(wanted_shape):
                raise ValueError(f"excitation of shape {given}: give forces of {wanted_shape}, one row a time step")


def _kind(value: object) -> str:
    """Return what a value is, for a message: "the class KolayRicles", "a float"."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def _interpolated(forces: Samples, numbers: Samples) -> Samples:
    """Return forces between rows, on straight lines."""
    last = len(forces) - 1
    low = np.minimum(numbers.astype(np.int64), last)
    part = (numbers - low).reshape(-1, *(1,) * (forces.ndim - 1))
    if not np.any(part):
        return np.asarray(forces[low])
    return np.asarray((1.0 - part) * forces[low] + part * forces[np.minimum(low + 1, last)])


class RunningLoop:
    """A loop in motion, with its parts."""

    def __init__(self, loop: HybridLoop) -> None:
        self._loop = loop
        self._shape = (*loop.draws, loop.n_actuators)
        self._integrator = loop.integrator.begin(
            Equations(*loop.structure.matrices, loop.tangent(), loop.dt), loop.loads(0, 1)[0]
        )
        dofs = (*loop.draws, loop.structure.dofs)
        rng = np.random.default_rng(loop.seed)
        self._transfer = (loop.transfer or TransferChain()).begin(loop.period, self._shape, rng)
        if not hasattr(self._transfer, "position"):
            name = type(loop.transfer).__name__
            raise ValueError(f"loop transfer is one part, {name}: give TransferChain(({name}(...),))")
        self._compensator = loop.compensator.begin(loop.period, self._shape) if loop.compensator else None
        self._specimen = loop.specimen.begin(loop.period, self._shape)
        self._coupling = _unless_identity(np.asarray(loop.coupling))
        step = loop.dt / loop.integrator.stages
        self._springs = [
            (_unless_identity(rows), springs.element.begin(step, (*loop.draws, len(rows))))
            for springs in loop.structure.springs
            for rows in (springs.incidence(loop.structure.dofs),)
        ]
        self._no_springs = np.zeros(dofs)
        self._loses = bool(np.any(loop.sample_loss))
        self._losses = np.random.default_rng((loop.seed, 1))
        self._ramp = [(i + 1) / loop.substeps for i in range(loop.substeps)]
        self._rate = 0.5 / loop.period
        self._command = self._last = self._before = self._force = np.zeros(self._shape)
        self._sent = self._measured = self._force

    def chunks(self, length: int) -> Iterator[LoopRecord]:
        """Give the record of `length` targets at a time; raises where one test alone leaves its stroke."""
        loop = self._loop
        total = loop.n_steps * loop.integrator.stages
        diverged = np.zeros(loop.draws, dtype=np.bool_)
        for first in range(0, total, length):
            stop = min(first + length, total)
            record = self._blank(first, stop)
            if not np.all(diverged):
                # a test that diverges does so alone, to infinities and NaN
                with np.errstate(over="ignore", invalid="ignore"):
                    self._fill(record)
            outside = ~(np.abs(record.command) < loop.stroke) | diverged[..., None]
            if np.any(outside):
                lost = np.logical_or.accumulate(np.any(outside, axis=-1), axis=0)
                if not loop.draws:
                    row = int(np.argmax(lost))
                    yield LoopRecord(**{f.name: getattr(record, f.name)[:row] for f in fields(LoopRecord)})
                    raise HybridInstability(record.time[row], loop.stroke, int(np.argmax(outside[row])))
                diverged = lost[-1]
                for f in fields(LoopRecord)[1:]:
                    getattr(record, f.name)[lost] = np.nan
            yield record

    def _blank(self, first: int, stop: int) -> LoopRecord:
        loop, n = self._loop, stop - first
        step = loop.dt / loop.integrator.stages
        command, sent, measured, position, force = np.full((5, n, *self._shape), np.nan)
        displacement, velocity = np.full((2, n, *self._no_springs.shape), np.nan)
        return LoopRecord(
            time=np.arange(first, stop, dtype=np.float64) * step,
            command=command,
            sent=sent,
            measured=measured,
            position=position,
            force=force,
            displacement=displacement,
            velocity=velocity,
            load=loop.loads(first, stop).copy(),
            spring_force=np.zeros(displacement.shape),
        )

    def _fill(self, record: LoopRecord) -> None:
        """Step the loop once for every row of a record."""
        integrator = self._integrator
        for i, load in enumerate(record.load):
            displacement, velocity = integrator.displacement, integrator.velocity
            record.displacement[i] = displacement
            record.velocity[i] = velocity
            target = displacement.copy() if self._coupling is None else displacement @ self._coupling.T
            if len(self._ramp) == 1:
                self._actuate(target)
            else:
                start = self._command
                for part in self._ramp:
                    self._actuate(start + part * (target - start))
            record.command[i] = target
            record.sent[i] = self._sent
            record.measured[i] = self._measured
            record.position[i] = self._last
            record.force[i] = self._force
            restoring = self._force if self._coupling is None else self._force @ self._coupling
            if self._springs:
                spring_force = self._spring_force(displacement, velocity)
                record.spring_force[i] = spring_force
                restoring = restoring + spring_force
            integrator.advance(load, restoring)

    def _actuate(self, command: Samples) -> None:
        """Step the actuators and what they carry."""
        compensator = self._compensator
        self._command = command
        self._sent = command if compensator is None else compensator.compensate(command)
        self._measured = self._transfer.step(self._sent, self._force)
        position = self._transfer.position
        # second order like the integration: a two-point velocity would spoil it
        velocity = self._rate * (3.0 * position - 4.0 * self._last + self._before)
        self._force = self._specimen.force(position, velocity)
        self._before, self._last = self._last, position.copy()
        if compensator is not None:
            seen = self._measured
            if self._loses:
                seen = np.where(self._losses.random(self._shape) < self._loop.sample_loss, np.nan, seen)
            compensator.observe(command, seen)

    def _spring_force(self, displacement: Samples, velocity: Samples) -> Samples:
        total = self._no_springs
        for rows, element in self._springs:
            if rows is None:
                total = total + element.force(displacement, velocity)
            else:
                total = total + element.force(displacement @ rows.T, velocity @ rows.T) @ rows
        return total


def _unless_identity(matrix: Samples) -> Samples | None:
    """Return None for an identity: a product with it would only take time."""
    return None if np.array_equal(matrix, np.eye(len(matrix))) else matrix
