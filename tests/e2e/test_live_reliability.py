"""A model judged through the real commands over real sockets: as somebody does it, and as the record says offline."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from monitor.__main__ import main
from monitor.config import IndicatorSettings, ReliabilityLimits, ReliabilitySettings
from monitor.engine.monitor import Monitor, warm_up
from monitor.ensembles.plan_files import open_plan
from monitor.messages.blocks import EventKind
from monitor.recording import RunReader
from replay.simulations.models import ensemble_model, simulate_ensemble

ANY_PORT = "tcp://127.0.0.1:*"
LIMITS = ("--limit", "accumulated=0.7:0.85", "--limit", "first_passage=0.05:0.3")
ASKED = ("--response", "deflection", "--tolerance", "16%", *LIMITS)


@pytest.fixture(scope="module")
def beam(tmp_path_factory) -> Path:
    warm_up(reliability=True)
    path = tmp_path_factory.mktemp("ensemble") / "beam.h5"
    simulate_ensemble(ensemble_model("beam"), 3000, 1, path)
    return path


def a_plan(ensemble: Path):
    limits = ReliabilityLimits(accumulated=(0.7, 0.85), first_passage=(0.05, 0.3))
    return open_plan(
        ReliabilitySettings(channel="deflection", ensemble=str(ensemble), tolerance="16%", limits=limits)
    )


def judged(start, tmp_path: Path, name: str, ensemble: Path, *replay: object) -> Path:
    """Play a simulation to a monitor that judges it, and return the run file."""
    kept = tmp_path / "run.h5"
    rig = start("replay", name, "--speed", "max", "--bind", ANY_PORT, *replay)
    service = ("--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once")
    start("monitor", *service, "--ensemble", ensemble, *ASKED).wait()
    rig.wait()
    return kept


def assert_as_offline(kept: Path, ensemble: Path) -> None:
    """What was recorded is what an engine without any socket makes of the samples in the file."""
    monitor, values, told = Monitor(IndicatorSettings(), a_plan(ensemble)), [], []
    with RunReader(kept) as run:
        for block in run.signal_blocks(17):
            update = monitor.update(block)
            told += update.events
            values.append(update.results.values)
        _, _, _, recorded = run.results()
        assert run.result_stream.columns == update.results.stream.columns
        assert recorded.tobytes() == np.concatenate(values).tobytes()
        kinds = (EventKind.DECISION, EventKind.NOTE)
        told = [event for event in told if event.kind in kinds]
        there = [event for event in run.events() if event.kind in kinds]
        assert [(e.kind, e.index, e.detail) for e in there] == [(e.kind, e.index, e.detail[:200]) for e in told]
        # counted from the first sample of another block
        np.testing.assert_allclose([e.time for e in there], [e.time for e in told], rtol=1e-15, atol=1e-14)


@pytest.mark.parametrize(("name", "verdict"), [("beam", 1.0), ("beam-bad", -1.0)])
def test_the_good_model_is_accepted_and_the_bad_one_rejected(start, tmp_path, name, verdict) -> None:
    ensemble = tmp_path / "beam.h5"
    start("simulate", "beam", "--realizations", 3000, "--out", ensemble).wait()
    kept = judged(start, tmp_path, name, ensemble)
    assert_as_offline(kept, ensemble)
    with RunReader(kept) as run:
        names = [column.name for column in run.result_stream.columns]
        values = run.results()[3]
        decisions = [event for event in run.events() if event.kind is EventKind.DECISION]
    assert values[-1, names.index("reliability_decision")] == verdict
    assert np.isfinite(values[-1]).all()
    # the first after a tenth of the ensemble's time, the others where the column differs from the one told before
    column, tenth = values[:, names.index("reliability_decision")], round(0.1 * (len(values) - 1))
    told = [event.index for event in decisions]
    assert told[0] == np.flatnonzero(np.isfinite(column))[0] == tenth
    assert np.diff(column[told]).all() and (np.diff(told) >= tenth).all()
    for number in range(told[0], len(column)):
        last = max(index for index in told if index <= number)
        assert column[number] == column[last] or number < last + tenth
    assert f"deflection: {'accept' if verdict > 0 else 'reject'}: " in decisions[-1].detail


@pytest.mark.parametrize(("name", "verdict"), [("duffing", 1.0), ("duffing-damaged", -1.0)])
def test_a_sound_oscillator_is_as_its_model_and_a_damaged_one_is_not(start, tmp_path, name, verdict) -> None:
    ensemble, kept = tmp_path / "duffing.h5", tmp_path / "run.h5"
    start("simulate", "duffing", "--realizations", 500, "--out", ensemble).wait()
    rig = start("replay", name, "--speed", "max", "--bind", ANY_PORT)
    service = ("--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once", "--ensemble", ensemble)
    asked = ("--response", "displacement_1", "--tolerance", "30%", "--policy", "floored", *LIMITS)
    start("monitor", *service, *asked).wait()
    rig.wait()
    with RunReader(kept) as run:
        names = [column.name for column in run.result_stream.columns]
        assert run.results()[3][-1, names.index("reliability_decision")] == verdict
        # what an analyst needs for the force that a model misses
        channels = [channel.name for channel in next(run.signal_blocks(9)).stream.channels]
    assert {"force", "displacement_1", "velocity_1", "acceleration_1"} <= set(channels)


def test_gaps_and_restarts_over_sockets_are_as_offline(start, beam, tmp_path) -> None:
    faults = "gap=1:0.3,restart=3,duplicate=0.3,reorder=0.2"
    kept = judged(start, tmp_path, "beam", beam, "--block", 5, "--faults", faults)
    assert_as_offline(kept, beam)
    with RunReader(kept) as run:
        assert len(set(run.results()[0].tolist())) == 2
        assert {EventKind.GAP, EventKind.RESTART} <= {event.kind for event in run.events()}


def test_settings_may_be_in_a_file(start, beam, tmp_path) -> None:
    kept, config = tmp_path / "run.h5", tmp_path / "rig.toml"
    config.write_text(
        f"[reliability]\nchannel = 'deflection'\nensemble = '{beam}'\ntolerance = '16%'\n"
        "[reliability.limits]\naccumulated = [0.7, 0.85]\nfirst_passage = [0.05, 0.3]\n"
    )
    service = start("monitor", config, "--bind", ANY_PORT, "--publish", ANY_PORT, "--record", kept, "--once")
    start("replay", "beam", "--speed", "max", "--connect", service.listening).wait()
    service.wait()
    assert "deflection is compared with 3000 realizations" in service.err
    assert "deflection: accept: " in service.err
    assert_as_offline(kept, beam)


def test_the_dashboard_tells_of_the_model(start, beam) -> None:
    rig = start("replay", "beam-bad", "--bind", ANY_PORT)
    service = start("monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--ensemble", beam, *ASKED)
    watch = start("watch", "--connect", service.results)
    deadline = monotonic() + 30.0
    while "(reject)" not in watch.out and monotonic() < deadline:
        sleep(0.05)
    line = watch.out.splitlines()[-1]
    assert "| deflection first-passage 0." in line and line.endswith("(reject)")
    rig.wait()
    service.stop()
    watch.stop(code=None)


def test_a_stream_that_does_not_fit_is_told_and_the_indicators_go_on(start, beam, record, tmp_path) -> None:
    kept = tmp_path / "run.h5"
    rig = start("replay", record(2000), "--speed", "max", "--bind", ANY_PORT)
    service = ("--connect", rig.publishing, "--publish", ANY_PORT, "--record", kept, "--once", "--window", 0.5)
    monitor = start("monitor", *service, "--ensemble", beam, *ASKED).wait()
    rig.wait()
    assert monitor.err.count("no reliability: there is no channel 'deflection' for the model: the rig sends ") == 1
    with RunReader(kept) as run:
        assert not any("reliability" in column.name for column in run.result_stream.columns)
        assert np.isfinite(run.results()[3][-1]).any()
        assert [event.kind for event in run.events() if "no reliability" in event.detail] == [EventKind.NOTE]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (LIMITS, "limits without a model"),
        (
            ("--ensemble", "BEAM", *ASKED, "--limit", "late=0:1"),
            "--limit late=0:1: the reliabilities are instantaneous",
        ),
        (("--ensemble", "BEAM", *ASKED, "--policy", "absolute"), "reliability.tolerance: tolerance 16%"),
    ],
)
@pytest.mark.timeout(60)  # what is accepted by mistake would run on
def test_settings_that_cannot_be_used_end_it_with_one_line(beam, capsys, words, told) -> None:
    assert main(["monitor", *(str(beam) if word == "BEAM" else word for word in words)]) == 2
    # what is wrong with a file is found while it is read, and that is said first
    *before, mistake = capsys.readouterr().err.splitlines()
    assert mistake.startswith("synchroscope monitor: ") and told in mistake
    assert len(before) <= 1 and all(line.startswith("reading the ensemble ") for line in before)
