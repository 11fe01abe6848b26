"""What is left out when time is short, and that nothing else is: decided by the lag, step by step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.catalogue import CATALOGUE
from monitor.config import MEASURES
from monitor.service.load import LoadShedding, shedding_order

ALL = shedding_order(("nrmse", "broadband", "fei", "transfer"))
STEPS = ("viewers", "results", "transfer", "fei", "broadband")


@given(st.sets(st.sampled_from(MEASURES)), st.sets(st.sampled_from(MEASURES)), st.booleans())
def test_what_nobody_judges_goes_first_and_the_headline_last(measures, watched, on_headline):
    headline = {"broadband", "paei", "fdb"} if on_headline else set()
    order = shedding_order(tuple(measures), watched, headline)
    costly = {measure for measure in measures if CATALOGUE[measure].cost}
    # a measure that can speak for the headline goes on, where an alarm is on it
    deputies = [measure for measure in ("paei", "fdb") if measure in measures & headline][:1]
    assert set(order) == costly - set(deputies)
    assert "broadband" not in order[:-1]
    others = [measure in watched for measure in order if measure != "broadband"]
    assert others == sorted(others)
    first = [measure for measure in order if measure not in watched and measure != "broadband"]
    assert first[: len({"transfer", "fei", "paei_adaptive"} & set(first))] == [
        measure for measure in ("transfer", "fei", "paei_adaptive") if measure in first
    ]


def test_one_thing_after_the_other_is_left_out_and_taken_up_again():
    shedding = LoadShedding(ALL)
    said, now, lag = [], 0.0, 0.0
    while len(shedding.shed) < len(STEPS):
        now, lag = now + 0.2, lag + 0.1
        said.append(shedding.update(now, lag))
        assert now < 10.0
    assert shedding.shed == STEPS
    assert shedding.paused == {"broadband", "fei", "transfer"}
    said = [text for text in said if text]
    assert said[0].startswith("overloaded, 0.")
    assert said[0].endswith(" s behind: the feeds of other programs are thinned")
    assert said[1].endswith("published signals and results are thinned, what is recorded is not")
    assert said[2].endswith("transfer is paused")
    began, back = now, []
    while shedding.shed:
        now += 0.2
        back.append(shedding.update(now, 0.0))
        assert now < began + 60.0
    back = [text for text in back if text]
    assert len(back) == len(STEPS)
    assert back[0] == "keeps up again: broadband is computed again"
    assert back[-1] == "keeps up again: the feeds of other programs are complete again"
    assert now >= began + 49.0
    assert not (shedding.thins_viewers or shedding.thins_results or shedding.paused)


def test_a_lag_that_falls_needs_no_more():
    shedding = LoadShedding(ALL)
    shedding.update(0.0, 0.0)
    shedding.update(0.2, 1.9)
    # as at the start of a stream
    assert shedding.shed == ()
    shedding.update(0.4, 2.0)
    assert shedding.shed == ("viewers",)
    for step in range(1, 60):
        assert shedding.update(0.4 + 0.2 * step, 2.0 - 0.03 * step) == ""
    assert shedding.shed == ("viewers",)


def test_a_replay_that_hurries_is_no_overload():
    shedding = LoadShedding(ALL)
    for step in range(100):
        assert shedding.update(0.2 * step, 0.05 * step, faster_than_real_time=True) == ""


def test_only_what_is_computed_is_paused():
    shedding = LoadShedding(shedding_order(("fdb", "transfer")))
    for step in range(100):
        shedding.update(0.2 * step, float(step))
    assert shedding.shed == ("viewers", "results", "transfer", "fdb")


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 5.0)), max_size=200))
def test_steps_are_taken_one_at_a_time_told_and_never_within_a_second(looks):
    shedding = LoadShedding(ALL)
    now, changed = 0.0, -1.0
    for passed, lag in looks:
        now += passed
        before = shedding.shed
        text = shedding.update(now, lag)
        assert bool(text) == (shedding.shed != before)
        if text:
            assert abs(len(shedding.shed) - len(before)) == 1
            assert now - changed >= 1.0
            changed = now
        assert shedding.shed == STEPS[: len(shedding.shed)]
