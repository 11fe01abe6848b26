"""The classes of motion on which indicators are held against the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.known_pairs import faults, motions
from sim.known_pairs.faults import Fault
from sim.known_pairs.motions import Motion

Draw = Callable[[np.random.Generator], Motion]


@dataclass(frozen=True)
class Recipe:
    """How pairs of a class are drawn.

    Parameters
    ----------
    motion : of the command.
    fault : what disturbs the pair, beside delay, gain and white noise on the measured signal.
    jitter : the instants of the measured samples are off, by 0.1 ms.
    other : another motion, which is measured in place of the command's.
    """

    motion: Draw
    fault: Fault = faults.nothing
    jitter: bool = False
    other: Draw | None = None


CLASSES = {
    "tone": Recipe(motions.tone),
    "tone, noise on both": Recipe(motions.tone, faults.noise_on_both),
    "decay": Recipe(motions.decay),
    "chirp": Recipe(motions.chirp),
    "amplitude modulation": Recipe(motions.modulated),
    "five tones": Recipe(motions.five_tones),
    "earthquake, one mode": Recipe(motions.one_mode),
    "earthquake, two modes": Recipe(motions.two_modes),
    "earthquake, noise on both": Recipe(motions.two_modes, faults.noise_on_both),
    "ramps and steps": Recipe(motions.ramps_and_steps),
    "1/f noise": Recipe(motions.pink_noise),
    "band noise": Recipe(motions.band_noise),
    "quantised": Recipe(motions.two_modes, faults.quantised),
    "clipped": Recipe(motions.two_modes, faults.clipped),
    "backlash": Recipe(motions.two_modes, faults.backlash),
    "hum": Recipe(motions.two_modes, faults.hum),
    "clock jitter": Recipe(motions.two_modes, jitter=True),
    "drift": Recipe(motions.two_modes, faults.drift),
}
"""Where the delay is known."""

UNRELATED = {
    "unrelated earthquakes": Recipe(motions.two_modes, other=motions.two_modes),
    "unrelated noise": Recipe(motions.band_noise, other=motions.band_noise),
    "unrelated 1/f noise": Recipe(motions.pink_noise, other=motions.pink_noise),
    "unrelated tones": Recipe(motions.five_tones, other=motions.five_tones),
}
"""Where there is none."""
