"""Time histories and principal components as metrics: closed forms, definitions in plain numpy, derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from sim.arrays import Samples
from sim.fitting.fit import fit
from sim.fitting.regression import Differentiated
from sim.updating.metric import Correlated, Metric, TimeHistories
from sim.updating.principal_components import PrincipalComponents

_SENSORS, _INSTANTS = 3, 40
_TIME = np.linspace(0.0, 2.0, _INSTANTS)


def _records(parameters: Samples) -> Samples:
    """Return (m, n, s): three sensors on two decaying modes and a trend."""
    first, second, scale = (parameters[:, i, None, None] for i in range(3))
    time = _TIME[:, None]
    one = np.exp(-0.3 * time) * np.sin(first * time) * np.array([1.0, 0.6, 0.2])
    two = np.exp(-0.5 * time) * np.cos(second * time) * np.array([0.3, -0.5, 0.8])
    return np.asarray(scale * (one + two) + 0.1 * first * second * time**2 * np.array([0.1, 0.2, -0.1]))


@dataclass(frozen=True)
class _Modes:
    names = ("first", "second", "scale")
    lower, upper = np.full(3, 0.1), np.full(3, 30.0)

    def evaluate(self, parameters: Samples) -> tuple[Samples, Samples]:
        def flat(at: Samples) -> Samples:
            return _records(at).reshape(len(at), -1)

        return flat(parameters), _sixth_order(flat, parameters)


def _sixth_order(function: Callable[[Samples], Samples], at: Samples, step: float = 2e-3) -> Samples:
    """Return central differences of sixth order by each parameter, (m, k, p)."""
    slopes = []
    for i in range(at.shape[1]):
        shift = step * np.eye(at.shape[1])[i]
        differences = [function(at + k * shift) - function(at - k * shift) for k in (1, 2, 3)]
        slopes.append((45.0 * differences[0] - 9.0 * differences[1] + differences[2]) / (60.0 * step))
    return np.stack(slopes, axis=-1)


def _none(response: Samples) -> Samples:
    return np.empty((*response.shape, 0))


def _cost(metric: Metric, response: Samples) -> float:
    found, _ = metric.features(response[None], _none(response[None]))
    return float(np.sum((metric.observed - found[0]) ** 2))


def _errors(metric: PrincipalComponents, response: Samples) -> tuple[Samples, Samples, Samples]:
    """Return what each shape, value over that of the record, and history is off by."""
    k, s = metric.triples.sensors.shape
    left = metric.observed - metric.features(response[None], _none(response[None]))[0][0]
    return left[: k * s].reshape(k, s), left[k * s : k * s + k], left[k * s + k :].reshape(k, -1)


RECORD = _records(np.array([[6.0, 11.0, 1.0]]))[0]
OTHER = _records(np.array([[6.3, 10.6, 1.1]]))[0]


def test_time_histories_are_weighted_by_the_inverse_of_the_covariance() -> None:
    covariance = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, -0.02], [0.0, -0.02, 0.01]])
    residual = RECORD - OTHER
    expected = sum(row @ np.linalg.solve(covariance, row) for row in residual)
    metric = TimeHistories(RECORD, covariance)
    assert _cost(metric, OTHER) == pytest.approx(expected, rel=1e-12)
    assert _cost(TimeHistories(RECORD), OTHER) == pytest.approx(np.sum(residual**2), rel=1e-12)
    each = np.array([0.1, 0.2, 0.3])
    assert _cost(TimeHistories(RECORD, each), OTHER) == pytest.approx(np.sum((residual / each) ** 2), rel=1e-12)


@pytest.mark.parametrize(
    ("record", "errors", "message"),
    [
        ([[1.0, 2.0], [1.0, np.nan]], 1.0, r"sample 1 of sensor 2 is not finite: delete that instant \(row\)"),
        ([[1.0, 2.0], [1.0]], 1.0, "unequal lengths"),
        ([[1.0, 2.0], [1.0, 3.0]], 0.0, "must be positive"),
        ([[1.0, 2.0], [1.0, 3.0]], 1e-170, "errors 1e-170: its square is out of range"),
        ([[1.0, 2.0], [1.0, 3.0]], [1.0, 1e170], r"errors 1e\+170: its square is out of range"),
        ([[1.0, 2.0], [1.0, 3.0]], [1.0, 1.0, 1.0], "give one standard deviation, 2, one a sensor"),
        ([[1.0, 2.0], [1.0, 3.0]], [[1.0, 1.0], [1.0, 1.0]], "singular"),
        ([[1.0, 2.0], [1.0, 3.0]], [[1.0, 0.2], [0.1, 1.0]], "symmetric"),
    ],
)
def test_a_record_or_errors_that_make_no_metric_are_one_line(
    record: list[object], errors: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        TimeHistories(record, errors)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("metric", [TimeHistories(RECORD), PrincipalComponents(RECORD, count=2)])
def test_a_response_of_another_length_is_one_line(metric: Metric) -> None:
    with pytest.raises(ValueError, match="40 instants at 3 sensors and a response of shape") as raised:
        _cost(metric, RECORD[:-1])
    assert "\n" not in str(raised.value)


def test_a_larger_record_has_the_same_vectors_and_values_too_large() -> None:
    sensors, values, instants = _errors(PrincipalComponents(RECORD, count=3), 1.1 * RECORD)
    assert values == pytest.approx(-0.1, abs=1e-14)
    assert np.abs(sensors).max() < 1e-12
    assert np.abs(instants).max() < 1e-12


@pytest.mark.parametrize("shift", [1, 7])
def test_a_rolled_record_differs_in_its_right_vectors_only(shift: int) -> None:
    rolled = np.roll(RECORD, shift, axis=0)
    sensors, values, found = _errors(PrincipalComponents(RECORD, count=3), rolled)
    assert np.abs(values).max() < 1e-13
    assert np.abs(sensors).max() < 1e-12
    instants = np.linalg.svd(RECORD.T, full_matrices=False)[2]
    expected = instants - np.roll(instants, shift, axis=1)
    sign = np.sign(np.sum(expected * found, axis=1, keepdims=True))
    assert found == pytest.approx(sign * expected, abs=1e-12)


def test_an_opposite_record_has_opposite_right_vectors() -> None:
    """Shapes have no sign, time histories of them do: -U is the same shapes moving the other way."""
    metric = PrincipalComponents(RECORD, count=2)
    sensors, _, instants = _errors(metric, -RECORD)
    assert np.abs(sensors).max() < 1e-12
    assert instants == pytest.approx(2.0 * metric.triples.instants, abs=1e-12)


def _defined(record: Samples, response: Samples, k: int) -> float:
    """Return J of the first k triples by its definition; matched by the order, which is the same here."""
    left, values, right = np.linalg.svd(record.T, full_matrices=False)
    left_p, values_p, right_p = np.linalg.svd(response.T, full_matrices=False)
    total = 0.0
    for j in range(k):
        sign = np.sign(left[:, j] @ left_p[:, j])
        total += np.sum((left[:, j] - sign * left_p[:, j]) ** 2) + np.sum((right[j] - sign * right_p[j]) ** 2)
        total += ((values[j] - values_p[j]) / values[j]) ** 2
    return float(total)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_cost_is_that_of_the_definition(count: int) -> None:
    metric = PrincipalComponents(RECORD, count=count)
    assert _cost(metric, OTHER) == pytest.approx(_defined(RECORD, OTHER, count), rel=1e-10)


def test_the_number_of_triples_follows_from_the_energy() -> None:
    values = np.linalg.svd(RECORD, compute_uv=False)
    shares = np.cumsum(values**2) / np.sum(values**2)
    for count in (1, 2, 3):
        assert len(PrincipalComponents(RECORD, energy=float(shares[count - 1]) - 1e-6).triples.values) == count
    assert len(PrincipalComponents(RECORD, energy=1.0).triples.values) == 3


def test_triples_that_changed_their_order_are_matched_by_shape() -> None:
    shapes, histories = np.eye(3)[:2], np.linalg.qr(np.vander(_TIME, 2))[0].T
    record = 2.0 * np.outer(histories[0], shapes[0]) + 1.0 * np.outer(histories[1], shapes[1])
    response = 1.4 * np.outer(histories[0], shapes[0]) + 1.6 * np.outer(histories[1], shapes[1])
    sensors, values, _ = _errors(PrincipalComponents(record, count=2), response)
    assert values == pytest.approx([0.3, -0.6])
    assert np.abs(sensors).max() < 1e-13


@pytest.mark.parametrize("kind", ["apart", "group", "fewer instants than sensors"])
def test_derivatives_of_values_and_vectors(kind: str) -> None:
    record, response = RECORD, _records
    if kind == "group":
        # nearly equal singular values, in record and response
        record, response = _nearly_equal(np.array([[0.0, 0.0, 0.0]]))[0], _nearly_equal
    if kind == "fewer instants than sensors":
        record, response = RECORD[5:7], lambda at: _records(at)[:, 5:7]
    metric = PrincipalComponents(record, count=2, weights=(1.0, 2.0, 0.5))
    assert (len(metric.groups) == 1) == (kind == "group")
    at = np.array([[6.1, 10.8, 1.05], [5.8, 11.3, 0.9]]) if kind != "group" else np.array([[0.02, -0.01, 0.03]])

    def features(parameters: Samples) -> Samples:
        found = response(parameters)
        return metric.features(found, _none(found))[0]

    found, derivatives = metric.features(response(at), _sixth_order(response, at))
    assert found == pytest.approx(features(at))
    expected = _sixth_order(features, at, 1e-3)
    assert np.abs(derivatives - expected).max() < 1e-8 * np.abs(expected).max()


def _nearly_equal(parameters: Samples) -> Samples:
    """Return (m, n, s) with singular values close to 1, 0.999 and 0.3 and vectors that depend on parameters."""
    generator = np.random.default_rng(4)
    histories = np.linalg.qr(generator.normal(size=(_INSTANTS, 4)))[0]
    base = histories[:, :3] * np.array([1.0, 0.999, 0.3])
    ways = generator.normal(size=(3, _INSTANTS, 4)) / 5.0
    changed = base @ np.eye(3, 4) + np.einsum("mp,pns->mns", parameters, ways)
    return np.asarray(changed + np.einsum("mp,mq,pns->mns", parameters, parameters, ways))


def test_a_group_does_not_depend_on_how_its_vectors_are_turned() -> None:
    """Exactly equal values: any rotation of the vectors is a decomposition of the same record."""
    histories = np.linalg.qr(np.vander(_TIME, 3))[0]
    record = histories @ np.diag([1.0, 1.0, 0.2])
    metric = PrincipalComponents(record, count=3)
    assert metric.groups == ((0, 1), (2,))
    nearly = record + 1e-9 * np.random.default_rng(2).normal(size=record.shape)
    assert max(np.abs(each).max() for each in _errors(metric, nearly)) < 1e-7
    assert _errors(metric, 1.1 * nearly)[1] == pytest.approx(-0.1, abs=1e-7)


@pytest.mark.parametrize("response", [np.zeros_like(RECORD), np.full_like(RECORD, np.inf)])
def test_a_response_without_the_triples_is_not_a_number(response: Samples) -> None:
    metric = PrincipalComponents(RECORD, count=2)
    found, derivatives = metric.features(response[None], np.zeros((1, *response.shape, 2)))
    assert np.isnan(found).any()
    assert derivatives.shape == (1, metric.observed.size, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"record": np.zeros((5, 2))}, "zero everywhere"),
        ({"count": 4}, "3 singular triples, give 1 to 3"),
        ({"count": 0}, "give 1 to 3"),
        ({"count": 1.5}, "count 1.5: the record has 3 singular triples, give 1 to 3"),
        ({"energy": 0.0}, r"must be in \(0, 1\]"),
        ({"weights": (0.0, 0.0, 0.0)}, "give three, none negative"),
        ({"record": np.outer(_TIME, [1.0, 2.0, 3.0]), "count": 2}, "has 1 singular triples"),
    ],
)
def test_components_that_the_record_has_not_are_one_line(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        PrincipalComponents(**{"record": RECORD, **settings})  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("metric", [TimeHistories(RECORD, 0.1), PrincipalComponents(RECORD, count=2)])
def test_a_fit_by_a_metric_finds_the_parameters(metric: Metric) -> None:
    found = fit(Correlated(_Modes(), metric), metric.observed, np.array([5.8, 11.4, 1.3]))
    assert found.converged
    assert found.parameters == pytest.approx([6.0, 11.0, 1.0], abs=1e-6)


@pytest.mark.parametrize("vectorized", [False, True])
def test_a_transposed_response_is_refused(vectorized: bool) -> None:
    metric = TimeHistories(RECORD)

    def response(p: Samples) -> Samples:
        found = _records(np.atleast_2d(p)).transpose(0, 2, 1)
        return found if vectorized else found[0]

    model = Differentiated(response, ("a", "b", "c"), vectorized=vectorized)
    with pytest.raises(ValueError, match=r"returns 3 by 40 numbers.* return instants by sensors") as raised:
        fit(Correlated(model, metric), metric.observed, np.array([5.8, 11.4, 1.3]))
    assert "\n" not in str(raised.value)
