"""The parameters of a specimen, followed from a live stream of signals, and sent on as a rig of their own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, ValidationError, model_validator

from monitor.config.section import NotNegative, Positive, Section, SettingsError, problem_lines, setting
from monitor.messages.blocks import Channel, Pair, Role, Samples, SignalBlock, Stream
from replay.identification.force_model import channel_factor, read_document
from sim.fitting.parameter_filter import PARAMETERS, DrivenSpecimen, Estimate, ParameterFilter

Followed = Literal["stiffness", "damping", "yield_displacement", "hardening"]


class SpecimenModel(Section):
    """What the table ``[specimen]`` has; SI units."""

    actuator: str = setting("", "Actuator", "Whose measured displacement moves the specimen.", empty="the only one")
    stiffness: Positive = setting(..., "Stiffness", "Initial stiffness.", unit="N/m")
    damping: NotNegative = setting(0.0, "Damping", "Viscous damping.", unit="N s/m")
    yield_displacement: Positive | None = setting(
        None, "Yield displacement", "Where it yields.", unit="m", empty="linear"
    )
    hardening: Annotated[float, Field(ge=0.0, le=1.0)] = setting(
        0.0, "Hardening", "Stiffness far after yielding over the initial one."
    )
    exponent: Annotated[float, Field(ge=1.0, le=100.0)] = setting(2.0, "Exponent", "Sharpness of the yield point.")
    follow: tuple[Followed, ...] = setting(
        ("stiffness",), "Followed", "Parameters that may drift.", min_length=1, max_length=4
    )

    @model_validator(mode="after")
    def _fits(self) -> SpecimenModel:
        if len(set(self.follow)) < len(self.follow):
            raise ValueError("follow: a parameter appears twice: give each once")
        self.law()
        return self

    def law(self) -> DrivenSpecimen:
        """Return the specimen as it is assumed."""
        limit = math.inf if self.yield_displacement is None else self.yield_displacement
        return DrivenSpecimen(self.stiffness, self.damping, limit, self.hardening, self.exponent, self.follow)


def read_specimen_model(path: Path) -> SpecimenModel:
    """Return the specimen in a TOML file.

    Raises
    ------
    SettingsError : it cannot be read, or does not fit; one line that names every key.
    """
    table = read_document(path).get("specimen")
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: has no table [specimen]: add it, with stiffness in N/m and follow")
    try:
        return SpecimenModel.model_validate(table)
    except ValidationError as problem:
        raise SettingsError(*problem_lines(problem, SpecimenModel), where=f"{path}: specimen: ") from None


# s of samples that a displacement and a velocity are averaged over, half of them, and samples, at least: noise that
# turns a motion back and forth dissipates energy in a hysteretic law
_HALF_SPAN, _FEWEST = 0.012, 2
# Hz, at most, at which the filter is run
_HIGHEST_RATE = 1000.0
# s of samples from which the force's usual size is known
_FIRST = 0.5
# m, farther than any specimen moves; and of the force's usual size: a sample beyond is a faulty sensor's
_FARTHEST, _LARGEST = 100.0, 1e6
# of the prior's uncertainty: less is not gained from the motion
DETERMINED = 0.5
# correlation of two errors from which two parameters are known together only
TOGETHER = 0.99


class Told(NamedTuple):
    """What is known at an instant, ``time`` in s of the rig."""

    time: float
    estimate: Estimate


class SpecimenFollower:
    """Follow the parameters of one actuator's specimen; `advance` takes a block of its stream.

    Parameters
    ----------
    model : of the specimen, as it is assumed.
    stream : that it is in.

    Raises
    ------
    ValueError : there is no such actuator, or it has no force, or a unit is not one of displacement or force.

    Attributes
    ----------
    channels : of what is sent on: the force by the nominal and by the followed model, each as the command of an
        actuator whose measured signal is the measured force, and the parameters.
    sample_rate : Hz, of what is sent on: that of the stream, or a whole fraction of it.
    newest : what is known now; None before the force's size is.
    """

    def __init__(self, model: SpecimenModel, stream: Stream) -> None:
        self.model, self.law = model, model.law()
        self._pair = _pair(model.actuator, stream)
        assert self._pair.force is not None
        measured, force = stream.channels[self._pair.measured], stream.channels[self._pair.force]
        self._length = channel_factor(measured.unit, "displacement", f"channel {measured.name}")
        self._force = channel_factor(force.unit, "force", f"channel {force.name}")
        self._stride = max(1, math.ceil(stream.sample_rate / _HIGHEST_RATE))
        self._given_rate, self.sample_rate = stream.sample_rate, stream.sample_rate / self._stride
        self._half = max(_FEWEST, round(_HALF_SPAN * stream.sample_rate))
        self._value_weights, self._rate_weights = _smoothing(self._half, stream.sample_rate)
        self.channels = tuple(self._channels())
        self.newest: Told | None = None
        self._filter: ParameterFilter | None = None
        self._first: list[tuple[Samples, Samples, float]] = []
        # N beyond the nominal model's force, and its usual size
        self._preload = self._size = 0.0
        self._excess: list[float] = []
        self._tail: Samples = np.empty((0, 2))
        self._before: Samples | None = None
        self._next = -1
        self._hidden = np.zeros(self.law.hidden)

    def _channels(self) -> list[Channel]:
        found = []
        for name in ("nominal", "followed"):
            found += [Channel(f"{name}.{role.value}", role, "N", name) for role in (Role.COMMAND, Role.MEASURED)]
        for name in self.law.followed:
            unit = PARAMETERS[name]
            found += [
                Channel(name, Role.AUXILIARY, unit),
                Channel(f"{name}_sd", Role.AUXILIARY, unit),
                Channel(f"{name}_gained", Role.AUXILIARY, "1"),
            ]
        return found

    def advance(self, block: SignalBlock) -> tuple[int, Samples]:
        """Return the number, at `sample_rate`, of the first sample that is known now, and (n, channels), maybe none.

        They are half of the smoothing's span behind the newest sample; NaN where a sample is missing beside them.
        """
        if block.index != self._next:
            self._tail = np.empty((0, 2))
            self._lose()
        self._next = block.index + len(block)
        columns = np.array([self._pair.measured, self._pair.force])
        samples = np.concatenate([self._tail, block.samples[:, columns] * [self._length, self._force]])
        first = self._next - len(samples) + self._half
        # the first whose number the stride divides
        skipped = -first % self._stride
        self._tail = samples[max(0, len(samples) - 2 * self._half) :]
        if len(samples) <= 2 * self._half + skipped:
            return (first + skipped) // self._stride, np.empty((0, len(self.channels)))
        spans = np.lib.stride_tricks.sliding_window_view(samples, 2 * self._half + 1, axis=0)[skipped :: self._stride]
        smooth = np.column_stack([spans[:, 0] @ self._value_weights, spans[:, 0] @ self._rate_weights])
        force = spans[:, 1] @ self._value_weights
        rows = np.full((len(smooth), len(self.channels)), np.nan)
        for i, (now, output) in enumerate(zip(smooth, force.tolist(), strict=True)):
            number = first + skipped + i * self._stride
            self._sample(now, output, block.time + (number - block.index) / self._given_rate, rows[i])
        return (first + skipped) // self._stride, rows

    def _lose(self) -> None:
        """Begin again after missing samples."""
        self._before = None
        if self._filter is not None:
            self._filter.interrupt()

    def _sample(self, now: Samples, force: float, time: float, row: Samples) -> None:
        """Take a sample of displacement and velocity, (2,), and force; fill in its row."""
        too_large = self._filter is not None and abs(force - self._preload) > _LARGEST * self._size
        if too_large or not (np.abs(now).max() < _FARTHEST and math.isfinite(force)):
            self._lose()
            return
        before, self._before = (now if self._before is None else self._before), now
        self._hidden, nominal = self.law.advance(self.law.nominal, self._hidden, before, now)
        if self._filter is None:
            self._first.append((before, now, force))
            self._excess.append(force - float(nominal))
            self._begin()
        if self._filter is None:
            return
        for one, other, output in self._first:
            self._filter.update(one, other, output - self._preload)
        self._first.clear()
        estimate = self._filter.update(before, now, force - self._preload)
        offset, predicted = estimate.offset + self._preload, estimate.predicted + self._preload
        estimate = estimate._replace(offset=offset, predicted=predicted)
        self.newest = Told(time, estimate)
        row[:4] = float(nominal) + estimate.offset, force, estimate.predicted, force
        row[4::3], row[5::3], row[6::3] = estimate.parameters, estimate.sd, estimate.gained

    def _begin(self) -> None:
        """Make the filter once the usual size of the force is known; it takes the samples until then."""
        if len(self._first) >= _FIRST * self.sample_rate:
            forces = [force for _, _, force in self._first]
            self._size = float(np.ptp(forces))
            if self._size > 0.0:
                # at rest the size is that of the noise, and a constant error of it cannot be a preload
                self._preload = float(np.mean(self._excess))
                self._filter = ParameterFilter(self.law, self.sample_rate, self._size)
                del self._first[-1]
            else:
                del self._first[: len(self._first) // 2], self._excess[: len(self._excess) // 2]


def _pair(actuator: str, stream: Stream) -> Pair:
    """Return the actuator of that name, or the only one with a force."""
    forced = [pair for pair in stream.pairs if pair.force is not None]
    named = [pair for pair in forced if actuator in ("", pair.actuator)]
    if len(named) == 1:
        return named[0]
    if not forced:
        raise ValueError(f"rig {stream.rig}: no actuator has a force: send the measured force of the specimen too")
    names = ", ".join(pair.actuator for pair in forced)
    wanted = f"actuator {actuator}" if actuator else "the actuator"
    raise ValueError(
        f"rig {stream.rig}: {wanted} of the specimen: those with a force are {names}: name one in [specimen]"
    )


def _smoothing(half: int, sample_rate: float) -> tuple[Samples, Samples]:
    """Return the weights, (2 half + 1,) each, of the middle's value and rate by a parabola through the samples.

    Savitzky and Golay 1964; the same for displacement and force, so that a linear law stays true of both.
    """
    at = np.arange(-half, half + 1.0)
    weights = np.linalg.pinv(np.stack([np.ones_like(at), at, at * at], axis=1))
    return weights[0], weights[1] * sample_rate


def parameter_words(name: str, nominal: float, place: int, estimate: Estimate, followed: tuple[str, ...]) -> str:
    """Return ``stiffness 2.21e+06 ± 9e+03 N/m (-30 %)``, or that the motion does not tell it."""
    value, sd, unit = float(estimate.parameters[place]), float(estimate.sd[place]), PARAMETERS[name]
    label = name.replace("_", " ")
    if not estimate.gained[place] >= DETERMINED:
        return f"{label} not determined by this motion"
    unit = "" if unit == "1" else f" {unit}"
    together = " (only together with another)" if estimate.alike[place] > TOGETHER and len(followed) > 1 else ""
    return f"{label} {value:.4g} ± {sd:.1g}{unit} ({100.0 * (value / nominal - 1.0):+.1f} %){together}"
