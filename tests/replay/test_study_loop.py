"""The study of the closed loop: statistics, tables, JSON and pictures of a study that is made up."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.commands.output import to_json_types
from monitor.text.blocks import to_json
from replay.formats.units import STANDARD_GRAVITY
from replay.papers.loop import benchmark, blocks
from replay.papers.loop import study as loop_study
from replay.papers.loop.benchmark import CASES, COMPENSATORS, CRITERIA, SCENARIOS, Benchmark, SampleLoss, lost_samples
from replay.papers.loop.blocks import study_blocks
from replay.papers.loop.study import (
    CompensatedRun,
    IndicatorWarning,
    LoopStudy,
    Stability,
    beyond_since,
    draw_statistics,
    paired_ratio,
    run_stability,
    run_study,
)
from replay.pictures import save_figures
from replay.tables import print_blocks
from sim.laboratory.building import COUPLING, INTENSITY, Case, ground_forces, numerical_building, specimen
from sim.laboratory.loop import HybridLoop
from sim.laboratory.plants import BenchmarkPlant
from sim.laboratory.transfer import TransferChain


@pytest.fixture(scope="module")
def made_up() -> LoopStudy:
    rng = np.random.default_rng(1)
    shape = len(COMPENSATORS), len(CASES), 4, len(CRITERIA)
    draws = {name: np.exp(rng.normal(0.0, 0.3, shape)) for name in SCENARIOS}
    for name in ("stiffness-change", "change-and-loss"):
        draws[name][..., 3:] = np.nan
    left_at = {name: np.full(shape[:3], np.nan) for name in SCENARIOS}
    # one of none leaves its stroke in case 2, and all of fixed in case 3
    left_at["as-designed"][0, 1, 2] = 3.0
    left_at["as-designed"][1, 2] = 2.0
    time = np.arange(512) / 128.0
    growing = 1e-3 * time
    units = (
        ("fdb_delay", "s", 1e3, "ms"),
        ("paei_delay", "s", 1e3, "ms"),
        ("ti_angle", "rad", 1e3, "mrad"),
        ("hsem_added_damping", "1", 1e2, "%"),
    )
    warnings = tuple(
        IndicatorWarning(name, name.replace("_", " "), unit, scale, shown, 2e-3, 1.5e-3, growing, at, at - 0.5)
        for (name, unit, scale, shown), at in zip(units, (2.0, 2.5, 3.0, math.nan), strict=True)
    )
    runs = {
        name: CompensatedRun(
            np.where(time < 3.5, growing, np.nan if name == "none" else growing),
            3.5 if name == "none" else math.nan,
            0.0035,
            math.nan if name == "none" else 1e-5,
        )
        for name in COMPENSATORS
    }
    found = Stability(
        analytic=2e-3,
        simulated=2.01e-3,
        delays=(1e-3, 4e-3),
        critical_at=2.0,
        time=time,
        delay=growing,
        warnings=warnings,
        runs=runs,
    )
    nominal, nominal_left_at = draws["as-designed"][:, :, 0], left_at["as-designed"][:, :, 0]
    criteria = Benchmark(nominal, nominal_left_at, draws, left_at, 4096.0, 20.0)
    return LoopStudy(found, criteria, 7, None, {"stability": 1.0, "benchmark": 2.0})


def test_the_json_has_the_names_that_scripts_read(made_up) -> None:
    found = to_json_types(to_json(study_blocks(made_up)))
    assert found["stability"]["analytic_delay_ms"] == pytest.approx(2.0)
    assert found["stability"]["simulated_delay_ms"] == pytest.approx(2.01)
    assert list(found["benchmark"]) == ["case-1", "case-2", "case-3", "case-4"]
    for case in found["benchmark"].values():
        assert list(case) == ["none", "fixed", "ats", "recursive", "fdb", "paei", "broadband"]
        assert all(list(each) == [*(f"J{i}" for i in range(1, 10)), "left_stroke_s"] for each in case.values())
    assert found["warning"]["indicators"]["paei_delay"]["before_left_stroke_s"] == pytest.approx(1.0)
    assert found["warning"]["indicators"]["fdb_delay"]["after_critical_s"] == pytest.approx(0.0)
    assert found["warning"]["indicators"]["fdb_delay"]["early_after_critical_s"] == pytest.approx(-0.5)
    assert found["warning"]["indicators"]["hsem_added_damping"]["at_s"] is None
    assert found["warning"]["compensators"]["fdb"]["left_stroke_s"] is None
    draws = found["draws"]
    assert draws["number"] == 4 and set(SCENARIOS) < set(draws)
    assert draws["as-designed"]["case-2"]["none"]["left_stroke"] == 1
    assert draws["as-designed"]["case-3"]["fixed"]["left_stroke"] == 4
    assert found["benchmark"]["case-3"]["fixed"]["left_stroke_s"] == 2.0
    assert draws["as-designed"]["all-cases"]["fixed"]["left_stroke"] == 4
    pooled = made_up.benchmark.draws["lost-samples"][COMPENSATORS.index("fdb"), ..., 1]
    assert draws["lost-samples"]["all-cases"]["fdb"]["J2"]["median"] == pytest.approx(np.median(pooled))
    changed = draws["stiffness-change"]["case-1"]["fdb"]
    assert changed["J4"] == {"median": None, "p90": None, "worst": None}
    assert changed["J2"]["median"] <= changed["J2"]["p90"] <= changed["J2"]["worst"]
    assert set(found["scenarios"]) == set(found["against_ats"]) == set(SCENARIOS)
    values = made_up.benchmark.draws["lost-samples"][..., 1]
    ratio = values[COMPENSATORS.index("fdb")] / values[COMPENSATORS.index("ats")]
    assert found["against_ats"]["lost-samples"]["fdb"] == {
        "tests": 16,
        "above": np.sum(ratio > 1.0),
        "median": pytest.approx(np.median(ratio)),
        "worst": pytest.approx(ratio.max()),
    }
    assert found["computing_time_s"] == {"stability": 1.0, "benchmark": 2.0}
    assert {name: each["unit"] for name, each in found["criteria"].items()} == {
        "J1": "ms",
        **dict.fromkeys(CRITERIA[1:], "%"),
    }
    assert "floor 2" in found["criteria"]["J8"]["definition"]
    assert found["cases"]["case-3"] == {"floor_mass_kg": 1300.0, "damping_ratio": 0.03}
    json.dumps(found, allow_nan=False)


def test_the_tables_fit_a_terminal(made_up, capsys) -> None:
    print_blocks(study_blocks(made_up))
    said = capsys.readouterr().out
    assert "nan" not in said and all(len(line) <= 100 for line in said.splitlines())
    assert "diverge" not in said.casefold()
    said = " ".join(said.split())
    for words in (
        "critical delay: analytic 2.000 ms, simulated 2.010 ms (+0.50 %)",
        "whole samples of 0.244 ms",
        "1 of 4",
        "4 of 4",
        "left the stroke",
        "of 16",
        "critical [s]",
        "-0.50",
        "1.50",
    ):
        assert words.casefold() in said.casefold()
    assert all(name in said for name in (*COMPENSATORS, *CASES, *CRITERIA, *SCENARIOS) if name != "as-designed")


def test_the_pictures(made_up, tmp_path) -> None:
    drawn = save_figures(study_blocks(made_up), tmp_path)
    assert [path.name for path in drawn] == [f"loop-{name}.png" for name in ("instability", "benchmark", "draws")]
    for path in drawn:
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 20_000


def test_quartiles_need_five_draws_and_lines_that_coincide_are_named(made_up) -> None:
    (first, *_) = blocks.draws(made_up).axes
    assert {len(line.get_xdata()) for line in first.lines} <= {4, 1}
    assert "quartiles" not in blocks.draws(made_up).get_suptitle()
    commands = blocks.instability(made_up.stability).axes[-1]
    assert commands.get_title() == "fixed, ats, recursive, fdb, paei, broadband coincide within 0 mm"


def test_ratios_are_of_the_same_test() -> None:
    found = paired_ratio(np.array([1.0, -4.0, np.nan, 3.0]), np.array([2.0, 2.0, 1.0, 3.0]))
    assert (found.tests, found.above, found.median, found.worst) == (3, 1, 1.0, 2.0)


def test_statistics_are_of_sizes_without_nan() -> None:
    found = draw_statistics(np.array([3.0, np.nan, -1.0, -2.0]))
    assert (found.median, found.worst) == (2.0, 3.0)
    assert found.p90 == pytest.approx(2.8)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_warning_is_one_that_persists(sign) -> None:
    values = sign * np.array([np.nan, 2.0, 0.0, 2.0, 2.0, 2.0, 0.0])
    assert beyond_since(values, sign, 1) == 1
    assert beyond_since(values, sign, 3) == 5
    assert math.isnan(beyond_since(values, sign, 4))
    assert math.isnan(beyond_since(-values, sign, 1))


@pytest.mark.parametrize("number", [0, -1, 1001])
def test_a_number_of_draws_out_of_range_is_refused(number) -> None:
    with pytest.raises(ValueError, match=f"{number} draws: give 1 to 1000"):
        run_study(number)


def test_lost_samples_are_of_the_draw_alike_for_any_number_of_others() -> None:
    streams = tuple(benchmark._stream(5, number, benchmark._OF_LOSS) for number in range(4))
    tests = np.repeat([False, True, True], 4)
    lost = lost_samples(SampleLoss(0.3, streams, tests), 2)
    of_two = lost_samples(SampleLoss(0.3, streams[:2], tests[::2]), 2)
    steps = np.array([next(lost) for _ in range(2000)])
    assert steps.shape == (2000, 2, 12) and not steps[..., :4].any()
    np.testing.assert_array_equal(steps[..., 4:8], steps[..., 8:])
    assert np.mean(steps[..., 4:], axis=0) == pytest.approx(np.full((2, 8), 0.3), abs=0.05)
    assert np.max(np.abs(np.corrcoef(steps[..., 4:8].reshape(2000, -1).T) - np.eye(8))) < 0.1
    np.testing.assert_array_equal(np.array([next(of_two) for _ in range(2000)])[..., 2:4], steps[..., 4:6])


def test_ground_motions_of_seeds_and_draws_are_different_ones() -> None:
    assert len({benchmark._motion(seed, number).seed for seed in (1, 2, 3) for number in range(50)}) == 150


def test_there_is_no_alarm_at_a_smaller_delay(monkeypatch) -> None:
    """At 0.6 of the critical delay, in a loop with less than half of its damping left.

    Warnings are of the loop without compensation: the others, each a loop of its own, are not run.
    """
    for each in (loop_study, benchmark):
        monkeypatch.setattr(each, "COMPENSATORS", ("none",))
    monkeypatch.setattr(loop_study, "_DURATION", 30.0)
    monkeypatch.setattr(loop_study, "_DELAYS", (0.6, 4.0))
    monkeypatch.setattr(loop_study, "_GROWS", (40.0, 10.0))
    for seed in (1, 2):
        found = run_stability(seed)
        assert found.delay == pytest.approx(np.full(len(found.time), 0.6 * found.analytic))
        assert all(math.isnan(each.at) and math.isnan(each.early_at) for each in found.warnings)
        assert all(np.isfinite(each.values).sum() > 100 for each in found.warnings)


def test_the_study_as_a_command(monkeypatch, capsys) -> None:
    """A short one: the whole study is `test_what_the_study_shows`."""
    monkeypatch.setattr(benchmark, "_DURATION", 0.6)
    monkeypatch.setattr(loop_study, "_DURATION", 6.0)
    monkeypatch.setattr(loop_study, "_GROWS", (2.0, 2.0))
    assert main(["study", "loop", "--draws", "1", "--seed", "3", "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert said.err == "" and (found["study"], found["seed"], found["draws"]["number"]) == ("loop", 3, 1)
    assert found["stability"]["simulated_delay_ms"] == pytest.approx(
        found["stability"]["analytic_delay_ms"], rel=0.02
    )
    assert found["draws"]["stiffness-change"]["case-1"]["fdb"]["J4"]["median"] is None
    assert set(found["computing_time_s"]) == {"stability", "benchmark"}


def test_a_recorded_ground_motion_drives_all_draws(monkeypatch, capsys, tmp_path) -> None:
    """The criterion of the nominal plant is that of a loop composed here."""
    monkeypatch.setattr(loop_study, "_DURATION", 6.0)
    monkeypatch.setattr(loop_study, "_GROWS", (2.0, 2.0))
    rate, n = 200.0, 241
    acceleration = 0.05 * np.sin(2.0 * np.pi * 3.0 * np.arange(n) / rate)  # g
    path = tmp_path / "motion.csv"
    np.savetxt(path, np.column_stack([np.arange(n) / rate, acceleration]), "%.9g", ",", header="t (s),a", comments="")
    assert main(["study", "loop", "--draws", "1", "--json", "--motion", str(path), "--motion-unit", "g"]) == 0
    found = json.loads(capsys.readouterr().out)
    draws = found["draws"]
    assert (draws["recorded_motion"], draws["duration_s"]) == (True, pytest.approx((n - 1) / rate))
    load = INTENSITY * STANDARD_GRAVITY * np.interp(np.arange(4915) / 4096.0, np.arange(n) / rate, acceleration)
    record = HybridLoop(
        structure=numerical_building(Case.ONE),
        specimen=specimen(),
        transfer=TransferChain((BenchmarkPlant(),)),
        excitation=ground_forces(Case.ONE, load),
        coupling=COUPLING,
        dt=1.0 / 4096.0,
        duration=1.2,
    ).run()
    error = np.std(record.measured - record.command) / np.std(record.command)
    assert found["benchmark"]["case-1"]["none"]["J2"] == pytest.approx(100.0 * error, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--motion-unit", "g"], "give it with --motion FILE"),
        (["--motion", "nothing.at2"], "nothing.at2: No such file"),
        (["--motion", "{short}", "--motion-unit", "g"], "ground motion of 0.2 s: give 1 to 120 s"),
        (["--motion", "{short}"], "unit"),
    ],
)
def test_a_ground_motion_that_cannot_be_used_is_refused_in_one_line(options, message, capsys, tmp_path) -> None:
    short = tmp_path / "short.csv"
    short.write_text("t (s),a\n" + "\n".join(f"{0.1 * i:.1f},{i % 2}" for i in range(3)) + "\n")
    assert main(["study", "loop", *(each.format(short=short) for each in options)]) == 2
    said = capsys.readouterr().err
    assert message in said and len(said.strip().splitlines()) == 1


@pytest.mark.slow
def test_what_the_study_shows() -> None:
    found = to_json_types(to_json(study_blocks(run_study(2))))
    warning = found["warning"]
    assert all(each["at_s"] > warning["critical_s"] for each in warning["indicators"].values())
    for each in warning["indicators"].values():
        assert each["before_left_stroke_s"] > 5.0 and 0.0 < each["after_critical_s"] < 1.5
        # in time by FDB and PAEI, at the critical delay by the others
        assert each["early_after_critical_s"] < 0.05
    assert all(warning["indicators"][f"{name}_delay"]["early_after_critical_s"] < -0.1 for name in ("fdb", "paei"))
    lost = {name for name, run in warning["compensators"].items() if run["left_stroke_s"] is not None}
    assert lost == {"none", "fixed"}
    for scenario in SCENARIOS:
        for case in found["draws"][scenario].values():
            for name in ("ats", "recursive", "fdb", "paei", "broadband"):
                assert case[name]["left_stroke"] == 0 and case[name]["J1"]["worst"] < 1.0
                assert case[name]["J2"]["worst"] < 0.2 * case["none"]["J2"]["median"]
    against = found["against_ats"]
    for name in ("fdb", "paei", "broadband"):
        # an inverse of third order is better than one of second, in all tests but one, until the specimen changes
        for scenario in ("as-designed", "lost-samples"):
            assert against[scenario][name]["above"] <= 1 and against[scenario][name]["median"] < 0.7
        for scenario in ("stiffness-change", "change-and-loss"):
            assert against[scenario][name]["median"] < 1.1 and against[scenario][name]["worst"] < 1.6


@pytest.mark.slow
def test_with_an_inverse_of_second_order_the_indicators_do_what_ats_does(monkeypatch) -> None:
    monkeypatch.setattr(benchmark, "_ORDER", 2)
    values = benchmark.run_benchmark(2, 1).draws["as-designed"][..., CRITERIA.index("J2")]
    for name in ("fdb", "paei"):
        found = paired_ratio(values[COMPENSATORS.index(name)], values[COMPENSATORS.index("ats")])
        assert 0.9 < found.median < 1.2 and found.worst < 1.5
