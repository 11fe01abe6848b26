"""FDB under every taper: exact from one cycle on, and the textbook's reading for what it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.indicators import reference
from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from tests.oracles import frequency_domain as oracle
from tests.oracles.tones import Tones, at_every_sample, several_tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
RATIO, PHASE, DELAY, FREQUENCY, AMPLITUDE, DAMPING = 0, 1, 2, 3, 4, 8
RATE, N = 200.0, 100
every_taper = pytest.mark.parametrize("taper", reference.TAPERS)


def rows_of(tones, n=2 * N, **settings):
    """Return the rows of full windows of `N` samples."""
    return FrequencyDomainIndicator(RATE, N / RATE, **settings).update_block(*tones.signals(n, RATE))[N - 1 :]


@every_taper
@given(
    cycles=st.one_of(st.floats(1.0, 2.0), st.floats(2.0, 9.5), st.sampled_from([1.0, 2.0, 3.0, 2.0 + 1e-9])),
    start=st.floats(0.0, 6.3),
    phase=st.floats(-3.1, 3.1),
    gain=st.floats(0.2, 5.0),
    offset=st.sampled_from([0.0, 3.0]),
)
def test_a_tone_is_exact_from_one_cycle_on(taper, cycles, start, phase, gain, offset):
    tones = Tones(cycles * RATE / N, 1.0, gain, phase, start, offset, -offset)
    rows = rows_of(tones, N + 4, taper=taper)
    np.testing.assert_allclose(rows[:, PHASE], phase, atol=1e-9)
    np.testing.assert_allclose(rows[:, RATIO], tones.ratio, rtol=1e-9)
    np.testing.assert_allclose(rows[:, FREQUENCY], tones.frequency, rtol=1e-9)
    np.testing.assert_allclose(rows[:, AMPLITUDE], 1.0, rtol=1e-9)
    np.testing.assert_allclose(rows[:, DELAY], tones.delay, atol=1e-9)
    np.testing.assert_allclose(rows[:, DAMPING], oracle.added_damping(gain, phase), atol=1e-8)


@every_taper
@pytest.mark.parametrize("n_window", [32, 33])
def test_the_smallest_windows(taper, n_window):
    tones = Tones(1.3 * RATE / n_window, 1.0, 0.8, -0.4, 0.7)
    indicator = FrequencyDomainIndicator(RATE, n_window / RATE, taper=taper)
    rows = indicator.update_block(*tones.signals(3 * n_window, RATE))[n_window - 1 :]
    np.testing.assert_allclose(rows[:, PHASE], -0.4, atol=1e-9)
    np.testing.assert_allclose(rows[:, AMPLITUDE], 1.0, rtol=1e-9)


@every_taper
def test_the_plain_reading_after_every_sample(taper):
    x_c, x_m = several_tones(np.random.default_rng(5), 4 * N, RATE)
    settings = {"taper": taper, "relative_gate": 0.0}
    plain, exact = (
        FrequencyDomainIndicator(RATE, N / RATE, image_correction=on, **settings).update_block(x_c, x_m)[N - 1 :]
        for on in (False, True)
    )
    expected = at_every_sample(
        lambda c, m: reference.frequency_domain(c, m, RATE, taper=taper, image_correction=False), x_c, x_m, N
    )
    np.testing.assert_allclose(plain[:, :4], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(plain[:, [FREQUENCY, AMPLITUDE]], exact[:, [FREQUENCY, AMPLITUDE]])


@pytest.mark.parametrize(("cycles", "most"), [(1.0, 1e-10), (1.5, 0.034), (2.0, 1e-10), (2.5, 0.0012)])
def test_the_plain_reading_errs_by_the_image(cycles, most):
    """The image turns a reading by arg(1 - share exp(i a)), a being twice its phase: most where it turns fastest."""
    phase = 0.13
    rows = rows_of(Tones(cycles * RATE / N, 1.0, 1.0, phase), 6 * N, image_correction=False)
    worst = np.max(np.abs(rows[:, PHASE] - phase))
    share = oracle.image_share(cycles, N)
    expected = 2.0 * np.arctan2(share * np.sin(phase), 1.0 - share * np.cos(phase))
    np.testing.assert_allclose(worst, expected, rtol=0.05, atol=1e-10)
    assert worst < most
    np.testing.assert_allclose(rows[:, FREQUENCY], cycles * RATE / N, rtol=1e-9)


def test_own_peaks_are_read_as_they_stand():
    tones = Tones(1.5 * RATE / N, 1.0, 0.9, 0.5)
    forms = [rows_of(tones, peak="own", image_correction=on) for on in (True, False)]
    np.testing.assert_array_equal(*forms)
    assert np.max(np.abs(forms[0][:, PHASE] - 0.5)) > 0.01


@pytest.mark.parametrize(("phase", "sign"), [(0.3, 1.0), (-0.3, -1.0), (0.0, 0.0)])
def test_a_lag_adds_negative_damping(phase, sign):
    damping = rows_of(Tones(7.0, 2.0, 0.8, phase))[:, DAMPING]
    assert (np.sign(np.round(damping, 12)) == sign).all()


def test_an_unknown_taper_is_refused():
    with pytest.raises(ValueError, match="taper must be 'hann', 'hamming'"):
        FrequencyDomainIndicator(RATE, N / RATE, taper="flat")
