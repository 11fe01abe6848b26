"""Units that read well, and long loops drawn from few points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF

from gui.plots.value_axis import deviation_text, prefixed_unit
from gui.plots.xy.curves import decimate_loop
from gui.plots.xy.plot import NumberAxis, extent, tabular


@pytest.mark.parametrize(
    ("unit", "limits", "shown"),
    [
        ("m", (-0.05, 0.04), (1e3, "mm")),
        ("m", (0.0, 2.0), (1.0, "m")),
        ("N", (-30e3, 1.0), (1e-3, "kN")),
        ("m", (0.0, 3e-6), (1e6, "µm")),
        ("mm", (0.0, 0.01), (1.0, "mm")),
        ("", (0.0, 1e6), (1.0, "")),
        ("m", (0.0, 0.0), (1.0, "m")),
    ],
)
def test_units_take_prefixes_that_make_numbers_short(unit, limits, shown):
    factor, name = prefixed_unit(unit, limits)
    assert (factor, name) == (pytest.approx(shown[0]), shown[1])


def test_the_extent_leaves_out_what_is_no_number():
    assert extent(np.array([np.nan, 3.0, -1.0, np.nan])) == (-1.0, 3.0)
    assert np.isnan(extent(np.array([np.nan]))).all()


def test_a_doubt_too_small_to_show_is_not_shown_as_none():
    assert deviation_text(0.26, 1) == " ± 0.3"
    assert deviation_text(0.001, 2) == " ± <0.01"
    assert deviation_text(0.0, 2) == " ± 0.00"
    assert deviation_text(float("nan"), 2) == ""


@given(n=st.integers(0, 3000), first=st.integers(0, 10**9), seed=st.integers(0, 99), gaps=st.booleans())
def test_few_points_keep_every_corner(n, first, seed, gaps):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(2, n)).cumsum(axis=1)
    if gaps:
        x[random.random(n) < 0.05] = np.nan
    chosen = decimate_loop(first, x, y, most=200)
    assert (np.diff(chosen) > 0).all()
    # a stretch at each end may be cut, and a gap costs a point more in each
    assert len(chosen) <= max(200, 200 * (1.25 if gaps else 1.0) + 10)
    good = np.isfinite(x)
    if good.any():
        kept = chosen[np.isfinite(x[chosen])]
        for values in (x, y):
            assert values[kept].min() == values[good].min()
            assert values[kept].max() == values[good].max()


def test_points_stay_chosen_while_the_window_moves_on():
    x, y = np.random.default_rng(3).normal(size=(2, 9000))
    before = set(decimate_loop(0, x[:8000], y[:8000], most=500).tolist())
    after = {row + 700 for row in decimate_loop(700, x[700:8700], y[700:8700], most=500).tolist()}
    # but in the stretches that an end of either window cuts
    inner = range(1024, 7680)
    assert {row for row in before if row in inner} == {row for row in after if row in inner}


def test_a_gap_stays_a_gap():
    x, y = np.linspace(0.0, 1.0, 10_000), np.zeros(10_000)
    y[5000] = np.nan
    chosen = decimate_loop(0, x, y, most=100)
    assert np.isnan(y[chosen]).sum() == 1


@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("height", [40, 60, 120, 300])
def test_labels_of_a_low_value_axis_do_not_touch(qapp, scale, height):
    axis, font = NumberAxis("left"), tabular(scale)
    axis.setStyle(tickFont=font, maxTickLevel=0)
    step = axis.tickSpacing(0.0, 1.05, height)[0][0]
    line = QFontMetricsF(font).height()
    # two labels at least, and no more than have room
    assert step <= 1.0
    assert step == 1.0 or step * height / 1.05 >= line * (1.0 - 1e-9)
