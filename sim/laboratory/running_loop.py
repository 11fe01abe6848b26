"""The running twin of a hybrid loop: parts in motion, and the order of a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from sim.arrays import Samples
from sim.laboratory.integrators import Equations
from sim.laboratory.record import HybridInstability, LoopRecord

if TYPE_CHECKING:
    from sim.laboratory.loop import HybridLoop


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
        self._transfer = loop.transfer.begin(loop.period, self._shape, rng) if loop.transfer else _PerfectTransfer()
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


class _PerfectTransfer:
    """The specimen is where it is sent, at once."""

    def __init__(self) -> None:
        self.position: Samples = np.zeros(1)

    def step(self, command: Samples, force: Samples) -> Samples:  # noqa: ARG002
        self.position = command
        return command
