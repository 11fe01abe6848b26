"""The pure tones for which the requirement promises exact answers, as hypothesis draws them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.oracles.tones import Tones


class Case(NamedTuple):
    """Tones, the sample rate in Hz and the samples of a window."""

    tones: Tones
    sample_rate: float
    n_window: int

    def newest(self, kind, rows=25, **settings):
        """Return the last rows of an indicator of that kind, one a sample from the first full window on."""
        indicator = kind(self.sample_rate, self.n_window / self.sample_rate, **settings)
        assert indicator.n_window == self.n_window
        return indicator.update_block(*self.tones.signals(self.n_window + rows, self.sample_rate))[-rows - 1 :]


@st.composite
def cases(draw, smallest_phase=1e-4, offset=0.0):
    """Draw any start phase, phase error, frequency from 0.5 Hz to a tenth of the rate, 2.5 to 6 cycles.

    A window has 32 samples or more.
    """
    sample_rate = 10.0 ** draw(st.floats(2.0, 4.0))
    tenth = sample_rate / 10.0
    frequency = min(tenth, 0.5 * (tenth / 0.5) ** draw(st.floats(0.0, 1.0)))
    n_window = max(32, int(np.ceil(draw(st.floats(2.5, 6.0)) / frequency * sample_rate)))
    size = 10.0 ** draw(st.floats(np.log10(smallest_phase), np.log10(2.999)))
    amplitude = 10.0 ** draw(st.floats(-3.0, 3.0))
    tones = Tones(
        frequency,
        amplitude,
        gain=draw(st.floats(0.2, 5.0)),
        phase=size * draw(st.sampled_from([-1.0, 1.0])),
        start=draw(st.floats(0.0, 6.3)),
        offset_c=offset * amplitude,
        offset_m=-offset * amplitude,
    )
    return Case(tones, sample_rate, n_window)
