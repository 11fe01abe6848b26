"""The demonstration with a compensator in its loops."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.compensation.methods import METHODS
from monitor.messages.blocks import Role, Samples
from replay.formats.base import Recording
from replay.simulations import simulation, tracking_tests
from tests.mistakes import refusal_of

_RATE = 1024


def _columns(recording: Recording) -> dict[str, Samples]:
    samples = np.concatenate([block.samples for block in recording.blocks(4096)])
    return {channel.name: samples[:, i] for i, channel in enumerate(recording.stream.channels)}


@pytest.fixture(scope="module")
def adapted() -> Recording:
    return simulation("hybrid", duration=18.0, compensation="fdb")


def test_without_compensation_the_loop_is_that_of_the_demonstration() -> None:
    plain, same = (_columns(simulation("hybrid", duration=2.0, compensation=name)) for name in (None, "none"))
    for name in ("command", "measured", "force"):
        for actuator in ("north", "south"):
            expected = plain[f"{actuator}.{name}"]
            np.testing.assert_allclose(same[f"{actuator}.{name}"], expected, rtol=0.0, atol=1e-9 * np.ptp(expected))
    np.testing.assert_array_equal(same["north.sent"], same["north.command"])
    np.testing.assert_allclose(same["north.actuator_delay"], plain["north.true_delay"])


def test_it_is_computed_in_short_pieces_as_it_is_read(monkeypatch) -> None:
    steps = []
    observe = tracking_tests._Observed.observe
    monkeypatch.setattr(
        tracking_tests._Observed, "observe", lambda self, *both: (steps.append(1), observe(self, *both))[1]
    )
    next(iter(simulation("hybrid", duration=18.0, compensation="fdb").blocks(16)))
    # an eighth of a second, and not seconds in one go
    assert 16 <= len(steps) <= _RATE // 4


def test_the_columns_of_the_compensator_are_channels(adapted) -> None:
    stream = adapted.stream
    assert [pair.actuator for pair in stream.pairs] == ["north", "south", "roof"]
    found = {channel.name: channel for channel in stream.channels}
    for name, unit in (("sent", "m"), ("compensated_delay", "s"), ("compensator_gain", "1"), ("actuator_delay", "s")):
        assert (found[f"north.{name}"].role, found[f"north.{name}"].unit) == (Role.AUXILIARY, unit)
    assert "north.true_delay" not in found


def test_the_compensator_follows_delays_that_change(adapted) -> None:
    found = _columns(adapted)
    # of north from 12 to 25 ms at 6 s, to -2 ms at 12 s
    for end, delay in ((5.9, 12e-3), (11.9, 25e-3), (17.9, -2e-3)):
        assert found["north.compensated_delay"][round(end * _RATE)] == pytest.approx(delay, abs=1e-3)
    plain = _columns(simulation("hybrid", duration=18.0, compensation="none"))
    for actuator in ("north", "south"):
        late = slice(-_RATE, None)
        errors = [
            float(np.std((each[f"{actuator}.measured"] - each[f"{actuator}.command"])[late]))
            for each in (found, plain)
        ]
        assert errors[0] < 0.2 * errors[1]


@pytest.mark.parametrize("name", METHODS)
def test_every_compensator_can_be_streamed(name) -> None:
    found = _columns(simulation("hybrid", duration=1.0, compensation=name))
    assert all(len(column) == _RATE for column in found.values())
    assert {"roof.command", "roof.compensated_delay", "roof.actuator_delay"} <= set(found)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["hybrid", "--compensate", "x"], "'x': must be one of none, fixed, ats, recursive, fdb, paei, broadband"),
        (["plant", "--compensate", "fdb"], "the simulation 'plant' has no loop to compensate: choose hybrid"),
        ([__file__, "--compensate", "fdb"], "is not a simulation"),
    ],
)
def test_mistakes_are_one_line(words, complaint, capsys) -> None:
    assert complaint in refusal_of(capsys, "replay", *words, "--duration", "0.2", "--no-wait")


@pytest.mark.parametrize("words", [[], ["--compensate", "fixed"]])
def test_a_test_that_leaves_its_stroke_ends_in_one_line(words, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sim.cases.hybrid._STROKE", 0.002)
    assert main(["replay", "hybrid", *words, "--duration", "3", "--no-wait"]) == 2
    said = capsys.readouterr()
    assert "the simulation ends early: command 1 beyond the stroke of 0.002 m at " in said.err
    assert said.err.count("\n") == 1
