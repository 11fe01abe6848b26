"""Springs that cannot be told from an unknown force: derived by hand from the equations of motion."""

from __future__ import annotations

import numpy as np
import pytest

from sim.missing_force.marginal_fit import confounded_with_force
from sim.models.chain import Chain


@pytest.mark.parametrize(
    ("place", "sensors", "blind"),
    [
        ([1, 0, 0, 0], (1, 3, 4), {"k1"}),
        ([1, 0, 0, 0], (1, 2, 3, 4), {"k1"}),
        # mass 2 is not seen, so that k3 (x3 - x2) may be anything; only the last spring is between two sensors
        ([1, 0, 0, 0], (3, 4), {"k1", "k2", "k3"}),
        # beyond mass 2 nothing is unknown
        ([1, 0, 0, 0], (2, 3), {"k1", "k2"}),
        # one sensor is explained by one force, whatever the springs
        ([1, 0, 0, 0], (4,), {"k1", "k2", "k3", "k4"}),
        # between masses 2 and 3 as the third spring; on mass 2 alone no spring acts
        ([0, 1, -1, 0], (1, 2, 3, 4), {"k3"}),
        ([0, 1, 0, 0], (1, 2, 3, 4), set()),
    ],
)
def test_what_cannot_be_told_from_a_force(place, sensors, blind) -> None:
    load = np.zeros((9, 4))
    load[:, 3] = 1.0
    for damping in (0.0, 0.4):
        chain = Chain(np.ones(4), [100.0, 90.0, 85.0, 110.0], damping)
        found = confounded_with_force(chain, np.array(place, dtype=float)[:, None], load, sensors)
        assert {name for group in found for name in group.names} == blind
        assert not any(group.determined for group in found)


def test_a_force_between_two_masses_of_a_free_chain_hides_the_spring_between_them() -> None:
    chain = Chain(np.linspace(0.4, 0.6, 8), np.linspace(50e3, 60e3, 7), 3.0, grounded=False)
    between, load = np.zeros((8, 1)), np.zeros((5, 8))
    between[4], between[5], load[:, 0] = 1.0, -1.0, 1.0
    for sensors in ((1, 5, 6), tuple(range(1, 9))):
        found = confounded_with_force(chain, between, load, sensors)
        assert {name for group in found for name in group.names} == {"k5"}


def test_one_sensor_beside_one_unknown_force_tells_nothing() -> None:
    # whatever the springs, some force on mass 1 gives its acceleration
    load = np.zeros((5, 2))
    load[:, 0] = 1.0
    found = confounded_with_force(Chain([1.0, 1.0], [100.0, 100.0]), np.eye(2)[:, :1], load, (1,))
    assert {name for group in found for name in group.names} == {"k1", "k2"}


@pytest.mark.parametrize(
    ("places", "load", "sensors", "message"),
    [
        (np.eye(3)[:, :1], np.ones((5, 2)), (1,), r"places \(3, 1\) and load \(5, 2\): give \(2, forces\)"),
        (np.eye(2)[:, :1], np.ones((5, 3)), (1,), r"load \(5, 3\)"),
        (np.eye(2)[:, :1], np.ones((5, 2)), (), "sensors none: give masses 1 to 2, each once"),
        (np.eye(2)[:, :1], np.ones((5, 2)), (0, 1), "sensors 0, 1: give masses 1 to 2, each once"),
        (np.eye(2)[:, :1], np.ones((5, 2)), (1.0, 2), "sensors 1.0, 2: give masses 1 to 2, each once"),
        (np.eye(2)[:, :1], np.zeros((5, 2)), (1,), "no mass is loaded"),
        (np.eye(2)[:, :1], np.full((5, 2), np.nan), (1,), "the load is not finite"),
    ],
)
def test_what_does_not_fit_is_one_line(places, load, sensors, message) -> None:
    with pytest.raises(ValueError, match=message):
        confounded_with_force(Chain([1.0, 1.0], [100.0, 100.0]), places, load, sensors)
