"""Every indicator: wrong shapes and settings are refused in one line that names what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.indicators.frequency_domain import FrequencyDomainIndicator
from tests.contract.entries import ENTRIES

every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
KINDS = sorted({type(e.make()) for e in ENTRIES}, key=str)
every_kind = pytest.mark.parametrize("kind", KINDS)


def with_setting(name):
    """Return the classes that have a setting."""
    return [kind for kind in KINDS if name in type(kind.settings).model_fields]


@every_entry
def test_wrong_shapes(entry):
    indicator, p = entry.make(), entry.n_pairs
    wrong = [
        ((10, p), (9, p)),
        ((10, p + 1), (10, p + 1)),
        ((10, p, 1), (10, p, 1)),
        ((), ()),
        ((10,), (10, p)),
        ((10, 0), (10, 0)),
    ]
    for c, m in wrong:
        with pytest.raises(ValueError, match=r"\(n_samples, "):
            indicator.update_block(np.zeros(c), np.zeros(m), *forces(indicator, np.zeros(c)))
    for c, m in ((p + 1, p + 1), (p, p + 1)):
        with pytest.raises(ValueError, match=r"\(n_samples, "):
            indicator.update(np.zeros(c), np.zeros(m), *forces(indicator, np.zeros(c)))
    ones = np.ones((3, p))
    fresh = entry.make().update_block(ones, ones, *forces(indicator, ones))
    np.testing.assert_array_equal(indicator.update_block(ones, ones, *forces(indicator, ones)), fresh)


def forces(indicator, values):
    """Return the third signal where one is needed."""
    return (values,) if indicator.needs_force else ()


@every_entry
def test_masked_samples_are_nan_and_what_are_no_real_numbers_is_named(entry):
    # 9999 under a mask is a sensor's sign of failure, no position
    values = np.sin(0.1 * np.arange(400.0))[:, None] * np.ones(entry.n_pairs)
    masked = np.ma.masked_array(np.where(values > 0.9, 9999.0, values), mask=values > 0.9)
    nan = np.where(values > 0.9, np.nan, values)
    one, other = entry.make(), entry.make()
    as_nan = other.update_block(nan, nan, *forces(other, nan))
    np.testing.assert_array_equal(one.update_block(masked, masked, *forces(one, masked)), as_nan)
    # the sixteenth sample is masked: 1.6 rad
    np.testing.assert_array_equal(one.update(masked[16], masked[16], *forces(one, masked[16])), other.update(
        nan[16], nan[16], *forces(other, nan[16])
    ))  # fmt: skip
    for wrong in (values + 0j, values.astype(str)):
        for call in (one.update_block, one.update):
            with pytest.raises(ValueError, match=r"command of type (complex128|<U32): must be real numbers"):
                call(wrong, values, *forces(one, values))


@every_entry
def test_a_missing_or_cut_force(entry):
    indicator, ones = entry.make(), np.ones((5, entry.n_pairs))
    if indicator.needs_force:
        for force in (None, ones[:4], ones[:, :0]):
            with pytest.raises(ValueError, match="force"):
                indicator.update_block(ones, ones, force)


@every_kind
@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf, "200", None])
def test_sample_rate(kind, rate):
    with pytest.raises(ValueError, match="sample_rate"):
        kind(rate, 2.0)


@every_kind
@pytest.mark.parametrize("window", [0.0, -1.0, np.nan, np.inf, 0.004, "2"])
def test_window(kind, window):
    with pytest.raises(ValueError, match="window"):
        kind(100.0, window)


@every_kind
@pytest.mark.parametrize("name", ["n_pairs", "every"])
@pytest.mark.parametrize("value", [0, -3])
def test_counts(kind, name, value):
    with pytest.raises(ValueError, match=f"{name} = {value}"):
        kind(100.0, 2.0, **{name: value})


@every_kind
def test_an_unknown_option_is_named(kind):
    with pytest.raises(ValueError, match="tapr: there is no such setting"):
        kind(100.0, 2.0, tapr="hann")


@pytest.mark.parametrize("kind", with_setting("gate"))
@pytest.mark.parametrize(
    ("name", "value"), [("gate", -0.1), ("gate", np.nan), *(("relative_gate", x) for x in (-0.1, np.nan, 1.0))]
)
def test_gates(kind, name, value):
    with pytest.raises(ValueError, match=name):
        kind(100.0, 2.0, **{name: value})


@pytest.mark.parametrize("kind", with_setting("band"))
@pytest.mark.parametrize("band", [(5.0, 1.0), (2.0, 2.0), (-1.0, 5.0), (1.0, 50.0), (np.nan, 5.0), (1.0, np.inf)])
def test_band(kind, band):
    with pytest.raises(ValueError, match="band"):
        kind(100.0, 2.0, band=band)


@pytest.mark.parametrize("band", [(1.0, 41.0), (1.1, 1.2)])
def test_band_without_bins(band):
    with pytest.raises(ValueError, match="band"):
        FrequencyDomainIndicator(100.0, 2.0, band=band)


def test_peak():
    with pytest.raises(ValueError, match="peak"):
        FrequencyDomainIndicator(100.0, 2.0, peak="both")
