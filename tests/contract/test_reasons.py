"""Contract: a measure says why it has no value, in every row, and only then."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.catalogue import reason_column
from monitor.messages.reasons import REASONS, Reason
from tests.contract.entries import ENTRIES, N_WINDOW, noisy, rows_of

N = 6 * N_WINDOW
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


@every_entry
@given(
    seed=st.integers(0, 100),
    noise=st.sampled_from([0.02, 0.5, 3.0]),
    silent=st.integers(0, 3 * N_WINDOW),
    dead=st.integers(0, 2 * N_WINDOW),
    bad=st.sets(st.integers(0, N - 1), max_size=2),
)
def test_a_row_has_a_reason_exactly_where_it_lacks_a_value(entry, seed, noise, silent, dead, bad):
    x_c, x_m = noisy(N, entry.n_pairs, seed, noise)
    x_c[:silent] = x_m[:silent] = 0.0
    x_m[N - dead :] = 0.3
    x_m[list(bad)] = np.nan
    rows, names = entry.run(x_c, x_m), [name for name, _, _ in entry.outputs]
    codes = [j for j, output in enumerate(entry.unused.outputs) if output.is_code]
    assert codes
    for code in codes:
        own = [j for j, name in enumerate(names) if reason_column(name) == names[code] and j != code]
        assert set(np.unique(rows[..., code])) <= set(REASONS)
        lacks = np.isnan(rows[..., own]).any(axis=-1)
        np.testing.assert_array_equal(rows[..., code] != Reason.VALID, lacks, err_msg=names[code])


@every_entry
def test_before_the_first_window_and_after_a_gap(entry):
    x_c, x_m = noisy(3 * N_WINDOW, entry.n_pairs)
    indicator = entry.make()
    filling = rows_of(indicator, x_c[: N_WINDOW // 8], x_m[: N_WINDOW // 8])
    assert set(filling[..., -1].ravel()) <= {Reason.FILLING}
    rows_of(indicator, x_c, x_m)
    gap = rows_of(indicator, np.full((3, entry.n_pairs), np.nan), x_m[:3])
    assert set(gap[..., -1].ravel()) == {Reason.BAD_SAMPLE}
