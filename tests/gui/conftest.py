"""A screen that nobody sees, and histories of simulated tests to show on it."""

from __future__ import annotations

import ast
import os

import pytest

from tests.needs import absent

# before anything of Qt is imported; a display that was chosen is kept
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


class _Skipped(pytest.Item):
    def runtest(self) -> None:
        pytest.skip(absent("Qt"))


class _NeedsQt(pytest.File):
    def collect(self):
        # without importing it
        for node in ast.parse(self.path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield _Skipped.from_parent(self, name=node.name)


def pytest_pycollect_makemodule(module_path, parent):
    return _NeedsQt.from_parent(parent, path=module_path) if absent("Qt") else None


TICK = 0.04  # s between two looks of the window


def _arrivals(recording, monitor):
    """Return what a window would take, tick after tick."""
    from gui.model.receiver import ReceivedMessages
    from monitor.messages.health import Health, StreamCounts

    rate = recording.stream.sample_rate
    taken, received = [], 0
    for block in recording.blocks(max(1, round(TICK * rate))):
        update = monitor.update(block)
        received += len(block)
        health = Health(
            rig=block.stream.rig,
            state="receiving",
            counts=StreamCounts(received=received),
            sample_rate=rate,
            measured_rate=rate,
            recording="",
        )
        taken.append(
            ReceivedMessages(
                health=health,
                events=update.events,
                results=() if update.results is None else (update.results,),
                transfer=update.transfer,
                signals=() if update.signals is None else (update.signals,),
            )
        )
    return tuple(taken)


@pytest.fixture(scope="session")
def hybrid_arrivals(warm_kernels):
    """Twelve seconds of three actuators, with forces, true values and transfer functions."""
    from monitor.config import IndicatorSettings
    from monitor.engine.monitor import Monitor
    from replay.simulations import simulation

    return _arrivals(simulation("hybrid", duration=12.0), Monitor(IndicatorSettings(window=2.0)))


@pytest.fixture(scope="session")
def judged_arrivals(warm_kernels):
    """A beam that its model describes badly, judged."""
    from monitor.config import IndicatorSettings
    from monitor.engine.monitor import Monitor
    from monitor.reliability.ensemble import sort_ensemble
    from monitor.reliability.plan import DecisionLimits, ReliabilityPlan, ValidationSite
    from monitor.reliability.tolerance import Tolerance, TolerancePolicy
    from replay.simulations import simulation
    from sim.ensembles import realization_block
    from sim.models.beam import StochasticBeam

    beam = StochasticBeam()
    ensemble = sort_ensemble(beam.time, realization_block(beam, 1, 0), beam.unit)
    site = ValidationSite("deflection", ensemble, Tolerance(TolerancePolicy.LITERAL, 0.16))
    plan = ReliabilityPlan((site,), limits={"accumulated": DecisionLimits(0.7, 0.85)})
    return _arrivals(simulation("beam-bad"), Monitor(IndicatorSettings(), plan))


def _watched(arrivals):
    from gui.model.history import History

    history = History(memory=64 << 20)
    for arrived in arrivals:
        history.update(arrived)
    return history


@pytest.fixture
def watched(hybrid_arrivals):
    """The history of the three actuators, all of it taken."""
    return _watched(hybrid_arrivals)


@pytest.fixture
def judged(judged_arrivals):
    """The history of the beam and its model, all of it taken."""
    return _watched(judged_arrivals)


@pytest.fixture
def store(tmp_path):
    """What a window remembers, in a file of the test's own."""
    from PySide6.QtCore import QSettings

    return QSettings(str(tmp_path / "settings" / "synchroscope.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def shown(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:200])
    hands.until(lambda: hands.history.end_x > 7.9)
    hands.ticks()
    return hands


@pytest.fixture
def rig():
    """Two actuators that move when the test says so."""
    from tests.gui.live_service import Rig

    rig = Rig()
    yield rig
    rig.close()


@pytest.fixture
def service(warm_kernels, rig, tmp_path):
    """A service that judges and records the rig."""
    from tests.gui.live_service import LiveService

    service = LiveService(rig, tmp_path / "run.h5")
    yield service
    service.die()


@pytest.fixture(scope="session")
def repeated_loads(tmp_path_factory):
    """What `assess` has sent of recordings, for tests that open the same ones."""
    from tests.gui.repeated_loads import RepeatedLoads

    return RepeatedLoads(tmp_path_factory.mktemp("loads"))


@pytest.fixture
def begin(warm_kernels, qtbot, store, monkeypatch, repeated_loads):
    """Start the program on something, as `synchroscope gui` does; returns hands for it."""
    from gui.sources.processes import recording as loading
    from tests.gui.hands import Hands, left_over

    monkeypatch.setattr(loading, "start_python", repeated_loads.start)
    begun = []

    def start(**opening):
        begun.append(Hands(qtbot, store, **opening))
        return begun[-1]

    yield start
    while begun:
        begun.pop().leave()
    assert not left_over()


@pytest.fixture
def fed(monkeypatch, begin):
    """Start the program on a service that is played by the test, with a clock of the test's own."""
    from gui.model.receiver import ServiceSubscription
    from tests.gui.hands import Played

    played = Played()
    monkeypatch.setattr(
        ServiceSubscription, "connect", lambda url, signals, keys: ServiceSubscription(played, played.clock)
    )

    def start(**opening):
        hands = begin(connect="tcp://127.0.0.1:1", **opening)
        hands.played = played
        return hands

    return start
