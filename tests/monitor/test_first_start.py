"""A first start: what is not compiled yet is neither computed nor judged, and joins when its kernels are there."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise

import numba
import numpy as np
import pytest

from monitor.__main__ import COMMANDS, main
from monitor.alarms.monitor import AlarmMonitor
from monitor.catalogue import CATALOGUE, RELIABILITY, measure_of
from monitor.commands import first_start, output
from monitor.commands.first_start import FirstStart, stages
from monitor.commands.process import ending_compilation
from monitor.config import MEASURES, AlarmSettings, LimitSettings
from monitor.engine.monitor import Monitor
from monitor.messages.alarms import AlarmState
from monitor.messages.blocks import EventKind
from monitor.messages.health import CompilationStatus
from monitor.messages.reasons import Reason
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, TolerancePolicy
from monitor.service.service import Service
from tests.monitor.in_memory import MemorySink, MemorySource
from tests.monitor.test_paused_measures import EVERY, RATE, SETTINGS, WINDOW, block, motion, of

HOPPED = "broadband", "fei", "transfer"
SLIDING = [each for each in MEASURES if each not in HOPPED]
BLOCK = 200
ALL = dict.fromkeys(MEASURES, Reason.COMPILING)


def joined(samples: np.ndarray, joins: dict[int, tuple[str, ...]], measure: str) -> np.ndarray:
    """Return the rows of a measure where these are compiled from these samples on."""
    monitor, missing, rows = Monitor(SETTINGS), dict(ALL), []
    monitor.pause(missing)
    edges = sorted({0, 300, len(samples), *joins})
    for start, stop in pairwise(edges):
        if start in joins:
            missing = {name: reason for name, reason in missing.items() if name not in joins[start]}
            monitor.pause(missing)
        rows.append(of(monitor.update(block(samples, start, stop)).results, measure))
    return np.concatenate(rows)


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("measure", [each for each, entry in CATALOGUE.items() if entry.outputs])
def test_a_measure_joins_as_if_the_stream_had_begun_there(measure: str) -> None:
    samples, first, second = motion(1500), 402, 702
    found = joined(samples, {first: HOPPED, second: tuple(SLIDING)}, measure)
    at = first if measure in HOPPED else second
    before, after = found[: at // EVERY], found[at // EVERY :]
    codes = np.tile([output.is_code for output in CATALOGUE[measure].outputs], 2)
    assert (before[:, codes] == Reason.COMPILING).all() and np.isnan(before[:, ~codes]).all()
    fresh = Monitor(SETTINGS)
    expected = of(fresh.update(block(samples, at, len(samples))).results, measure)
    # one of whole windows says until its first evaluation why there was none
    waits = (after[:, codes] == Reason.COMPILING).any(axis=1)
    assert not waits.any() or (measure in HOPPED and EVERY * waits.sum() < 1.6 * WINDOW * RATE)
    np.testing.assert_array_equal(after[~waits], expected[~waits])
    np.testing.assert_array_equal(after[:, ~codes], expected[:, ~codes])


@pytest.mark.usefixtures("warm_kernels")
def test_the_model_joins_as_if_the_stream_had_been_joined_there() -> None:
    samples, join = motion(600), 300
    ensemble = sort_ensemble(np.arange(600.0) / RATE, samples[:, :1] * [0.9, 1.0, 1.1])
    plan = ReliabilityPlan((ValidationSite("ca", ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.1)),))
    late, fresh = Monitor(SETTINGS, plan), Monitor(SETTINGS, plan)
    late.pause(ALL | {RELIABILITY: Reason.COMPILING})
    before = late.update(block(samples, 0, join)).results
    late.pause({})
    found, expected = (each.update(block(samples, join, 600)) for each in (late, fresh))
    model = [i for i, column in enumerate(before.stream.columns) if not measure_of(column.name)]
    assert len(model) > 8 and np.isnan(before.values[:, model]).all()
    np.testing.assert_array_equal(found.results.values[:, model], expected.results.values[:, model])
    assert found.events[-1].detail == "the reliability starts 1.5 s late: first-passage counts from here"


NOTHING_IS_CALLED = """
import numpy as np
from monitor.catalogue import RELIABILITY
from monitor.config import MEASURES, IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.kernel import compiled_functions, from_the_cache
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.reasons import Reason
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.plan import ReliabilityPlan, ValidationSite
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

