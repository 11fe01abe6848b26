"""The parameters of a specimen, followed from a live stream of signals, and sent on as a rig of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.messages.blocks import Channel, Pair, Role, Samples, SignalBlock, Stream
from replay.identification.force_model import channel_factor
from replay.identification.specimen_model import SpecimenModel
from sim.fitting.driven_specimen import PARAMETERS
from sim.fitting.parameter_filter import Estimate, FilterSettings, ParameterFilter

# s of samples that a displacement and a velocity are averaged over, half of them, and samples, at least: noise that
# turns a motion back and forth dissipates energy in a hysteretic law
_HALF_SPAN, _FEWEST = 0.012, 2
# Hz, at most, at which the filter is run
_HIGHEST_RATE = 1000.0
# s of samples from which the force's usual size is known
_FIRST = 0.5
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
        self._stride = max(1, round(stream.sample_rate / _HIGHEST_RATE))
        self._given_rate, self.sample_rate = stream.sample_rate, stream.sample_rate / self._stride
        self._half = max(_FEWEST, round(_HALF_SPAN * stream.sample_rate))
        self._value_weights, self._rate_weights = _smoothing(self._half, stream.sample_rate)
        self.channels = tuple(self._channels())
        self.newest: Told | None = None
        self._filter: ParameterFilter | None = None
        self._first: list[tuple[Samples, Samples, float]] = []
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
        if not np.isfinite(now.sum() + force):
            self._lose()
            return
        before, self._before = (now if self._before is None else self._before), now
        self._hidden, nominal = self.law.advance(self.law.nominal, self._hidden, before, now)
        if self._filter is None:
            self._first.append((before, now, force))
            self._begin()
        if self._filter is None:
            return
        while self._first:
            estimate = self._filter.update(*self._first.pop(0))
        estimate = self._filter.update(before, now, force)
        self.newest = Told(time, estimate)
        row[:4] = float(nominal) + estimate.offset, force, estimate.predicted, force
        row[4::3], row[5::3], row[6::3] = estimate.parameters, estimate.sd, estimate.gained

    def _begin(self) -> None:
        """Make the filter once the usual size of the force is known; it takes the samples until then."""
        if len(self._first) >= _FIRST * self.sample_rate:
            forces = [force for _, _, force in self._first]
            size = float(np.ptp(forces))
            if size > 0.0:
                self._filter = ParameterFilter(self.law, FilterSettings(self.sample_rate, size))
                del self._first[-1]
            else:
                del self._first[: len(self._first) // 2]


def _pair(actuator: str, stream: Stream) -> Pair:
    """Return the actuator of that name, or the only one with a force."""
    forced = [pair for pair in stream.pairs if pair.force is not None]
    named = [pair for pair in forced if actuator in ("", pair.actuator)]
    if len(named) == 1:
        return named[0]
    names = ", ".join(pair.actuator for pair in forced) or "none"
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
    if estimate.gained[place] < DETERMINED:
        return f"{label} not determined by this motion"
    unit = "" if unit == "1" else f" {unit}"
    together = " (only together with another)" if estimate.alike[place] > TOGETHER and len(followed) > 1 else ""
    return f"{label} {value:.4g} ± {sd:.1g}{unit} ({100.0 * (value / nominal - 1.0):+.1f} %){together}"
