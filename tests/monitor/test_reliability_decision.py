"""Accept, watch, reject: at the limits, by the standard errors, and with what is not known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reliability.plan import DecisionLimits, ModelVerdict, ReliabilityEstimate, decide

SHARE = st.floats(0.0, 1.0)
ERROR = st.sampled_from([0.0, np.nan, 0.001, 0.05, 0.4])


@st.composite
def limits(draw):
    return DecisionLimits(*sorted(draw(st.tuples(SHARE, SHARE))))


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (0.9, 0.0, ModelVerdict.ACCEPT),
        (0.9, 0.01, ModelVerdict.WATCH),
        (0.92, 0.01, ModelVerdict.ACCEPT),
        (0.919, 0.01, ModelVerdict.WATCH),
        (0.5, 0.0, ModelVerdict.WATCH),
        (0.499, 0.0, ModelVerdict.REJECT),
        (0.499, 0.01, ModelVerdict.WATCH),
        (0.479, 0.01, ModelVerdict.REJECT),
        (1.0, np.nan, ModelVerdict.ACCEPT),
        (0.0, np.nan, ModelVerdict.REJECT),
        (np.nan, 0.0, ModelVerdict.WATCH),
        (np.nan, np.nan, ModelVerdict.WATCH),
    ],
)
def test_one_reliability(value, error, verdict):
    found = decide({"first_passage": ReliabilityEstimate(value, error)}, {"first_passage": DecisionLimits(0.5, 0.9)})
    assert found.verdict is verdict
    assert "first-passage" in found.reason and "\n" not in found.reason
    assert found.verdict is not ModelVerdict.REJECT or "below 0.5" in found.reason
    assert not np.isnan(value) or "not known yet" in found.reason


@given(st.lists(st.tuples(SHARE | st.just(np.nan), ERROR, limits()), min_size=1, max_size=4), st.randoms())
def test_one_rejection_rejects_and_only_all_accept(drawn, random):
    names = ["instantaneous", "first_passage", "accumulated", "windowed"][: len(drawn)]
    estimates = {
        name: ReliabilityEstimate(value, error) for name, (value, error, _) in zip(names, drawn, strict=True)
    }
    wanted = {name: limit for name, (_, _, limit) in zip(names, drawn, strict=True)}
    verdict = decide(estimates, wanted).verdict
    alone = [decide(estimates, {name: limit}).verdict for name, limit in wanted.items()]
    assert verdict is min(alone)
    shuffled = list(wanted.items())
    random.shuffle(shuffled)
    assert decide(estimates, dict(shuffled)).verdict is verdict


@given(low=SHARE, high=SHARE, error=ERROR, limit=limits())
def test_a_higher_reliability_is_never_worse(low, high, error, limit):
    low, high = sorted((low, high))
    worse, better = (decide({"a": ReliabilityEstimate(value, error)}, {"a": limit}).verdict for value in (low, high))
    assert worse <= better


def test_without_limits_it_is_watched():
    assert decide({"accumulated": ReliabilityEstimate(1.0)}, {}).verdict is ModelVerdict.WATCH


def test_a_limit_on_what_is_not_estimated():
    with pytest.raises(ValueError, match="'windowd': there is accumulated, windowed"):
        decide(
            {"windowed": ReliabilityEstimate(1.0), "accumulated": ReliabilityEstimate(1.0)},
            {"windowd": DecisionLimits(0.1, 0.2)},
        )


@pytest.mark.parametrize("pair", [(0.9, 0.5), (-0.1, 0.5), (0.5, 1.1), (np.nan, 0.5), (0.5, np.nan)])
def test_limits_that_are_none(pair):
    with pytest.raises(ValueError, match="must increase, from 0 to 1"):
        DecisionLimits(*pair)


def test_the_numbers_that_are_published():
    assert [int(verdict) for verdict in (ModelVerdict.REJECT, ModelVerdict.WATCH, ModelVerdict.ACCEPT)] == [-1, 0, 1]
