"""The demonstration with a compensator in the loop of every actuator, which streams what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay.formats.base import Recording
from replay.formats.computed import ComputedRecording

_PIECE = 1 << 7  # samples computed at a time: the stream does not pause for more of them

if TYPE_CHECKING:
    from monitor.compensation.base import Compensation, Compensator
    from sim.cases.demonstration import Demonstration


def compensated_demonstration(duration: float, seed: int, compensation: str) -> Recording:
    """Return the demonstration with compensators as a rig would have recorded it.

    The compensators know the actuators as they are at the start; what changes later is theirs to find. Beside
    ``<actuator>.command``, ``.measured`` and ``.force`` (m, m, N) there are ``.sent`` (m), the command after the
    compensator, the compensator's columns, and ``.actuator_delay`` (s), the actuator's own at its driving frequency,
    which is what the compensator is to make up for.

    Parameters
    ----------
    duration, seed : s, and of the measurement noise.
    compensation : name, see `monitor.compensation.methods`.

    Raises
    ------
    ValueError : there is no compensator of that name.
    """
    from monitor.compensation.base import channels
    from monitor.compensation.fixed_inverse import FixedInverse
    from monitor.compensation.methods import by_name
    from sim.cases.demonstration import ACTUATORS, DRIVEN, Demonstration

    demonstration = Demonstration(duration, seed=seed)
    truth = demonstration.truth(np.zeros(1))
    nominal = FixedInverse.of_delay(truth[0, :, 2], truth[0, :, 0])
    settings = by_name(compensation, nominal, slowest=float(DRIVEN.min()))
    described = [
        (
            Channel(f"{actuator}.command", Role.COMMAND, "m", actuator),
            Channel(f"{actuator}.measured", Role.MEASURED, "m", actuator),
            Channel(f"{actuator}.force", Role.FORCE, "N", actuator),
            Channel(f"{actuator}.sent", Role.AUXILIARY, "m"),
            *channels(actuator, settings.columns),
            Channel(f"{actuator}.actuator_delay", Role.AUXILIARY, "s"),
        )
        for actuator in ACTUATORS
    ]
    width = len(described[0])
    stream = Stream("hybrid", 0, demonstration.sample_rate, tuple(channel for each in described for channel in each))
    computed = [i for i in range(len(stream.channels)) if i % width < width - 1]

    def pieces() -> Iterator[Samples]:
        return _pieces(demonstration, settings)

    def delays(time: Samples) -> Samples:
        return demonstration.truth(time)[..., 2]

    return ComputedRecording(stream, demonstration.n_samples, computed, pieces, delays)


def _pieces(demonstration: Demonstration, settings: Compensation) -> Iterator[Samples]:
    observed = _Observed(settings)
    for piece in replace(demonstration.loop(), compensator=observed).chunks(_PIECE):
        signals = np.stack([piece.command, piece.measured, piece.force, piece.sent], axis=-1)
        # of a test that leaves its stroke the piece ends there
        columns = np.concatenate([signals, np.array(observed.values)[: len(signals)]], axis=-1)
        observed.values.clear()
        yield columns.reshape(len(columns), -1)


class _Observed:
    """A compensator in the loop whose values are recorded."""

    def __init__(self, settings: Compensation) -> None:
        self._settings = settings
        self.values: list[Samples] = []

    def begin(self, dt: float, shape: tuple[int, ...]) -> _Observed:
        self._compensator: Compensator = self._settings.begin(dt, shape)
        return self

    def compensate(self, command: Samples) -> Samples:
        return self._compensator.compensate(command)

    def observe(self, command: Samples, measured: Samples) -> None:
        self._compensator.observe(command, measured)
        self.values.append(self._compensator.values)
