"""The pacer under a clock that the test moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.playback.players import Pacer


class Clock:
    """Sleeping moves it, by a little more than was asked for."""

    def __init__(self, late: float = 0.0) -> None:
        self.time = 1000.0
        self.late = late
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        assert seconds > 0.0
        self.slept.append(seconds)
        self.time += seconds + self.late


def running(speed: float = 1.0, late: float = 0.0) -> tuple[Pacer, Clock]:
    clock = Clock(late)
    pacer = Pacer(speed, clock, clock.sleep)
    pacer.resume()
    return pacer, clock


@given(st.floats(0.01, 1000.0), st.floats(0.0, 0.001), st.integers(1, 300))
def test_sleeping_too_long_does_not_add_up(speed: float, late: float, n: int) -> None:
    pacer, clock = running(speed, late)
    for k in range(n):
        assert pacer.wait(k * 0.01 * speed, 10.0)
        assert clock.time - (1000.0 + k * 0.01) < late + 1e-6
        assert clock.time - (1000.0 + k * 0.01) > -1e-6


def test_a_long_delay_is_made_up_without_sleep() -> None:
    pacer, clock = running()
    clock.time += 5.0
    for k in range(51):
        assert pacer.wait(k * 0.1, 1.0)
    assert clock.slept == []
    assert pacer.wait(5.1, 1.0)
    assert clock.time == pytest.approx(1005.1)


def test_the_timeout_ends_a_wait() -> None:
    pacer, clock = running()
    assert not pacer.wait(2.0, 0.5)
    assert clock.time == pytest.approx(1000.5)
    assert not pacer.wait(2.0, 0.0)
    assert clock.time == pytest.approx(1000.5)
    assert pacer.wait(2.0, 1.5)


def test_time_stands_still_while_paused() -> None:
    pacer, clock = running(2.0)
    clock.time += 1.0
    pacer.pause()
    pacer.pause()
    clock.time += 100.0
    assert pacer.paused
    assert pacer.position == pytest.approx(2.0)
    assert not pacer.wait(1.0, 0.5)
    pacer.resume()
    pacer.resume()
    assert pacer.due(2.0)
    assert not pacer.due(2.1)
    clock.time += 0.05
    assert pacer.due(2.1)


def test_seek_moves_the_position_running_or_paused() -> None:
    pacer, clock = running()
    pacer.seek(50.0)
    clock.time += 1.0
    assert pacer.position == pytest.approx(51.0)
    pacer.pause()
    pacer.seek(7.0)
    clock.time += 1.0
    assert pacer.position == 7.0
    pacer.resume()
    assert pacer.due(7.0)
    assert not pacer.due(7.5)


def test_infinite_speed_waits_for_nothing_but_a_pause() -> None:
    pacer, clock = running(float("inf"))
    assert pacer.wait(1e12, 0.0)
    pacer.pause()
    assert not pacer.wait(0.0, 0.5)
    assert clock.slept == [0.5]


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_that_goes_nowhere_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="must be a positive number"):
        Pacer(speed)


def test_another_speed_holds_from_here_on_without_a_jump() -> None:
    pacer, clock = running(2.0)
    clock.time += 3.0
    pacer.speed = 0.5
    assert pacer.position == pytest.approx(6.0)
    clock.time += 3.0
    assert pacer.position == pytest.approx(7.5)
    pacer.speed = float("inf")
    clock.time += 3.0
    assert pacer.position == pytest.approx(7.5)
    pacer.speed = 1.0
    clock.time += 3.0
    assert pacer.position == pytest.approx(10.5)
    with pytest.raises(ValueError, match="must be a positive number"):
        pacer.speed = 0.0
    pacer.pause()
    pacer.speed = 10.0
    clock.time += 3.0
    assert pacer.position == pytest.approx(10.5)
