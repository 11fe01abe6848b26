"""Every indicator: what is not a number, is absurd or means nothing never lasts, and is never shown as a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.catalogue import CATALOGUE, RATIO_UNIT
from tests.contract.entries import ENTRIES, N_WINDOW, noisy, rows_of, tones

pytestmark = pytest.mark.usefixtures("warm_kernels")
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
N = 8 * N_WINDOW
# beside the totals
SINCE_START = (
    "hsem",
    *("specimen_loss", "specimen_loss_sd", "specimen_energy_total_sd", "specimen_ductility"),
    *(output.name for output in CATALOGUE["fei"].outputs),
)
BAD = [np.nan, np.inf, -np.inf, 1e60, -1e50]


def same_window(entry, rows, clean):
    """Compare what depends on the window alone; a delay's frequency depends a little on where cycles begin."""
    for name, _, j in entry.outputs:
        if not name.endswith("_total") and name not in SINCE_START:
            tolerance = 1e-3 if name == "paei_delay" else 1e-9
            np.testing.assert_allclose(rows[..., j], clean[..., j], tolerance, tolerance, err_msg=name)


@every_entry
@given(
    bad=st.sampled_from(BAD),
    at=st.integers(N_WINDOW, N - 2 * N_WINDOW),
    command=st.booleans(),
    pair=st.integers(0, 2),
)
def test_one_bad_sample_spoils_one_window_of_its_pair_and_is_forgotten(entry, bad, at, command, pair):
    x_c, x_m = tones(N, entry.n_pairs)
    clean = entry.run_once(tones, N)
    pair %= entry.n_pairs
    (x_c if command else x_m)[at, pair] = bad
    rows = entry.run(x_c, x_m)
    sample = np.arange(0, N, entry.every)
    spoiled = (sample >= at) & (sample < at + N_WINDOW)
    if entry.fills_early:
        spoiled = sample == at
    assert np.isnan(rows[spoiled, pair, 0]).all()
    np.testing.assert_array_equal(rows[sample < at], clean[sample < at])
    np.testing.assert_array_equal(np.delete(rows, pair, axis=1), np.delete(clean, pair, axis=1))
    after = sample >= at + N_WINDOW + entry.hop - 1
    same_window(entry, rows[after], clean[after])


@every_entry
@given(runs=st.lists(st.tuples(st.integers(0, N - 2 * N_WINDOW - 20), st.integers(1, 20)), max_size=4))
def test_runs_of_bad_samples_leave_no_trace(entry, runs):
    x_c, x_m = tones(N, entry.n_pairs)
    clean = entry.run_once(tones, N)
    for start, length in runs:
        x_c[start : start + length] = np.nan
    rows = entry.run(x_c, x_m)
    after = np.arange(0, N, entry.every) >= N - N_WINDOW + entry.hop - 1
    same_window(entry, rows[after], clean[after])


@every_entry
@given(
    burst=st.sampled_from(
        [
            (1e8,),
            (-1e10,),
            (1e10, -1e10),
            (1e8,) * 6,
            (1e10, 0.0, 0.0, 0.0, -1e10),
            (1e8, *(0.0,) * 20, 1e8),
            (1e6, 1e3, 1e10),
        ]
    ),
    at=st.integers(2 * N_WINDOW, N - 3 * N_WINDOW),
    where=st.sampled_from(["command", "measured", "both", "opposite"]),
)
def test_a_burst_is_forgotten_when_it_has_left_the_window(entry, burst, at, where):
    x_c, x_m = tones(N, entry.n_pairs)
    clean = entry.run_once(tones, N)
    stop = at + len(burst)
    if where != "measured":
        x_c[at:stop] += np.array(burst)[:, None]
    if where != "command":
        x_m[at:stop] += (-1.0 if where == "opposite" else 1.0) * np.array(burst)[:, None]
    rows = entry.run(x_c, x_m)
    after = np.arange(0, N, entry.every) >= stop + N_WINDOW + entry.hop - 2 + entry.settling
    same_window(entry, rows[after], clean[after])


def constant(level):
    return np.full(N, level)