ensemble = sort_ensemble(0.01 * np.arange(900.0), np.ones((900, 3)))
plan = ReliabilityPlan((ValidationSite("c", ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.1)),))
roles = ("c", Role.COMMAND), ("m", Role.MEASURED), ("f", Role.FORCE)
with from_the_cache():
    for bridge, epoch in ((0.0, 1), (0.05, 2)):
        monitor = Monitor(IndicatorSettings(window=0.5, bandpass=(1.0, 20.0), bridge=bridge), plan)
        monitor.pause(dict.fromkeys([*MEASURES, RELIABILITY], Reason.COMPILING))
        stream = Stream("rig", epoch, 100.0, tuple(Channel(name, role, "m", "a") for name, role in roles))
        rows = []
        for start, stop in ((0, 250), (253, 600), (650, 651), (651, 900)):
            samples = np.sin(0.3 * np.arange(start, stop))[:, None] * [1.0, 0.9, 2.0]
            samples[3:6] = np.nan
            results = monitor.update(SignalBlock(stream, start, start / 100.0, samples, stop == 900)).results
            rows.append(results.values)
            assert not monitor.run_pending()
        codes = {column.name: value for column, value in zip(results.stream.columns, rows[-1][-1])}
        assert codes["fdb_reason"] == codes["broadband_reason"] == Reason.COMPILING, codes
        assert np.isnan(codes["fdb_delay"]) and np.isnan(codes["reliability_accumulated"]), codes
assert not [each.__name__ for each in compiled_functions() if each.signatures]
"""


def test_no_kernel_is_called_before_it_is_compiled() -> None:
    done = subprocess.run([sys.executable, "-c", NOTHING_IS_CALLED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


ONLY_THE_HEADLINE = """
from monitor.engine.monitor import warm_up
from monitor.indicators.tracking_pass import _advance_sliding, advance_pass
warm_up(("broadband",))
assert len(advance_pass.signatures) == 1 and not _advance_sliding.signatures
"""


@pytest.mark.usefixtures("warm_kernels")
def test_the_headline_needs_no_kernel_of_the_measures_that_follow_every_sample() -> None:
    done = subprocess.run([sys.executable, "-c", ONLY_THE_HEADLINE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@dataclass
class Joining:
    """A source during whose third block the headline's kernels come, and all others during the fifth."""

    source: MemorySource
    status: CompilationStatus = field(default_factory=lambda: CompilationStatus(MEASURES, 0.0))
    taken: int = 0
    waited: tuple[float, ...] = ()
    waiting: int = 0
    dropped_at_end: int = 0
    now: float = 100.0

    @property
    def ended(self) -> bool:
        return self.source.ended

    def hold(self, *, on: bool) -> None: ...

    def receive(self, timeout: float) -> tuple[object, ...]:
        items = self.source.receive(timeout)
        self.waited = self.source.waited
        self.taken += 1
        self.now += 0.5
        if self.taken == 3:
            self.status = CompilationStatus(tuple(m for m in MEASURES if m != "broadband"), 0.4)
        elif self.taken == 5:
            self.status = CompilationStatus()
        return items

    def close(self) -> None: ...


@pytest.mark.usefixtures("warm_kernels")
def test_the_service_judges_and_tells_each_measure_from_where_it_joins() -> None:
    samples, sink = motion(2000), MemorySink()
    limits = tuple(LimitSettings(value=value, trip=0.060) for value in ("delay", "fdb_delay"))
    alarms = AlarmMonitor(AlarmSettings(limit=limits), window=WINDOW)
    states: list[dict[str, tuple[AlarmState, str]]] = []
    sink.alarms = lambda report: states.append(
        {each.name: (each.state, each.not_judged) for each in report.alarms if each.actuator == "a"}
    )
    source = Joining(MemorySource([block(samples, start, start + BLOCK) for start in range(0, 2000, BLOCK)]))
    service = Service(
        source, Monitor(SETTINGS), [sink], alarms=alarms, clock=lambda: source.now, compilation=lambda: source.status
    )
    service.run(lambda: False)
    told = [set(each.values()) for each in states if each]
    assert {(AlarmState.NOT_JUDGED, "fdb being compiled")} < told[0]
    assert (AlarmState.NOT_JUDGED, "broadband, fdb, paei, paei_adaptive being compiled") in told[0]
    of_delay = [each["a.delay.trip"] for each in states if "a.delay.trip" in each]
    # never normal before the headline, and judged by it alone before the others
    assert of_delay.index((AlarmState.NORMAL, "")) < [each.get("a.fdb_delay.trip") for each in states].index(
        (AlarmState.NORMAL, "")
    )
    assert states[-1]["a.fdb_delay.trip"] == (AlarmState.NORMAL, "")
    notes = [event for event in sink.events_seen if event.kind is EventKind.NOTE]
    assert [event.detail for event in notes] == [
        "kernels are compiled, computed from here on: broadband",
        f"kernels are compiled, computed from here on: {', '.join(m for m in MEASURES if m != 'broadband')}",
    ]
    values = np.concatenate([each.values for each in sink.results_seen])
    stream = sink.results_seen[0].stream
    index = EVERY * np.arange(len(values))
    for event, name in zip(notes, ("broadband_reason", "fdb_reason"), strict=True):
        (column, _) = (i for i, each in enumerate(stream.columns) if each.name == name)
        (ends,) = np.flatnonzero(np.diff(values[:, column] == Reason.COMPILING))
        assert values[0, column] == Reason.COMPILING and abs(index[ends] - event.index) <= 1.1 * BLOCK
    assert [each.compilation.share for each in sink.health_seen][-1] == 1.0
    assert {"fdb", "viewers"} & set(sink.health_seen[1].paused) == {"fdb"}


