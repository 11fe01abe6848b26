"""What is left out when time is short, and that nothing else is: decided by the lag, step by step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from monitor.service.load import LoadShedding

ALL = ("fdb", "broadband", "fei", "transfer")
STEPS = ("viewers", "results", "broadband", "fei", "transfer")


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
    assert said[2].endswith("broadband is paused")
    began, back = now, []
    while shedding.shed:
        now += 0.2
        back.append(shedding.update(now, 0.0))
        assert now < began + 60.0
    back = [text for text in back if text]
    assert len(back) == len(STEPS)
    assert back[0] == "keeps up again: transfer is computed again"
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
    shedding = LoadShedding(("fdb", "transfer"))
    for step in range(100):
        shedding.update(0.2 * step, float(step))
    assert shedding.shed == ("viewers", "results", "transfer")


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
