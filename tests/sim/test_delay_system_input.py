"""Every mistake in what is given to a delay system is told in one line of ours."""

import numpy as np
import pytest

from sim.models.delay_system import DelaySystem

GOOD = {
    "a0": -np.eye(2),
    "initial": np.ones(2),
    "a1": np.eye(2),
    "history": lambda time: np.ones((len(time), 2)),
    "g": np.ones((2, 1)),
    "disturbance": lambda time: np.ones((len(time), 1)),
    "c": np.ones((1, 2)),
}


def spoilt(value):
    matrix = np.eye(2)
    matrix[0, 1] = value
    return matrix


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("a0", np.eye(3), r"a0: must be of shape \(2, 2\), not \(3, 3\)"),
        ("a0", -1.0, r"a0: must be of shape \(2, 2\), not \(\)"),
        ("a0", None, r"a0: must be of shape \(2, 2\), of real numbers, not of object"),
        ("a0", [[1.0, 2.0], [3.0]], r"a0: must be of shape \(2, 2\), its rows differ in length"),
        ("a0", 1j * np.eye(2), r"a0: must be of shape \(2, 2\), of real numbers, not of complex128"),
        ("a0", spoilt(np.nan), r"a0\[0, 1\] nan: must be a finite number"),
        ("a1", spoilt(np.inf), r"a1\[0, 1\] inf: must be a finite number"),
        ("a1", np.ones(2), r"a1: must be of shape \(2, 2\), not \(2,\)"),
        ("g", np.ones((3, 1)), r"g: must be of shape \(2, l\), not \(3, 1\)"),
        ("g", np.full((2, 1), -np.inf), r"g\[0, 0\] -inf: must be a finite number"),
        ("g", None, "g and disturbance belong together, give both"),
        ("c", np.ones(2), r"c: must be of shape \(p, 2\), not \(2,\)"),
        ("c", [[np.nan, 1.0]], r"c\[0, 0\] nan: must be a finite number"),
        ("initial", 5.0, r"initial: must be of shape \(n,\), not \(\)"),
        ("initial", [], "initial: must have one state or more"),
        ("initial", [1.0, np.nan], r"initial\[1\] nan: must be a finite number"),
        ("initial", ["a", "b"], r"initial: must be of shape \(n,\), of real numbers, not of <U1"),
        ("delay", np.nan, "delay nan: must be a positive number, in s"),
        ("delay", np.inf, "delay inf: must be a positive number, in s"),
        ("delay", "1", "delay 1: must be a positive number, in s"),
        ("breaks", (0.1, np.nan), r"breaks\[1\] nan: must be a finite number"),
        ("breaks", 0.1, r"breaks: must be of shape \(n_breaks,\), not \(\)"),
        ("longest_element", 0.0, "longest_element 0.0: must be a positive number, in s"),
        ("longest_element", np.nan, "longest_element nan: must be a positive number, in s"),
        ("history", np.ones(2), r"history: must be a function of the times \[s\], not ndarray"),
        ("disturbance", 1.0, r"disturbance: must be a function of the times \[s\], not float"),
    ],
)
def test_of_what_it_is_made(name, value, complaint):
    with pytest.raises(ValueError, match=f"^delay system:? {complaint}$"):
        DelaySystem(**{**GOOD, name: value})


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        (
            "history",
            lambda time: np.ones(2),
            r"history: at 13 times must return an array of shape \(13, 2\), not \(2,\)",
        ),
        ("history", lambda time: np.full((len(time), 2), np.nan), "history nan at -1 s: must return finite numbers"),
        ("disturbance", np.sin, r"disturbance: at 39 times must return an array of shape \(39, 1\), not \(39,\)"),
        ("disturbance", lambda time: None, r"disturbance: .* of real numbers, not of object"),
        (
            "disturbance",
            lambda t: np.where(t > 1.2, np.inf, 0.0)[:, None],
            r"disturbance inf at 1\.2.* s: must return finite.*",
        ),
        (
            "disturbance",
            lambda t: np.random.default_rng(1).standard_normal((len(t), 1)),
            r"disturbance or history: is too fast or jumps too often from 0 s of a delay on, 166666 elements are "
            "allowed; name where it jumps in breaks, or give an earlier end",
        ),
        ("longest_element", 1e-300, r"end 3.0: needs 3e\+300 elements, 500000 are allowed"),
        ("delay", 1e-300, r"end 3.0: needs 3e\+300 elements, 500000 are allowed"),
        ("a0", 1e300 * np.eye(2), "end 3.0: needs .* elements, 500000 are allowed"),
        ("a0", 900.0 * np.eye(2), "end 3: overflows after 0.7.* s, give an earlier end"),
    ],
)
def test_of_what_it_is_asked(name, value, complaint):
    system = DelaySystem(**{**GOOD, name: value})
    with pytest.raises(ValueError, match=f"^delay system {complaint}$"):
        system.solve(3.0)


@pytest.mark.parametrize("end", [0.0, -1.0, np.nan, np.inf])
def test_until_when(end):
    with pytest.raises(ValueError, match=f"^delay system end {end}: must be a positive number, in s$"):
        DelaySystem(**GOOD).solve(end)


@pytest.mark.parametrize("time", [-0.1, 3.5, np.nan, [[1.0]]])
def test_of_which_instants(time):
    with pytest.raises(ValueError, match=r"^delay system time: must be "):
        DelaySystem(**GOOD).solve(3.0)(time)


def test_lists_and_whole_numbers_are_as_good_as_arrays():
    found = DelaySystem([[-1]], [5], [[0]], 1).solve(2)([0.0, 1.0, 2.0])
    np.testing.assert_allclose(found[:, 0], 5.0 * np.exp([0.0, -1.0, -2.0]), rtol=1e-12)