WAVE = np.sin(0.39 * np.arange(N))
STEP = np.where(np.arange(N) < 170, 0.0, 1.0)
STOP = np.where(np.arange(N) < 3 * N_WINDOW + 3, WAVE, 0.25)
DEGENERATE = {
    "zeros": (constant(0.0), constant(0.0)),
    "constants": (constant(5.3), constant(-3.1)),
    "equal constants": (constant(0.1), constant(0.1)),
    "dead measured": (WAVE, constant(0.0)),
    "dead measured on an offset": (WAVE, constant(1234.5)),
    "dead command": (constant(0.7), WAVE),
    "dead command at zero": (constant(0.0), WAVE),
    "steps": (STEP, np.roll(STEP, 3)),
    "steps of 1e12": (1e12 * STEP, 0.1 * STEP),
    "stops": (STOP, np.roll(STOP, 2)),
    "ramps": (np.arange(N) * 0.01, np.arange(N) * 0.011),
    "one cycle in ten windows": (np.sin(0.012 * np.arange(N)), np.cos(0.012 * np.arange(N))),
    "alternating": ((-1.0) ** np.arange(N), -((-1.0) ** np.arange(N))),
    "denormal": (WAVE * 1e-310, WAVE * 2e-310),
    "smallest": (constant(5e-324), constant(-5e-324)),
    "denormal command": (WAVE * 1e-310, WAVE),
    "smallest command": (constant(5e-324), constant(1.0)),
    "tiny command": (WAVE * 1e-161, WAVE * 1e10),
    "tiny": (WAVE * 1e-90, WAVE * 1e-100),
    "huge": (WAVE * 0.9e50, -WAVE * 0.9e50),
    "huge on tiny": (WAVE * 1e-80, WAVE * 0.9e50),
    "impulse": (np.eye(1, N, 100)[0], np.eye(1, N, 104)[0]),
}
every_signal = pytest.mark.parametrize("signal", DEGENERATE)
MOVING = ("_phase", "_delay", "ti_angle", "_damping")
SCALED = ("_std", "_range", "_measured", "_normalized", "hsem")
MEANINGLESS = {
    # nothing to compare: which outputs must be NaN in every row, beside what needs motion in both
    "zeros": ("_frequency", "_amplitude", "nrmse", "_relative", *SCALED),
    "constants": ("_frequency", "_amplitude", "_amplitude_error", "_std"),
    "equal constants": ("_frequency", "_amplitude", "_amplitude_error"),
    "dead measured": ("_range", "_measured"),
    "dead measured on an offset": ("_range",),
    "dead command": ("_frequency", "_amplitude", "_amplitude_error", "_std"),
    "dead command at zero": ("_frequency", "nrmse", "_std", "_relative"),
    "smallest": ("_frequency", *SCALED),
}


@every_entry
@every_signal
def test_no_signal_raises_or_gives_an_infinity(entry, signal):
    x_c, x_m = (np.repeat(x[:, None], entry.n_pairs, axis=1) for x in DEGENERATE[signal])
    for gate in (0.0, 0.02):
        assert not np.isinf(entry.run(x_c, x_m, relative_gate=gate)).any()


@every_entry
@pytest.mark.parametrize("signal", MEANINGLESS)
def test_what_means_nothing_is_never_a_number(entry, signal):
    x_c, x_m = (np.repeat(x[:, None], entry.n_pairs, axis=1) for x in DEGENERATE[signal])
    rows = entry.run(x_c, x_m, relative_gate=0.0)
    for name, unit, j in entry.outputs:
        if unit == RATIO_UNIT or name.endswith((*MOVING, *MEANINGLESS[signal])):
            wrong = np.argwhere(~np.isnan(rows[..., j]))
            assert not len(wrong), f"{name} = {rows[(*wrong[0], j)]} in row {wrong[0][0]} and {len(wrong) - 1} more"


@every_entry
def test_what_follows_a_tone_that_stops_means_nothing(entry):
    x_c, x_m = tones(N, entry.n_pairs)
    x_c[4 * N_WINDOW :] = x_m[4 * N_WINDOW :] = 0.25
    rows = entry.run(x_c, x_m)
    after = np.arange(0, N, entry.every) >= 5 * N_WINDOW + entry.hop
    for name, unit, j in entry.outputs:
        if (unit == RATIO_UNIT or name.endswith(("_phase", "_delay", "_frequency"))) and name not in SINCE_START:
            assert np.isnan(rows[after, :, j]).all(), name


@every_entry
def test_values_come_back_after_any_of_these_signals(entry):
    wave_c, wave_m = tones(N, entry.n_pairs)
    clean = entry.run_once(tones, N)
    after = np.arange(0, N, entry.every) >= 3 * N_WINDOW + entry.hop
    for x_c, x_m in DEGENERATE.values():
        indicator = entry.make(relative_gate=0.0)
        rows_of(indicator, *(np.repeat(x[: N - 1, None], entry.n_pairs, axis=1) for x in (x_c, x_m)))
        rows = rows_of(indicator, wave_c, wave_m, first=0)
        same_window(entry, rows[after], clean[after])


@every_entry
@given(seed=st.integers(0, 100), scale=st.floats(-300.0, 49.0), other=st.floats(-300.0, 49.0))
def test_noise_of_any_size_gives_no_infinity(entry, seed, scale, other):
    x_c, x_m = noisy(3 * N_WINDOW, entry.n_pairs, seed, noise=1.0)
    rows = entry.run(x_c * 10.0**scale, x_m * 10.0**other)
    assert not np.isinf(rows).any()
