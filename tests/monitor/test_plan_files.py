"""From settings to a plan: ensembles and tolerances out of files, and what cannot be used, in one line."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from monitor.config import ReliabilitySettings
from monitor.ensembles.plan_files import open_plan
from monitor.reliability.decision import DecisionLimits
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

TIME = 0.02 * np.arange(50)
# its mean is 3 + 2 sin, at least 1 and at most 5
MEAN = 3.0 + 2.0 * np.sin(2.0 * np.pi * TIME)


@pytest.fixture
def ensemble(tmp_path):
    def make(response=None, name="beam.npz", time=TIME):
        spread = np.linspace(-0.1, 0.1, 21)
        response = MEAN[:, None] * (1.0 + spread) if response is None else response
        np.savez(tmp_path / name, time=time, response=response)
        return str(tmp_path / name)

    return make


def opened(path, **changes):
    plan = open_plan(ReliabilitySettings(channel="deflection", ensemble=path, **changes))
    assert len(plan.sites) == 1
    return plan, plan.sites[0]


def test_no_channel_no_plan():
    assert open_plan(ReliabilitySettings()) is None


def test_settings_become_a_plan(ensemble):
    path = ensemble()
    limits = {"accumulated": (0.7, 0.85), "first_passage": (0.05, 0.3)}
    plan, site = opened(path, tolerance=0.25, start=1.5, shift=-0.02, window=0.5, after=0.1, limits=limits)
    assert (plan.window, plan.start, plan.shift, plan.after) == (0.5, 1.5, -0.02, 0.1)
    assert plan.limits == {"accumulated": DecisionLimits(0.7, 0.85), "first_passage": DecisionLimits(0.05, 0.3)}
    assert site.channel == "deflection"
    assert (site.tolerance.policy, site.tolerance.value) == (TolerancePolicy.ABSOLUTE, 0.25)
    np.testing.assert_array_equal(site.ensemble.time, TIME)
    # the realizations stand in their order: ranks 1, 10 and 19 of 21
    np.testing.assert_allclose(site.quantiles, MEAN[:, None] * [0.91, 1.0, 1.09], rtol=1e-12)
    assert plan.notes == (f"deflection is compared with 21 realizations in {path}, tolerance 0.25",)


@pytest.mark.parametrize(
    ("settings", "policy", "reference", "told"),
    [
        ({"tolerance": "16%"}, TolerancePolicy.LITERAL, None, "16 % of the measurement"),
        ({"tolerance": 0.16, "policy": "literal"}, TolerancePolicy.LITERAL, None, "16 % of the measurement"),
        ({"tolerance": "16%", "policy": "peak"}, TolerancePolicy.PEAK, 5.0, "16 % of 5 (mean of the model)"),
        ({"tolerance": "16%", "policy": "floored"}, TolerancePolicy.FLOORED, np.sqrt(11.0),
         "16 % of the measurement, at least of 3.32 (mean of the model)"),
        ({"tolerance": "16%", "policy": "floored", "reference": 2.5}, TolerancePolicy.FLOORED, 2.5,
         "16 % of the measurement, at least of 2.5 (as set)"),
    ],
)  # fmt: skip
def test_a_share_is_of_what_the_policy_says(ensemble, settings, policy, reference, told):
    plan, site = opened(ensemble(), **settings)
    assert site.tolerance.policy is policy
    assert site.tolerance.value == pytest.approx(0.16)
    if reference is not None:
        # the largest instant misses the crest of the sine by a little
        np.testing.assert_allclose(site.tolerance.reference, [reference], rtol=2e-3)
    assert plan.notes[0].endswith(f"tolerance {told}")


def test_a_literal_tolerance_of_a_response_that_passes_zero_is_warned_of(ensemble):
    plan, _ = opened(ensemble((MEAN - 3.0)[:, None] * np.linspace(0.9, 1.1, 9)), tolerance="8%")
    assert plan.notes[0].endswith("which is nearly zero where the measurement is: use policy floored or peak")


def test_a_varying_tolerance_is_a_table(ensemble, tmp_path):
    path = tmp_path / "tolerance.csv"
    path.write_text("time,tolerance\n-1,0.5\n\n0.5,0.5\n1.5,1.5\n")
    plan, site = opened(ensemble(), tolerance=str(path), policy="varying")
    np.testing.assert_allclose(site.tolerance.profile, np.maximum(0.5, TIME))
    assert plan.notes[0].endswith(f"tolerance as in {path}")


@pytest.mark.parametrize(
    "header", ["Time, Tolerance", "time [s],tolerance", " TIME[s] ,tolerance ", "\ufefftime,tolerance"]
)
def test_a_file_is_varying_without_being_called_so(ensemble, tmp_path, header):
    path = tmp_path / "tolerance.csv"
    path.write_text(f"{header}\n0,1\n1,3\n", encoding="utf-8")
    _, site = opened(ensemble(), tolerance=str(path))
    assert site.tolerance.policy is TolerancePolicy.VARYING
    np.testing.assert_allclose(site.tolerance.profile, 1.0 + 2.0 * TIME)
    with pytest.raises(ValueError, match="give a percentage such as 8%, or a number"):
        opened(ensemble(), tolerance=str(path), policy="absolute")


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("time,tolerance\n", "must be a table with the header time,tolerance, in s"),
        ("", "must be a table"),
        ("time [ms],tolerance\n0,1\n2000,1\n", r"must be a table .* \(not 'time \[ms\],tolerance'\)"),
        ("tolerance,time\n0,1\n2,1\n", "not 'tolerance,time'"),
        ("0,1\n1,2\n2,1\n", "not '0,1'"),
        ("time,tolerance [mm]\n0,1\n2,1\n", "not 'time,tolerance"),
        ("time,tolerance\n0,1,2\n3,4,5\n", "must be a table"),
        ("time,tolerance\n0,1\n1\n", "must be a table"),
        ("time,tolerance\n0,1\n2,0.1", "last line has no end and may be cut short"),
        ("time,tolerance\n0,high\n", "must be a table"),
        ("time,tolerance\n0.5,1\n2,1\n", "must cover 0 to 0.98 s"),
        ("time,tolerance\n0,1\n0.5,1\n", "must cover 0 to 0.98 s"),
        ("time,tolerance\n0,1\n0.5,2\n0.5,3\n2,1\n", "time must increase"),
        ("time,tolerance\n0,1\nnan,2\n2,1\n", "time must increase"),
        ("time,tolerance\n0,1\n2,-3\n", "must be positive at every instant"),
        ("time,tolerance\n0,1\n2,nan\n", "must be positive at every instant"),
    ],
)
def test_tables_that_are_none(ensemble, tmp_path, table, told):
    path = tmp_path / "tolerance.csv"
    path.write_text(table)
    with pytest.raises(ValueError, match=told) as problem:
        opened(ensemble(), tolerance=str(path), policy="varying")
    assert str(problem.value).startswith("reliability.tolerance: ") and "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"tolerance": "much"}, "give a percentage such as 8%, or a number"),
        ({"tolerance": "-8%"}, "give more than 0"),
        ({"tolerance": "nan"}, "give"),
        ({"tolerance": "8%", "policy": "absolute"}, "an absolute tolerance is a number"),
        ({"tolerance": "none.csv", "policy": "varying"}, "none.csv: must be a table"),
        ({"tolerance": ".", "policy": "varying"}, "must be a table"),
    ],
)
def test_tolerances_that_are_none(ensemble, settings, told):
    with pytest.raises(ValueError, match=told) as problem:
        opened(ensemble(), **settings)
    assert str(problem.value).startswith("reliability.tolerance: ") and "\n" not in str(problem.value)


def test_a_model_that_says_zero_has_no_size_to_take_a_share_of(ensemble):
    with pytest.raises(ValueError, match=r"reliability\.tolerance: .* zero: give an absolute one"):
        opened(ensemble(np.zeros((50, 3))), tolerance="8%", policy="peak")


def test_ensembles_that_cannot_be_used_are_named(ensemble, tmp_path):
    with pytest.raises(ValueError, match=r"none\.h5: there is no such file"):
        opened(str(tmp_path / "none.h5"))
    (tmp_path / "text.h5").write_text("time,response")
    with pytest.raises(ValueError, match=r"text\.h5: cannot be read as an ensemble"):
        opened(str(tmp_path / "text.h5"))
    uneven = np.append(TIME[:-1], 2.0)
    with pytest.raises(ValueError, match=r"uneven\.npz: time steps are not equal"):
        opened(ensemble(name="uneven.npz", time=uneven), tolerance=1.0)


def test_sites_must_fit_each_other(ensemble):
    first, second = ensemble(), ensemble(name="other.npz", time=2.0 * TIME)
    with pytest.raises(ValueError, match="the ensembles of a and b have different instants"):
        open_plan(ReliabilitySettings(channel=("a", "b"), ensemble=(first, second), tolerance=1.0))
    with pytest.raises(ValueError, match="channel 'a' has two ensembles"):
        open_plan(ReliabilitySettings(channel=("a", "a"), ensemble=(first, first), tolerance=1.0))
    plan = open_plan(ReliabilitySettings(channel=("a", "b"), ensemble=(first, first), tolerance=1.0))
    assert [site.channel for site in plan.sites] == ["a", "b"]
    assert len(plan.notes) == 2


@pytest.mark.parametrize(
    ("settings", "fits"),
    [
        ({"tolerance": 0.5}, False),
        ({"tolerance": "t.csv"}, False),
        ({"tolerance": "8%", "policy": "peak", "reference": 2.0}, False),
        ({"tolerance": "8%", "policy": "peak"}, True),
        ({"tolerance": "8%", "reference": 2.0}, True),
    ],
)
def test_one_number_does_not_serve_two_units(tmp_path, monkeypatch, settings, fits):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("time,tolerance\n0,1\n1,1\n")
    units = {"a": "mm", "b": "kN", "c": "m/s^2", "d": "m/s²", "e": ""}
    for name, unit in units.items():
        with h5py.File(f"{name}.h5", "w") as file:
            file["time"], file["response"], file.attrs["unit"] = TIME, MEAN[:, None] * [0.9, 1.1], unit

    def plan(*names):
        files = tuple(f"{name}.h5" for name in names)
        return open_plan(ReliabilitySettings(channel=names, ensemble=files, **settings))

    for names in (("c", "d"), ("a", "e")):
        assert len(plan(*names).sites) == 2
    # the unknown unit between them is the same as neither
    for names in (("a", "b"), ("a", "e", "b")):
        if fits:
            assert len(plan(*names).sites) == len(names)
            continue
        with pytest.raises(
            ValueError, match=r"^reliability\.tolerance: the sites are in mm and kN, .*give a percentage"
        ):
            plan(*names)


@pytest.mark.parametrize("wrong", [{"window": np.inf}, {"window": 0.0}, {"after": -1.0}, {"after": np.inf}])
def test_a_plan_has_finite_times(wrong):
    site = ValidationSite(
        "y", sort_ensemble(np.arange(3.0), np.zeros((3, 2))), Tolerance(TolerancePolicy.ABSOLUTE, 1.0)
    )
    with pytest.raises(ValueError, match=r"^(window|after) .* must be"):
        ReliabilityPlan((site,), **wrong)
