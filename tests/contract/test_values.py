"""Every indicator: perfect tracking reads zero, injected errors are recovered, units change nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.catalogue import RATIO_UNIT
from monitor.indicators import reference
from tests.contract.entries import ENTRIES, FREQUENCY, N_WINDOW, RATE, noisy, tones
from tests.oracles.tones import Tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
N = 4 * N_WINDOW
# beside what compares sizes
PERFECT = {
    "phase": 0.0,
    "delay": 0.0,
    "ti": 0.0,
    "ti_total": 0.0,
    "ti_angle": 0.0,
    "xcorr_delay": 0.0,
    "xcorr_peak": 1.0,
    "broadband_delay": 0.0,
    "broadband_coherence": 1.0,
    "broadband_delay_sd": 0.0,
    "fei_phase": 0.0,
    "fei_delay": 0.0,
}


def quantity(name):
    """``fdb_phase`` is a phase whoever measured it."""
    return name.removeprefix("fdb_").removeprefix("paei_").removeprefix("adaptive_")


def perfect(output):
    """Return what a column reads where measured is the command; None: that depends on the motion."""
    if output.unit == RATIO_UNIT:
        return 0.0 if output.name.endswith("_sd") else 1.0
    return 0.0 if output.same_unit else PERFECT.get(quantity(output.name))


@every_entry
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1.0, 1e-3, 1e5]))
def test_perfect_tracking_reads_zero(entry, seed, scale):
    x_c, _ = noisy(N, entry.n_pairs, seed, noise=0.1)
    rows = entry.run(scale * x_c, scale * x_c)[-(N - N_WINDOW - entry.hop) // entry.every :]
    outputs = entry.unused.outputs
    # a force that nothing moves by has no stiffness
    assert entry.unused.needs_force or any(perfect(output) is not None for output in outputs)
    for j, output in enumerate(outputs):
        if (expected := perfect(output)) is not None:
            size = scale ** {"signal": 1, "signal^2": 2, "energy": 2}.get(output.unit, 0)
            np.testing.assert_allclose(rows[..., j], expected, rtol=1e-12, atol=1e-12 * size, err_msg=output.name)


@every_entry
@given(
    gain=st.floats(0.2, 5.0),
    phase=st.floats(0.01, 3.0),
    lead=st.booleans(),
    start=st.floats(0.0, 6.3),
    frequency=st.floats(5.0, 9.9),
)
def test_injected_gain_and_delay_are_recovered(entry, gain, phase, lead, start, frequency):
    own = entry.settings.get("peak") == "own" or entry.settings.get("image_correction") is False
    # own peaks, and a bin as it stands, serve near the middle of a bin only: that is why they are not the default
    frequency = FREQUENCY if own else frequency
    close = {"rtol": 0.02, "atol": 0.06} if own else {"rtol": 1e-8, "atol": 1e-8}
    truth = Tones(frequency, 3.0, gain, min(phase, 2.9) * (1.0 if lead else -1.0), start)
    x_c, x_m = (np.repeat(x[:, None], entry.n_pairs, axis=1) for x in truth.signals(N, RATE))
    rows = entry.run(x_c, x_m)[-(N - N_WINDOW - entry.hop) // entry.every :]
    for name, _, j in entry.outputs:
        got, kind = rows[..., j], quantity(name)
        if kind in ("ratio", "phase", "amplitude_error"):
            np.testing.assert_allclose(got, getattr(truth, kind), **close, err_msg=name)
        elif kind == "frequency":
            np.testing.assert_allclose(got, frequency, rtol=1e-8)
        elif kind in ("delay", "xcorr_delay", "broadband_delay"):
            np.testing.assert_allclose(got, truth.delay, rtol=0.01 + 10.0 * own)
            assert ((got < 0.0) == lead).all()
        elif kind == "ti":
            assert ((got > 0.0) == lead).all()
        elif kind == "peak_error":
            assert (got <= reference.peak_error(x_c, x_m)[0]).all()


@every_entry
@given(common=st.floats(-6.0, 6.0), measured=st.floats(-6.0, 6.0))
def test_units_scale_values_as_they_say(entry, common, measured):
    """In other units a ratio changes by the ratio of the units, a comparison is not asked for."""
    x_c, x_m = noisy(N, entry.n_pairs)
    base = entry.run_once(noisy, N)
    a, b = 10.0**common, 10.0**measured
    for scale_c, scale_m in ((a, a), (a, a * b)):
        rows = entry.run(scale_c * x_c, scale_m * x_m)
        for output, (name, unit, j) in zip(entry.unused.outputs, entry.outputs, strict=True):
            if output.same_unit and scale_c != scale_m:
                continue
            square = scale_c * scale_m
            if entry.settings.get("yield_displacement") and name == "specimen_ductility":
                unit = "measured"
            # of a force that is the measured displacement times a number
            energy = square if output.same_unit else scale_m**2
            by_unit = {"ratio": scale_c / scale_m, "signal": scale_c, "signal^2": square, "energy": energy}
            factor = {**by_unit, "measured": scale_m}.get(unit, 1.0)
            small = 1e-12 * scale_c * scale_m if unit == "signal^2" else 1e-12 * factor
            np.testing.assert_allclose(rows[..., j], factor * base[..., j], rtol=1e-8, atol=small, err_msg=name)


@every_entry
def test_offsets_change_nothing_that_is_free_of_them(entry):
    x_c, x_m = tones(N, entry.n_pairs)
    base, moved = entry.run(x_c, x_m), entry.run(x_c + 1000.0, x_m - 1000.0)
    for name, _, j in entry.outputs:
        if quantity(name) in ("ratio", "phase", "frequency", "amplitude", "amplitude_error"):
            np.testing.assert_allclose(moved[..., j], base[..., j], rtol=1e-8, atol=1e-8, err_msg=name)


def test_the_tone_of_these_tests_does_not_fit_the_window():
    assert (FREQUENCY * N_WINDOW / RATE) % 1.0 > 0.1
