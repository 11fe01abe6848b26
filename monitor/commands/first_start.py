"""The kernels of a first start: other processes compile them into the cache, the service loads them as they come.

`python -m monitor.commands.first_start` compiles those of the headline; a service names the measures that it needs.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

from monitor.catalogue import RELIABILITY
from monitor.commands.output import compilation_progress
from monitor.commands.process import start_compiling
from monitor.messages.headline import HEADLINE
from monitor.messages.health import CompilationStatus
from monitor.system.worker_process import start_python, stop_process

_BANDPASS = "bandpass"
_ONE_BY_ONE = HEADLINE, RELIABILITY, "fei", "transfer"
_DONE = b"compiled"
_LINE_INTERVAL = 5.0  # s


def stages(measures: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield which measures join together, the headline first; the pass has those of every sample in one kernel."""
    yield from ((each,) for each in _ONE_BY_ONE if each in measures)
    if rest := tuple(each for each in measures if each not in _ONE_BY_ONE):
        yield rest


class FirstStart:
    """Kernels that are not in the cache: another process compiles them into it, a thread loads them as they come.

    Where the cache cannot be written the thread compiles them.

    Parameters
    ----------
    measures : those to compute, `RELIABILITY` among them.
    bandpass : also the kernel of the filter.
    log : prints a line.

    Attributes
    ----------
    status : which measures are not there yet, and what share of all is.
    fault : why there will be no more; empty: nothing.
    """

    def __init__(self, measures: Sequence[str], *, bandpass: bool, log: Callable[[str], None]) -> None:
        self.status, self.fault = CompilationStatus(tuple(measures), 0.0), ""
        self._bandpass, self._log, self._logged = bandpass, log, time.monotonic()
        self._closed = False
        words = ("-m", "monitor.commands.first_start", *measures, *([_BANDPASS] if bandpass else []))
        self._process: subprocess.Popen[bytes] | None = None
        with suppress(OSError):
            self._process = start_python(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._thread = start_compiling(self._run, "first-start")

    @property
    def running(self) -> bool:
        """Whether the thread runs, which may be within the compiler."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End the process."""
        self._closed = True
        if self._process is not None:
            stop_process(self._process)

    def _run(self) -> None:
        try:
            for stage in stages(self.status.measures):
                self._wait(", ".join(stage))
                if self._closed:
                    return
                _load(stage, bandpass=self._bandpass)
                left = tuple(each for each in self.status.measures if each not in stage)
                self.status = CompilationStatus(left, self.status.share if left else 1.0)
            # they stay in memory: a garbage collection over them would delay results
            gc.freeze()
        except Exception as problem:  # noqa: BLE001  it is a fault of the service, which records on
            self.fault = f"kernels cannot be compiled: {' '.join(str(problem).split())[:160]}"

    def _wait(self, what: str) -> None:
        """Wait until the process has compiled a stage, or has ended."""
        for line in () if self._process is None or self._process.stdout is None else self._process.stdout:
            if line.rstrip() == _DONE:
                break
            done, total, name = line.decode().split()
            self.status = CompilationStatus(self.status.measures, int(done) / int(total))
            if time.monotonic() - self._logged >= _LINE_INTERVAL:
                self._logged = time.monotonic()
                self._log(f"compiling kernels: {done} of {total} ({name}), next to be computed: {what}")


def _load(stage: Collection[str], *, bandpass: bool) -> None:
    """Load the kernels of measures, or compile them."""
    from monitor.engine.monitor import warm_up

    warm_up([each for each in stage if each != RELIABILITY], bandpass=bandpass, reliability=RELIABILITY in stage)


def main() -> None:
    """Compile what a service needs, or load it; for a service that waits for it, end with that."""
    from monitor.alarms.monitor import warm_up as warm_up_alarms
    from monitor.kernel import report_compilation

    for_service = sys.argv[1:]
    if for_service:
        threading.Thread(target=_end_with_input, daemon=True).start()
    names = for_service or [HEADLINE]
    with compilation_progress() as show:

        def progress(done: int, total: int, name: str) -> None:
            show(done, total, name)
            if for_service and name:
                _tell(f"{done} {total} {name}")

        with report_compilation(progress):
            for stage in stages([each for each in names if each != _BANDPASS]):
                _load(stage, bandpass=_BANDPASS in names)
                if for_service:
                    _tell(_DONE.decode())
    warm_up_alarms()


def _tell(line: str) -> None:
    from monitor.kernel_cache import NOT_CACHED

    if NOT_CACHED in os.environ:
        # nobody would find what is compiled here
        os._exit(0)
    print(line, flush=True)


def compile_ahead() -> None:
    """Compile into the cache what the first process comes to later, where a core is idle; end with that process."""
    if sys.platform != "win32":
        # the headline and the service come first
        os.nice(10)
    threading.Thread(target=_end_with_input, daemon=True).start()
    from numba import typeof

    for kernel, arguments in kernels_ahead():
        kernel.compile(tuple(map(typeof, arguments)))


def kernels_ahead() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield kernels that take half of the headline, and of all, with arguments of the types of their calls.

    They are in the order in which the first process needs them, which starts with others.
    """
    import numpy as np

    from monitor.indicators.adaptive_phase_amplitude import advance_adaptive
    from monitor.indicators.parts.cross_spectra import fit_lag, plan_tapers
    from monitor.indicators.parts.deviation import weighted_sum_deviations
    from monitor.indicators.parts.residual import fit_delayed
    from monitor.indicators.phase_amplitude import advance_paei
    from monitor.indicators.tracking_indicator import advance_ti

    x = np.zeros(8)
    yield fit_delayed, (x, x, 0.0, x, x, x, x)
    yield weighted_sum_deviations, (x, x, x, x, 0, 0)
    yield fit_lag, (x, x, x, plan_tapers(64, 100.0, None))
    samples, columns, rows = np.zeros((1, 2)), np.zeros((3, 1), np.int64), np.zeros((2, 2, 4))[:, :, :2]
    for kernel in (advance_paei, advance_adaptive, advance_ti):
        yield kernel, (samples, samples, columns, 0, 1, rows, x, 0, np.zeros((1, 3, 2)), 0)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
