"""A whole validation beside the definition: replicates, sites as a product and jointly, holes, lags, decision."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.reliability.decision import DecisionLimits, ModelVerdict
from monitor.reliability.ensemble import sort_ensemble
from replay.commands.validate_report import validation_drawing
from replay.formats import RecordingError
from replay.pictures import DPI
from replay.validation import validation as site_module
from replay.validation.history_measures import area_metric
from replay.validation.records import MeasuredRecord, Prediction, read_tolerance
from replay.validation.validation import Site, validate

TIME = 0.02 * np.arange(201)


def motion(time, number=0):
    return 2.0 + np.cos(2.0 * np.pi * np.multiply.outer(time, [0.7, 1.3, 2.9]) + number + np.arange(3)).sum(axis=-1)


def realizations(number=0, m=40):
    rng = np.random.default_rng(number)
    return motion(TIME, number)[:, None] * rng.normal(1.0, 0.1, m) + rng.normal(0.0, 0.05, (201, m))


def model(number=0, m=40, unit=""):
    return sort_ensemble(TIME, realizations(number, m), unit, f"site {number}")


def record(number=0, replicate=0, late=0.0, unit=""):
    rng = np.random.default_rng([number, replicate])
    response = motion(TIME - late, number) * rng.normal(1.0, 0.05) + rng.normal(0.0, 0.02, 201)
    return MeasuredRecord(f"r{number}{replicate}.csv", TIME, response, unit)


def site(number=0, replicates=2, m=40):
    return Site(model(number, m), tuple(record(number, replicate) for replicate in range(replicates)))


def within(one, share):
    """Return (n_times, n_replicates, M), strictly, with the tolerance as the paper prints it."""
    measured = np.column_stack([r.response for r in one.records])
    return np.abs(one.model.response[:, None, :] - measured[:, :, None]) < share * np.abs(measured)[:, :, None]


def definition(inside):
    """Return instantaneous, first-passage and accumulated reliability of (n_times, n, M), (n_times,) each."""
    survives = np.logical_and.accumulate(inside, axis=0)
    instantaneous = inside.mean(axis=(1, 2))
    return instantaneous, survives.mean(axis=(1, 2)), np.cumsum(instantaneous) / np.arange(1, len(inside) + 1)


def curves(reliability):
    return [curve.value for curve in reliability.curves[:3]]


def assert_all_close(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


@given(st.integers(1, 4), st.integers(1, 30), st.sampled_from([0.02, 0.1, 0.4]))
def test_one_site_is_the_definition(replicates, m, share):
    one = site(0, replicates, m)
    found = validate([one], read_tolerance(f"{100.0 * share}%"))
    assert_all_close(curves(found.reliability), definition(within(one, float(f"{100.0 * share}") / 100.0)))
    assert found.n_assessed == 201
    np.testing.assert_array_equal(found.time, TIME)


def test_the_comparison_is_strict():
    exact = sort_ensemble(TIME, np.tile([1.0, 1.25, 1.5], (201, 1)))
    one = Site(exact, (MeasuredRecord("r.csv", TIME, np.ones(201)),))
    strictly, loosely = (
        validate([one], read_tolerance(text)).reliability.accumulated.value for text in ("25%", "0.25001")
    )
    np.testing.assert_allclose(strictly, 1.0 / 3.0, rtol=1e-12)
    np.testing.assert_allclose(loosely, 2.0 / 3.0, rtol=1e-12)


def test_sites_are_multiplied():
    sites = [site(0, 2), site(1, 1), site(2, 3)]
    found = validate(sites, read_tolerance("20%"))
    expected = np.prod([definition(within(one, 0.2)) for one in sites], axis=0)
    assert_all_close(curves(found.reliability), expected)
    for result, one in zip(found.sites, sites, strict=True):
        assert_all_close(curves(result.reliability), definition(within(one, 0.2)))


def test_jointly_a_realization_is_within_at_every_site():
    sites = [site(0, 2), site(1, 3)]
    found = validate(sites, read_tolerance("20%"), joint=True)
    insides = [within(one, 0.2) for one in sites]
    # a combination of replicates takes the place of a replicate
    pairs = [insides[0][:, i] & insides[1][:, j] for i, j in product(range(2), range(3))]
    assert_all_close(curves(found.reliability), definition(np.stack(pairs, axis=1)))


def test_an_instant_without_a_sample_is_not_judged_and_the_others_know_nothing_of_it():
    one = site()
    response = one.records[1].response.copy()
    holes = [0, 1, 60, 199, 200]
    response[holes] = np.nan
    cut = Site(one.model, (one.records[0], replace(one.records[1], response=response)))
    found = validate([cut], read_tolerance("20%"))
    kept = np.delete(np.arange(201), holes)
    expected = [np.full(201, np.nan) for _ in range(3)]
    for row, values in zip(expected, definition(within(one, 0.2)[kept]), strict=True):
        row[kept] = values
    # from the first to the last that was judged
    assert_all_close(curves(found.reliability), [row[2:199] for row in expected])
    np.testing.assert_array_equal(found.time, TIME[2:199])
    assert found.n_assessed == 196
    assert any("5 of 201 instants are not assessed" in note for note in found.notes)


@pytest.mark.parametrize("late", [0.06, -0.08, 0.033, -0.047])
def test_a_lag_is_always_told_and_taken_out_only_if_asked(late):
    one = Site(model(), (record(0, 0, late), record(0, 1, late)))
    for align in ("no", "common", "each"):
        found = validate([one], read_tolerance("20%"), align=align).sites[0]
        assert found.lags == pytest.approx((late, late), abs=2e-3)
        assert found.shifts == ((0.0, 0.0) if align == "no" else pytest.approx((late, late), abs=2e-3))
    straight = validate([site()], read_tolerance("20%")).reliability.accumulated.value[-1]
    crooked, aligned = (
        validate([one], read_tolerance("20%"), align=align).reliability.accumulated.value[-1]
        for align in ("no", "common")
    )
    assert crooked < straight - 0.1
    assert aligned == pytest.approx(straight, abs=0.03)


def test_alignment_is_by_the_mean_or_by_each_its_own():
    one = Site(model(), (record(0, 0, 0.08), record(0, 1, -0.02)))
    common, each = (validate([one], read_tolerance("20%"), align=align).sites[0] for align in ("common", "each"))
    assert common.shifts == pytest.approx((0.03, 0.03), abs=2e-3) and common.shifts[0] == common.shifts[1]
    assert each.shifts == pytest.approx((0.08, -0.02), abs=2e-3)
    assert common.lags == each.lags


def test_a_record_without_motion_is_judged_but_not_aligned():
    still = MeasuredRecord("still.csv", TIME, np.full(201, 2.0))
    one = Site(model(), (still,))
    found = validate([one], read_tolerance("0.5"))
    assert np.isnan(found.sites[0].lags).all() and found.sites[0].shifts == (0.0,)
    assert_all_close(curves(found.reliability), definition(np.abs(one.model.response[:, None, :] - 2.0) < 0.5))
    with pytest.raises(RecordingError, match=r"^still\.csv: its correlation with the model has no clear peak"):
        validate([one], read_tolerance("0.5"), align="each")


def test_units_that_differ_are_refused_and_one_unit_written_in_two_ways_is_not():
    for mine, theirs, fits in (
        ("mm", "m", False),
        ("mN", "MN", False),
        ("in/s^2", "in/s2", True),
        ("m/s²", "m/s^2", True),
        ("m", "", True),
    ):
        one = Site(model(unit=mine), (record(unit=theirs),))
        if fits:
            validate([one], read_tolerance("20%"))
        else:
            with pytest.raises(RecordingError, match=rf"is in {theirs}, the model in {mine}: convert one"):
                validate([one], read_tolerance("20%"))


def test_one_realization_one_instant_one_replicate():
    found = validate([site(0, 1, 1)], read_tolerance("20%"))
    assert set(found.reliability.instantaneous.value) <= {0.0, 1.0}
    assert np.isnan(found.reliability.accumulated.standard_error).all()
    assert any("a single realization" in note for note in found.notes)
    instant = Site(sort_ensemble(TIME[7:8], realizations()[7:8]), (record(), record(0, 1)))
    found = validate([instant], read_tolerance("20%"))
    both = np.array([r.response[7] for r in instant.records])[:, None]
    expected = (np.abs(realizations()[7] - both) < 0.2 * np.abs(both)).mean()
    assert_all_close(curves(found.reliability), [[expected]] * 3)
    assert found.sites[0].comparisons == (None, None)


def test_the_measures_beside_are_of_the_models_mean():
    one = site(0, 1)
    (found,) = validate([one], read_tolerance("20%")).sites[0].comparisons
    mean, measured = one.model.response.mean(axis=1), one.records[0].response
    assert found.relative_rms_error == pytest.approx(np.sqrt(np.mean((mean - measured) ** 2) / np.mean(measured**2)))
    assert found.sprague_geers_magnitude == pytest.approx(np.sqrt(np.mean(mean**2) / np.mean(measured**2)) - 1.0)
    area = validate([one], read_tolerance("20%")).sites[0].area
    # of a single measurement the area is the mean distance
    assert area == pytest.approx(np.abs(one.model.response - measured[:, None]).mean())


def test_the_window_is_in_seconds():
    one = site()
    inside = within(one, 0.2)
    for window, n in ((None, 40), (0.2, 10), (1e-9, 1)):
        found = validate([one], read_tolerance("20%"), window=window).reliability.windowed.value
        np.testing.assert_allclose(found[n - 1 :], [inside[q : q + n].mean() for q in range(202 - n)], rtol=1e-12)
        assert np.isnan(found[: n - 1]).all()
    with pytest.raises(ValueError, match="must be a positive time"):
        validate([one], read_tolerance("20%"), window=0.0)


def test_the_decision_is_at_the_last_instant_that_was_judged():
    one = site()
    response = one.records[0].response.copy()
    response[150:] = np.nan
    cut = Site(one.model, (replace(one.records[0], response=response),))
    value = float(validate([cut], read_tolerance("10%")).reliability.accumulated.value[-1])
    assert 0.2 < value < 0.8
    for low, high, verdict in ((0.0, value - 0.2, ModelVerdict.ACCEPT), (value + 0.2, 1.0, ModelVerdict.REJECT)):
        decision = validate([cut], read_tolerance("10%"), limits={"accumulated": DecisionLimits(low, high)}).decision
        assert decision.verdict is verdict and f"{value:.3f}" in decision.reason
    assert validate([cut], read_tolerance("20%")).decision.verdict is ModelVerdict.WATCH


def test_a_prediction_stands_where_an_ensemble_does_but_not_jointly():
    sure = Prediction(TIME, motion(TIME), np.zeros(201))
    one = Site(sure, (record(),))
    found = validate([one, site(1, 1)], read_tolerance("20%"))
    measured = record().response
    inside = np.abs(motion(TIME) - measured) < 0.2 * np.abs(measured)
    expected = [
        a * b for a, b in zip(definition(inside[:, None, None]), definition(within(site(1, 1), 0.2)), strict=True)
    ]
    assert_all_close(curves(found.reliability), expected)
    assert np.isnan(found.sites[0].area)
    with pytest.raises(ValueError, match="--joint: a prediction has no realizations in common"):
        validate([one, site(1, 1)], read_tolerance("20%"), joint=True)


def test_what_cannot_be_judged():
    nothing = MeasuredRecord("r.csv", TIME, np.full(201, np.nan))
    with pytest.raises(RecordingError, match="nothing can be assessed"):
        validate([Site(model(), (nothing,))], read_tolerance("20%"))
    later = sort_ensemble(TIME + 1.0, realizations())
    with pytest.raises(ValueError, match="different instants"):
        validate([site(), Site(later, (record(),))], read_tolerance("20%"))


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_the_picture_has_a_row_for_every_site_and_one_for_the_reliabilities(tmp_path, suffix):
    path = tmp_path / f"v{suffix}"
    holes = record(1).response.copy()
    holes[20:60] = np.nan
    sites = [
        site(),
        Site(Prediction(TIME, motion(TIME, 1), np.full(201, 0.2), "mm"), (replace(record(1), response=holes),)),
    ]
    validation_drawing(validate(sites, read_tolerance("20%"))).savefig(path, dpi=DPI)
    head = path.read_bytes()[:64]
    assert head.startswith({".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    if suffix == ".png":
        width, height = (int.from_bytes(head[at : at + 4], "big") for at in (16, 20))
        assert (width, height) == (990, 990)
        validation_drawing(validate(sites[:1], read_tolerance("20%"))).savefig(path, dpi=DPI)
        assert int.from_bytes(path.read_bytes()[20:24], "big") == 660


@pytest.mark.parametrize("amount", ["0.5", "table"])
def test_one_number_does_not_serve_sites_of_two_units(tmp_path, amount):
    if amount == "table":
        amount = str(tmp_path / "tolerance.csv")
        (tmp_path / "tolerance.csv").write_text("time,tolerance\n0,0.5\n4,0.5\n")

    # the second model does not say its unit, its record does
    def sites(one, other):
        return [Site(model(0, unit=one), (record(),)), Site(model(1), (record(1, unit=other),))]

    with pytest.raises(ValueError, match=r"^the sites are in mm and kN, .*: give a percentage"):
        validate(sites("mm", "kN"), read_tolerance(amount))
    validate(sites("mm", "kN"), read_tolerance("8%"))
    validate(sites("m/s^2", "m/s²"), read_tolerance(amount))


def test_steps_that_are_not_equal_have_no_lag_and_no_comparison():
    time = TIME * (1.0 + 0.1 * TIME)
    replicate = MeasuredRecord("r.csv", time, motion(time) + 0.1)
    uneven = sort_ensemble(time, motion(time)[:, None] * [0.9, 1.0, 1.2], name="bent")
    found = validate([Site(uneven, (replicate,))], read_tolerance("0.15"))
    assert_all_close(curves(found.reliability), definition(within_of(uneven, replicate, 0.15)))
    (result,) = found.sites
    assert np.isnan(result.lags).all() and result.comparisons == (None,) and np.isfinite(result.area)
    assert "bent: its steps are not equal: the lag is unknown, its mean not compared with the records" in found.notes
    for align in ("common", "each"):
        with pytest.raises(RecordingError, match=r"^bent: its steps are not equal: .* do not align the records"):
            validate([Site(uneven, (replicate,))], read_tolerance("0.15"), align=align)


def within_of(ensemble, replicate, tolerance):
    return np.abs(ensemble.response - replicate.response[:, None])[:, None, :] < tolerance


def test_the_order_of_the_ensemble_is_not_made_again(monkeypatch):
    given = []
    monkeypatch.setattr(site_module, "area_metric", lambda *words: given.append(words) or area_metric(*words))
    one = site()
    validate([one], read_tolerance("20%"))
    assert [words[2] is one.model.order for words in given] == [True]


@pytest.mark.parametrize("policy", ["literal", "floored", "peak"])
def test_each_replicate_stands_alone_beside_the_mean_of_all(policy):
    one = site(0, replicates=3)
    found = validate([one], read_tolerance("20%", policy)).sites[0]
    for kind in range(3):
        alone = [curves(reliability)[kind] for reliability in found.alone]
        np.testing.assert_allclose(np.mean(alone, axis=0), curves(found.reliability)[kind], rtol=1e-12)
    for replicate, reliability in zip(one.records, found.alone, strict=True):
        single = validate([Site(one.model, (replicate,))], read_tolerance("20%", policy)).reliability
        assert_all_close(curves(reliability), curves(single))
        assert reliability.final_values() == single.final_values()


def test_what_is_hardly_judged_is_told_and_not_decided():
    one = site(0, replicates=1)
    limits = {"accumulated": DecisionLimits(0.0, 0.0)}
    for samples, verdict in ((15, ModelVerdict.WATCH), (80, ModelVerdict.ACCEPT), (150, ModelVerdict.ACCEPT)):
        short = replace(one.records[0], time=TIME[:samples], response=one.records[0].response[:samples])
        found = validate([Site(one.model, (short,))], read_tolerance("90%"), limits=limits)
        assert found.decision.verdict is verdict
        told = [note for note in found.notes if note.startswith(f"only {samples} of the model's 201 instants")]
        assert len(told) == (samples < 100)


def test_records_of_another_size_altogether_are_noted():
    one = site(0, replicates=1)
    for factor, notes in ((1e3, 1), (20.0, 0), (1.0, 0), (1e-3, 1)):
        other = replace(one.records[0], response=factor * one.records[0].response)
        found = validate([Site(one.model, (other,))], read_tolerance("90%", "peak"))
        assert sum("times the model's: check the units" in note for note in found.notes) == notes


def test_the_joint_form_has_no_window_to_decide_by():
    with pytest.raises(ValueError, match="--limit windowed: there is no windowed form"):
        validate([site(0), site(1)], read_tolerance("20%"), joint=True, limits={"windowed": DecisionLimits(0.1, 0.2)})


def test_a_window_longer_than_any_test_is_never_full():
    for window in (4.1, 1e9, 1e308):
        found = validate([site(0)], read_tolerance("20%"), window=window).reliability.windowed.value
        assert np.isnan(found).all()
