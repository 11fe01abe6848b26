"""The kernels of a service, compiled by two processes at a first start: `python -m monitor.commands.first_start`."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

SECOND_PROCESS = "from monitor.commands.first_start import compile_ahead; compile_ahead()"


def main() -> None:
    """Compile what a service needs, or load it."""
    from monitor.alarms.monitor import warm_up as warm_up_alarms
    from monitor.commands.output import compilation_progress
    from monitor.engine.monitor import warm_up

    with compilation_progress(lambda line: print(line, file=sys.stderr, flush=True)) as progress:
        warm_up(reliability=True, progress=progress)
    warm_up_alarms()


def compile_ahead() -> None:
    """Compile into the cache what the first process comes to later; end with that process."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    for kernel in kernels_ahead():
        kernel.compile(signature_ahead())


def kernels_ahead() -> tuple[Any, ...]:
    """Return kernels that take nearly half of a first start, in the order in which the first process needs them."""
    from monitor.indicators.adaptive_phase_amplitude import advance_adaptive
    from monitor.indicators.phase_amplitude import advance_paei
    from monitor.indicators.tracking_indicator import advance_ti

    return advance_paei, advance_adaptive, advance_ti


def signature_ahead() -> tuple[Any, ...]:
    """Return the types of the arguments with which the pass calls them."""
    from numba.core.types import float64, int64

    samples, columns, rows = float64[:, ::1], int64[:, ::1], float64[:, :, :]
    memory, ring = float64[::1], float64[:, :, ::1]
    return samples, samples, columns, int64, int64, rows, memory, int64, ring, int64


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
