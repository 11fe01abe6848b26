"""Every indicator: how the record is cut, copied, shaped and resumed changes nothing, to the last bit."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.catalogue import reason_column
from monitor.messages.reasons import Reason
from tests.contract.entries import ENTRIES, N_WINDOW, STIFFNESS, noisy, rows_of

pytestmark = pytest.mark.usefixtures("warm_kernels")
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
N = 5 * N_WINDOW + 7


@every_entry
@given(cuts=st.lists(st.integers(0, N), max_size=12), seed=st.integers(0, 5))
def test_any_chopping_gives_the_same_bits(entry, cuts, seed):
    x_c, x_m = noisy(N, entry.n_pairs, seed)
    x_m[2 * N_WINDOW + 3] = np.nan
    edges = [0, *sorted(cuts), N]
    indicator = entry.make()
    pieces = [rows_of(indicator, x_c[a:b], x_m[a:b]) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(pieces), entry.run(x_c, x_m))


@every_entry
def test_one_sample_at_a_time_gives_the_same_bits(entry):
    x_c, x_m = noisy(N, entry.n_pairs)
    expected = entry.run(x_c, x_m)
    indicator = entry.make()
    for i in range(N):
        force = (STIFFNESS * x_m[i],) if indicator.needs_force else ()
        value = indicator.update(x_c[i] if entry.n_pairs > 1 else x_c[i, 0], x_m[i], *force)
        if i % entry.every == 0:
            np.testing.assert_array_equal(indicator.values, expected[i // entry.every])
            assert indicator.valid == (not np.isnan(expected[i // entry.every, :, 0]).any())
        np.testing.assert_array_equal(np.stack(value, axis=-1).reshape(entry.n_pairs, -1), indicator.values)


@every_entry
def test_nothing_is_valid_before_the_window_is_full_and_everything_after(entry):
    rows = entry.run(*noisy(N, entry.n_pairs))
    at = np.arange(0, N, entry.every)
    assert entry.fills_early or np.isnan(rows[at < N_WINDOW - 1, :, 0]).all()
    full = rows[at >= N_WINDOW - 1 + entry.hop - 1]
    # what needs a setting that is not given
    given = [
        not (full[..., entry.column(reason_column(name))] == Reason.NOT_SET).all() for name, _, _ in entry.outputs
    ]
    assert np.isfinite(full[..., given]).all()


@every_entry
def test_an_empty_block_changes_nothing(entry):
    x_c, x_m = noisy(N, entry.n_pairs)
    indicator = entry.make()
    rows_of(indicator, x_c[:100], x_m[:100])
    before = indicator.values
    shape = (0, entry.n_pairs) if entry.n_pairs > 1 else (0,)
    nothing = [np.empty(shape)] * (3 if indicator.needs_force else 2)
    assert len(indicator.update_block(*nothing)) == 0
    np.testing.assert_array_equal(indicator.values, before)
    np.testing.assert_array_equal(
        rows_of(indicator, x_c[100:], x_m[100:]), entry.run(x_c, x_m)[-(-100 // entry.every) :]
    )


@every_entry
def test_reset_is_as_new(entry):
    x_c, x_m = noisy(N, entry.n_pairs)
    indicator = entry.make()
    rows_of(indicator, 1e6 * x_m[:211], x_c[:211] - 1e3)
    indicator.reset()
    assert not indicator.valid
    np.testing.assert_array_equal(indicator.values, [indicator.no_values(Reason.FILLING)] * entry.n_pairs)
    np.testing.assert_array_equal(rows_of(indicator, x_c, x_m), entry.run(x_c, x_m))


@every_entry
def test_inputs_are_left_alone_whatever_their_kind(entry):
    x_c, x_m = noisy(N, entry.n_pairs)
    expected = entry.run(x_c, x_m)
    wide = np.zeros((N, 2 * entry.n_pairs))
    wide[:, ::2] = x_c
    kinds = {
        "read-only": (x_c.copy(), x_m.copy()),
        "strided": (wide[:, ::2], np.repeat(x_m, 2, axis=0)[::2]),
        "Fortran": (np.asfortranarray(x_c), np.asfortranarray(x_m)),
        "reversed": (x_c[::-1].copy()[::-1], x_m[::-1].copy()[::-1]),
        "big-endian": (x_c.astype(">f8"), x_m.astype(">f8")),
        "lists": (x_c.tolist(), x_m.tolist()),
    }
    for name, (c, m) in kinds.items():
        if isinstance(c, np.ndarray):
            c.flags.writeable = m.flags.writeable = False
        rows = rows_of(entry.make(), c, m)
        np.testing.assert_array_equal(rows, expected, err_msg=name)
        np.testing.assert_array_equal(c, x_c, err_msg=name)
        np.testing.assert_array_equal(m, x_m, err_msg=name)


@every_entry
@pytest.mark.parametrize("kind", [np.int16, np.int64, np.float32])
def test_counts_and_single_precision_are_taken_as_numbers(entry, kind):
    x_c, x_m = ((1000.0 * x).astype(kind) for x in noisy(N, entry.n_pairs))
    expected = entry.run(x_c.astype(np.float64), x_m.astype(np.float64))
    np.testing.assert_array_equal(rows_of(entry.make(), x_c, x_m), expected)


@every_entry
@given(at=st.integers(0, N))
def test_a_snapshot_goes_on_with_the_same_bits(entry, at):
    x_c, x_m = noisy(N, entry.n_pairs)
    indicator = entry.make()
    rows_of(indicator, x_c[:at], x_m[:at])
    snapshot = indicator.snapshot()
    values = indicator.values
    twin = copy.deepcopy(indicator)
    expected = rows_of(indicator, x_c[at:], x_m[at:])
    for _ in range(2):
        # the second time the first restored run must not have touched the snapshot
        for other in (indicator, entry.make()):
            other.restore(snapshot)
            np.testing.assert_array_equal(other.values, values)
            np.testing.assert_array_equal(rows_of(other, x_c[at:], x_m[at:]), expected)
    for other, kept in ((twin, None), (entry.make(), pickle.loads(pickle.dumps(snapshot)))):
        if kept is not None:
            other.restore(kept)
        np.testing.assert_array_equal(rows_of(other, x_c[at:], x_m[at:]), expected)


@every_entry
@pytest.mark.parametrize("change", [{"window": 0.7}, {"every": 2}, {"n_pairs": 2}], ids=str)
def test_a_snapshot_of_other_settings_is_refused(entry, change):
    snapshot = entry.make().snapshot()
    with pytest.raises(ValueError, match="settings"):
        entry.make(**change).restore(snapshot)


def test_a_snapshot_of_another_indicator_is_refused():
    snapshots = [entry.make().snapshot() for entry in ENTRIES]
    for i, entry in enumerate(ENTRIES):
        for j, snapshot in enumerate(snapshots):
            same = (entry.measure, entry.settings, entry.n_pairs) == tuple(ENTRIES[j])[:1] + tuple(ENTRIES[j])[2:]
            assert same == (i == j)
            if not same:
                with pytest.raises(ValueError, match="settings"):
                    entry.make().restore(snapshot)


@every_entry
def test_pairs_side_by_side_are_single_runs(entry):
    x_c, x_m = noisy(N, 3)
    x_m[120, 1] = np.inf
    together = entry.run(x_c, x_m, n_pairs=3)
    for pair in range(3):
        if entry.hop > 1:
            # pairs take turns, so that one alone is evaluated at other samples: the others may do what they like
            others = np.arange(3) != pair
            alone = entry.run(*(np.where(others, np.nan, x) for x in (x_c, x_m)), n_pairs=3)
            np.testing.assert_array_equal(together[:, pair], alone[:, pair])
            continue
        alone = entry.run(x_c[:, pair], x_m[:, pair], n_pairs=1)
        # the pairs renew their sums at times of their own, which shows in the last bits
        loose = np.array([output.name == "paei_delay" for output in entry.make().outputs])
        np.testing.assert_allclose(together[:, pair, ~loose], alone[:, 0, ~loose], rtol=1e-9, atol=1e-12)
        # the level whose crossings give the frequency is that of the last turn
        np.testing.assert_allclose(together[:, pair, loose], alone[:, 0, loose], rtol=5e-3, atol=1e-6)
    np.testing.assert_array_equal(together[:, :2], entry.run(x_c[:, :2], x_m[:, :2], n_pairs=2))


@every_entry
@given(every=st.integers(1, 120), start=st.integers(0, 200))
def test_every_picks_rows_and_changes_none(entry, every, start):
    x_c, x_m = noisy(N, entry.n_pairs)
    full = rows_of(entry.make(every=1), x_c, x_m, first=start)
    rows = rows_of(entry.make(every=every), x_c, x_m, first=start)
    np.testing.assert_array_equal(rows, full[(-start) % every :: every])
