"""Cost of a step in a control loop: from Python, in a compiled controller, and from C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
from numba import njit
from numba.core.runtime import _nrt_python, rtsys
from numpy.typing import NDArray

from benchmarks.alternatives import fft_of_window
from benchmarks.figures import COUNT, NS, US, Figure
from benchmarks.kernels import N_WINDOW, RATE, signals
from monitor.compensation.fixed_inverse import FixedInverse
from monitor.compensation.recursive_inverse import RecursiveInverse
from monitor.config import IndicatorSettings
from monitor.embedding.c_functions import compensator_struct, include_folder, reliability_struct, tracking_struct
from monitor.embedding.compensation import EmbeddedCompensator, step_compensator
from monitor.embedding.reliability import EmbeddedReliability, step_reliability
from monitor.embedding.tracking import EmbeddedTracking, step_tracking
from monitor.messages.blocks import Samples
from monitor.reliability.ensemble import sort_ensemble
from monitor.reliability.tolerance import Tolerance, TolerancePolicy

SUMMARY = "one sample a call in a control loop, against numpy on the window"
MEASURES = ("fdb", "paei", "ti")
MOST_PYTHON_NS, MOST_COMPILED_NS = 3000.0, 700.0
N_REALIZATIONS = 1000
Times = NDArray[np.int64]


def run(quick: bool) -> Iterator[Figure]:
    """Yield median and p99.9 of a call, which contains the evaluations of a window, and allocations of a loop."""
    with tempfile.TemporaryDirectory() as folder:
        library = _compiled(Path(folder))
        yield from _tracking(library, 5_000 if quick else 1_000_000)
        yield from _compensation(library, 5_000 if quick else 200_000)
        yield from _reliability(library, 500 if quick else 5_000)


def _compiled(folder: Path) -> Any:
    """Return the loops in C, None where there is no compiler."""
    if not shutil.which("cc"):
        return None
    source, library = Path(__file__).with_suffix(".c"), folder / "embedding.so"
    options = ["-std=c99", "-O2", "-shared", "-fPIC", f"-I{include_folder()}"]
    subprocess.run(["cc", *options, "-o", str(library), str(source)], check=True)
    loops = ctypes.CDLL(str(library))
    loops.now.restype, loops.now.argtypes = ctypes.c_int64, ()
    return loops


def _tracking(library: Any, n: int) -> Iterator[Figure]:
    embedded = EmbeddedTracking(IndicatorSettings(measures=MEASURES, window=N_WINDOW / RATE), RATE)
    command, measured = (signal[:, 0].copy() for signal in signals(n + N_WINDOW, 1))
    row, taken = embedded.new_row(), np.empty(n, dtype=np.int64)
    theirs = _windows(command, measured, min(n, 3000))
    name = "FDB, PAEI, TI, 1 pair"
    _warm(embedded, command, measured, row)
    _python_loop(embedded.state, command[N_WINDOW:], measured[N_WINDOW:], N_WINDOW, row, taken)
    yield from _figures(f"{name}, from Python", taken, MOST_PYTHON_NS, theirs)
    allocated = _python_allocations(embedded.state, command, measured, row)
    yield Figure("embedding", f"{name}, from Python: bytes kept by 1000 calls", allocated, COUNT, most=200.0)
    if library is None:
        return
    compiled = _njit_loop(library.now)
    _warm(embedded, command, measured, row)
    compiled(embedded.state, command[:1], measured[:1], N_WINDOW, row, taken[:1])
    allocations = _allocations(
        compiled, embedded.state, command[N_WINDOW:], measured[N_WINDOW:], N_WINDOW, row, taken
    )
    yield from _figures(f"{name}, in @njit", taken, MOST_COMPILED_NS, theirs)
    # one view of each of the five arrays of the loop's call
    yield Figure("embedding", f"{name}, in @njit: allocations", allocations - 5, COUNT, most=0.0)
    struct = tracking_struct(embedded)
    _warm(embedded, command, measured, row)
    arrays = (_pointer(each[N_WINDOW:]) for each in (command, measured))
    numbers = ctypes.c_int64(N_WINDOW), ctypes.c_int64(n)
    allocations = _allocations(library.track, ctypes.byref(struct), *arrays, *numbers, _pointer(row), _pointer(taken))
    yield from _figures(f"{name}, from C", taken, MOST_COMPILED_NS, theirs)
    yield Figure("embedding", f"{name}, from C: allocations", allocations, COUNT, most=0.0)


def _compensation(library: Any, n: int) -> Iterator[Figure]:
    nominal = FixedInverse.of_delay(0.010, order=3)
    embedded = EmbeddedCompensator(RecursiveInverse(nominal), RATE)
    command, measured = (signal[:, 0].copy() for signal in signals(n, 1))
    row, taken, sent = embedded.new_row(), np.empty(n, dtype=np.int64), np.empty(1)
    fits = [_fit_of_window(measured, start) for start in range(1000)]
    name, instead = "recursive inverse, 1 actuator", "numpy's fit of ATS's window"
    for i in range(n):
        start = perf_counter_ns()
        step_compensator(embedded.state, command[i : i + 1], measured[i : i + 1], sent, row)
        taken[i] = perf_counter_ns() - start
    yield from _figures(f"{name}, from Python", taken, MOST_PYTHON_NS, fits, instead)
    if library is None:
        return
    embedded.reset()
    struct = compensator_struct(embedded)
    arrays = (_pointer(each) for each in (command, measured))
    allocations = _allocations(
        library.compensate, ctypes.byref(struct), *arrays, ctypes.c_int64(n), _pointer(row), _pointer(taken)
    )
    yield from _figures(f"{name}, from C", taken, MOST_COMPILED_NS, fits, instead)
    yield Figure("embedding", f"{name}, from C: allocations", allocations, COUNT, most=0.0)


def _fit_of_window(measured: Samples, start: int) -> int:
    rows = measured[start : start + N_WINDOW : 4]
    begin = perf_counter_ns()
    slope = np.gradient(rows)
    np.linalg.lstsq(np.stack([rows, slope, np.gradient(slope)], 1), rows, rcond=None)
    return perf_counter_ns() - begin


def _reliability(library: Any, n: int) -> Iterator[Figure]:
    rng = np.random.default_rng(2)
    time = np.arange(n) / RATE
    motion = np.sin(2.0 * np.pi * 3.0 * time)
    ensemble = sort_ensemble(time, motion[:, None] * (1.0 + 0.1 * rng.standard_normal(N_REALIZATIONS)))
    measured = motion + 0.02 * rng.standard_normal(n)
    embedded = EmbeddedReliability(ensemble, Tolerance(TolerancePolicy.ABSOLUTE, 0.2), 1, N_WINDOW)
    row, taken = embedded.new_row(), np.empty(n, dtype=np.int64)
    arrays = embedded.state, embedded.response, embedded.order
    name = f"reliability, {N_REALIZATIONS} realizations"
    for instant in range(n):
        start = perf_counter_ns()
        step_reliability(*arrays, measured[instant : instant + 1], instant, row)
        taken[instant] = perf_counter_ns() - start
    scans = [_scan(ensemble.response, measured, instant) for instant in range(min(n, 1000))]
    yield from _figures(f"{name}, from Python", taken, None, scans, "scan by numpy")
    if library is None:
        return
    embedded.reset()
    struct = reliability_struct(embedded)
    library.assess(ctypes.byref(struct), _pointer(measured), ctypes.c_int64(n), _pointer(row), _pointer(taken))
    yield from _figures(f"{name}, from C", taken, None, scans, "scan by numpy")


def _scan(response: Samples, measured: Samples, instant: int) -> int:
    start = perf_counter_ns()
    np.count_nonzero(np.abs(response[instant] - measured[instant]) < 0.2)
    return perf_counter_ns() - start


def _figures(
    case: str, taken: Times, most: float | None, theirs: list[int], instead: str = "FFT of the window"
) -> Iterator[Figure]:
    median, other = float(np.median(taken)), float(np.median(theirs))
    yield Figure("embedding", case, median, NS, float(taken.min()), instead, other, median / other, most)
    yield Figure("embedding", f"{case}, p99.9", float(np.quantile(taken, 0.999)) / 1000.0, US)


def _warm(embedded: EmbeddedTracking, command: Samples, measured: Samples, row: Samples) -> None:
    """Fill the window."""
    embedded.reset()
    for number in range(N_WINDOW):
        sample = slice(number, number + 1)
        step_tracking(embedded.state, command[sample], measured[sample], row[:0], number, row)


def _python_loop(state: Samples, command: Samples, measured: Samples, first: int, row: Samples, taken: Times) -> None:
    c, m, force = np.empty(1), np.empty(1), np.empty(0)
    for i in range(len(taken)):
        c[0], m[0] = command[i], measured[i]
        start = perf_counter_ns()
        step_tracking(state, c, m, force, first + i, row)
        taken[i] = perf_counter_ns() - start


def _python_allocations(state: Samples, command: Samples, measured: Samples, row: Samples) -> float:
    c, m, force = command[:1].copy(), measured[:1].copy(), np.empty(0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(1000):
        step_tracking(state, c, m, force, number, row)
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return float(kept)


def _njit_loop(now: Any) -> Any:
    @njit
    def loop(state: Samples, command: Samples, measured: Samples, first: int, row: Samples, taken: Times) -> None:
        for i in range(len(taken)):
            start = now()
            step_tracking(state, command[i : i + 1], measured[i : i + 1], row[:0], first + i, row)
            taken[i] = now() - start

    return loop


def _allocations(function: Any, *arguments: Any) -> float:
    """Call a function; return the allocations by numba."""
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats().alloc
    function(*arguments)
    return float(rtsys.get_allocation_stats().alloc - before)


def _windows(command: Samples, measured: Samples, n: int) -> list[int]:
    hann, taken = np.hanning(N_WINDOW + 1)[:-1], []
    for start in range(n):
        begin = perf_counter_ns()
        fft_of_window(command[start : start + N_WINDOW], measured[start : start + N_WINDOW], hann, N_WINDOW // 10)
        taken.append(perf_counter_ns() - begin)
    return taken


def _pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
