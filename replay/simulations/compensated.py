"""The demonstration with a compensator in the loop of every actuator, which streams what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay.formats.base import ArrayRecording, Recording

if TYPE_CHECKING:
    from monitor.compensation.base import Compensator


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
    from sim.actuator import Schedule, tracking_truth
    from sim.excitation import Harmonic
    from sim.hybrid import Specimen, demonstration_tests
    from sim.laboratory.elements import ElastoplasticSpring
    from sim.laboratory.loop import HybridLoop
    from sim.laboratory.structure import Structure
    from sim.laboratory.transfer import SeparateActuators

    tests = demonstration_tests(duration, seed=seed)
    each = tuple(tests.values())
    actuators = tuple(cast(Schedule, test.actuator) for test in each)
    specimens = [cast(Specimen, test.specimen) for test in each]
    excitations = [cast(Harmonic, test.excitation) for test in each]
    dt = 1.0 / each[0].sample_rate
    time: Samples = np.arange(each[0].n_samples, dtype=np.float64) * dt
    truth = [
        tracking_truth(actuator, time, excitation.frequency, dt)
        for actuator, excitation in zip(actuators, excitations, strict=True)
    ]
    nominal = FixedInverse.of_delay(
        np.array([delay[0] for _, _, delay in truth]), np.array([ratio[0] for ratio, _, _ in truth])
    )
    settings = by_name(compensation, nominal)
    observed: list[_Observed] = []

    def begin(period: float, shape: tuple[int, ...]) -> _Observed:
        observed.append(_Observed(settings.begin(period, shape)))
        return observed[-1]

    # three structures that share nothing but the time: one loop of three actuators
    masses, stiffnesses, dampings = (
        np.array([getattr(test.structure, name) for test in each]) for name in ("mass", "stiffness", "damping")
    )
    record = HybridLoop(
        structure=Structure(masses, dampings, stiffnesses),
        specimen=ElastoplasticSpring(
            np.array([specimen.stiffness for specimen in specimens]),
            np.array([specimen.yield_displacement for specimen in specimens]),
            np.array([specimen.hardening for specimen in specimens]),
        ),
        excitation=-masses * np.column_stack([excitation.sample(time) for excitation in excitations]),
        dt=dt,
        duration=duration,
        transfer=SeparateActuators(actuators),
        compensator=begin,
        stroke=each[0].stroke,
        seed=seed,
    ).run()
    values = np.array(observed[0].values)
    described, columns = [], []
    for i, actuator in enumerate(tests):
        described += [
            Channel(f"{actuator}.command", Role.COMMAND, "m", actuator),
            Channel(f"{actuator}.measured", Role.MEASURED, "m", actuator),
            Channel(f"{actuator}.force", Role.FORCE, "N", actuator),
            Channel(f"{actuator}.sent", Role.AUXILIARY, "m"),
            *channels(actuator),
            Channel(f"{actuator}.actuator_delay", Role.AUXILIARY, "s"),
        ]
        columns += [column[:, i] for column in (record.command, record.measured, record.force, record.sent)]
        columns += [*values[:, i].T, truth[i][2]]
    return ArrayRecording(Stream("hybrid", 0, each[0].sample_rate, tuple(described)), np.column_stack(columns))


class _Observed:
    """A compensator in the loop whose values are recorded."""

    def __init__(self, compensator: Compensator) -> None:
        self._compensator = compensator
        self.values: list[Samples] = []

    def compensate(self, command: Samples) -> Samples:
        return self._compensator.compensate(command)

    def observe(self, command: Samples, measured: Samples) -> None:
        self._compensator.observe(command, measured)
        self.values.append(self._compensator.values)
