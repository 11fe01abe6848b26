"""The cases of the tracking paper as recordings, with the truth beside what a rig would send."""

from __future__ import annotations

import numpy as np

from monitor.messages.blocks import Channel, Role, Samples, Stream
from replay.formats.base import ArrayRecording
from sim.tracking_cases import TrackingCase

ACTUATOR = "actuator"


def case_recording(case: TrackingCase) -> ArrayRecording:
    """Return the case as a rig would have recorded it; ``true_ratio`` and the others are auxiliary channels."""
    columns = [
        (Channel(f"{ACTUATOR}.command", Role.COMMAND, "m", ACTUATOR), case.command),
        (Channel(f"{ACTUATOR}.measured", Role.MEASURED, "m", ACTUATOR), case.measured),
    ]
    if case.force is not None:
        columns.append((Channel(f"{ACTUATOR}.force", Role.FORCE, "N", ACTUATOR), case.force))
    for name, unit in (("ratio", "1"), ("phase", "rad"), ("delay", "s")):
        truth: Samples = getattr(case, f"true_{name}")
        columns.append((Channel(f"{ACTUATOR}.true_{name}", Role.AUXILIARY, unit), truth))
    samples = np.column_stack([values for _, values in columns])
    channels = tuple(channel for channel, _ in columns)
    return ArrayRecording(Stream(f"case-{case.name}", 0, case.sample_rate, channels), samples)