@dataclass
class Compiler:
    """A process that has compiled so many stages, and then ends."""

    stdout: Iterator[bytes]
    stdin: None = None

    def poll(self) -> int:
        return 0


def lines_of(n_stages: int) -> Iterator[bytes]:
    for number in range(n_stages):
        yield b"%d 10 advance_pass\n" % (number + 1)
        yield b"compiled\n"


def first_start_with(
    monkeypatch: pytest.MonkeyPatch, n_stages: int, broken: str = ""
) -> tuple[FirstStart, list[object]]:
    """Return a first start of all measures, when it is over, and what it has loaded."""
    loaded: list[object] = []

    def load(stage: tuple[str, ...], *, bandpass: bool) -> None:
        if broken in stage:
            raise MemoryError("no room")
        loaded.append((stage, bandpass))

    monkeypatch.setattr(first_start, "start_python", lambda *_, **__: Compiler(lines_of(n_stages)))
    monkeypatch.setattr(first_start, "_load", load)
    monkeypatch.setattr(first_start.gc, "freeze", lambda: None)
    starting = FirstStart([*MEASURES, RELIABILITY], bandpass=True, log=lambda _: None)
    starting._thread.join(60.0)
    assert not starting.running
    starting.close()
    return starting, loaded


@pytest.mark.parametrize("n_stages", [0, 2, 5])
def test_all_join_the_headline_first_though_the_process_may_end_early(
    monkeypatch: pytest.MonkeyPatch, n_stages: int
) -> None:
    starting, loaded = first_start_with(monkeypatch, n_stages)
    expected = [("broadband",), (RELIABILITY,), ("fei",), ("transfer",), tuple(SLIDING)]
    assert loaded == [(stage, True) for stage in expected]
    assert list(stages([*MEASURES, RELIABILITY])) == expected and list(stages(["fdb"])) == [("fdb",)]
    assert starting.status == CompilationStatus() and not starting.fault


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("stage", list(stages([*MEASURES, RELIABILITY])))
def test_each_stage_is_loaded_by_itself(stage: tuple[str, ...]) -> None:
    first_start._load(stage, bandpass=True)


def test_what_cannot_be_compiled_is_told_and_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    starting, loaded = first_start_with(monkeypatch, 5, broken="fei")
    assert starting.fault == "kernels cannot be compiled: no room"
    assert len(loaded) == 2 and set(starting.status.measures) == {*MEASURES} - {"broadband"}
    assert measure_of("fei_delay") in starting.status.measures


# compiling a call of `hang` hangs in C code, and the interpreter raises no KeyboardInterrupt after it either
_COMPILES = """
import hashlib, os, signal, sys, threading, time
from numba import njit
from numba.extending import overload
from monitor.commands.process import compiles, ending_compilation

def hang(): pass

@overload(hang)
def _hang():
    assert compiles(sys._getframe())
    print("compiling", flush=True)
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
    return lambda: None

@njit
def kernel():
    hang()

assert not compiles(sys._getframe())
with ending_compilation():
    kernel()
"""
_CLOSES = """
import hashlib, os, signal, threading
from monitor.commands.process import ending_compilation
with ending_compilation():
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 3_000_000)
print("closed")
"""


def _run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False)


def test_a_signal_ends_a_process_that_compiles():
    done = _run(_COMPILES)
    assert (done.stdout, done.returncode) == ("compiling\n", 130), done.stderr


def test_a_signal_leaves_alone_what_does_not_compile():
    done = _run(_CLOSES)
    assert (done.stdout, done.stderr, done.returncode) == ("closed\n", "", 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_watched_before_it_compiles_anything(command, monkeypatch):
    def run(_arguments, **_more):
        watched.append(signal.set_wakeup_fd(signal.set_wakeup_fd(-1)) is not None)
        names.extend(thread.name for thread in threading.enumerate())
        return 0

    watched, names = [], []
    module = import_module(COMMANDS[command][0])
    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "add_arguments", lambda parser: None)
    assert main([command]) == 0
    assert watched == [True] and "compilation-watch" in names
    assert "compilation-watch" not in [thread.name for thread in threading.enumerate()]


def test_the_wakeup_of_before_is_restored():
    with ending_compilation():
        inner = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(inner)
        assert inner != -1
    assert signal.set_wakeup_fd(-1) == -1


def test_what_takes_long_is_announced_on_standard_error(monkeypatch, capsys) -> None:
    reached = threading.Event()
    monkeypatch.setattr(output, "_SILENCE", 0.0)
    monkeypatch.setattr(output, "print", lambda *words, **how: (print(*words, **how), reached.set()), raising=False)
    with output.compilation_announced("assessing run.h5"):
        assert reached.wait(30.0)
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err == "assessing run.h5; kernels are compiled once, which takes a minute or two\n"


def test_what_is_compiled_ahead_is_what_the_pass_calls(warm_kernels) -> None:
    from monitor.commands.first_start import kernels_ahead

    for kernel, arguments in kernels_ahead():
        kernel.compile(tuple(map(numba.typeof, arguments)))
        assert list(kernel.stats.cache_hits.values()) == [1]
