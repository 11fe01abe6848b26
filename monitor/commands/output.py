"""Output of commands: progress on standard error, and JSON on standard output."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import fields
from typing import Any

import msgspec


@contextmanager
def progress_bars(
    interval: float = math.inf, line: str = "{label}: {done} of {total}"
) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress bars on standard error: yields a callback with a label, the amount done and the total.

    Where standard error is not a terminal, such a line is printed every `interval` s.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeRemainingColumn

    columns = *Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as display:
        tasks: dict[str, TaskID] = {}
        last = time.monotonic()

        def update(label: str, done: int, total: int) -> None:
            nonlocal last
            if label not in tasks:
                tasks[label] = display.add_task(label, total=total)
            display.update(tasks[label], completed=done, total=total)
            if time.monotonic() - last >= interval and not sys.stderr.isatty():
                last = time.monotonic()
                print(line.format(label=label, done=done, total=total), file=sys.stderr, flush=True)

        yield update


_SILENCE = 2.0  # s


@contextmanager
def announced(text: str, log: Callable[[str], None]) -> Iterator[None]:
    """Print a line on what is being done when it takes more than 2 s; none where the text is empty."""
    timer = threading.Timer(_SILENCE, log, (text,))
    timer.daemon = True
    if text:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def compilation_announced(doing: str) -> AbstractContextManager[None]:
    """Print on standard error what takes more than 2 s, such as the compilation of kernels, which has no progress."""
    text = f"{doing}; kernels are compiled once, which takes a minute or two"
    return announced(text, lambda line: print(line, file=sys.stderr, flush=True))


_LINE_INTERVAL = 5.0  # s
# by name: it shows its own progress with what is here
_SECOND_PROCESS = "from monitor.commands.first_start import compile_ahead; compile_ahead()"


@contextmanager
def compilation_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show the progress of kernel compilation on standard error: a bar on a terminal, otherwise a line every 5 s.

    From the first kernel that is compiled on, a second process compiles others into the cache.

    Yields a callback with the number of compiled kernels, their total, and the name of the latest. Kernels that are
    loaded from the cache show nothing.
    """
    with progress_bars() as show, ExitStack() as stack:
        last_line, alone = time.monotonic(), True

        def update(done: int, total: int, name: str) -> None:
            nonlocal last_line, alone
            if not name:
                return
            if alone:
                alone = False
                _start_second_process(stack)
            show("compiling kernels", done, total)
            if time.monotonic() - last_line >= _LINE_INTERVAL and not sys.stderr.isatty():
                last_line = time.monotonic()
                print(f"compiling kernels: {done} of {total} ({name})", file=sys.stderr, flush=True)

        yield update


def _start_second_process(stack: ExitStack) -> None:
    from monitor.kernel_cache import NOT_CACHED
    from monitor.system.worker_process import start_python, stop_process

    if NOT_CACHED not in os.environ and os.cpu_count() != 1:
        with suppress(OSError):
            process = start_python(("-c", _SECOND_PROCESS), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(stop_process, process)


_UNITS = {
    "delay": ("delay_ms", 1e3),
    "delay_sd": ("delay_sd_ms", 1e3),
    "delay_median_sd": ("delay_median_sd_ms", 1e3),
    "delay_range": ("delay_range_ms", 1e3),
    "phase": ("phase_rad", 1.0),
    "frequency": ("frequency_hz", 1.0),
    "j1": ("j1_ms", 1.0),
    "j2": ("j2_percent", 1.0),
    "j3": ("j3_percent", 1.0),
}
"""JSON key with the unit, and factor from SI, of fields that have one."""


def to_json_types(found: object) -> Any:
    """Convert dataclasses, structs, enumerations and arrays to dictionaries, lists and scalars.

    NaN and infinity become None.
    """
    # through JSON, because msgspec.to_builtins keeps NaN
    return msgspec.json.decode(msgspec.json.encode(found, enc_hook=_array_values))


def _array_values(value: Any) -> Any:
    # only numpy arrays and scalars are unknown to msgspec
    return value.tolist()


def with_units(found: Any, units: Mapping[str, tuple[str, float]] = _UNITS) -> dict[str, Any]:
    """Return the fields of a dataclass or a named tuple by their JSON keys, in the units named there.

    Parameters
    ----------
    found : with numbers, pairs of numbers or None, in SI; other fields are not changed.
    units : JSON key and factor from SI, by field name.
    """
    names = found._fields if hasattr(found, "_fields") else [field.name for field in fields(found)]
    values = {}
    for name in names:
        value = getattr(found, name)
        key, factor = units.get(name, (name, 1.0))
        values[key] = value if factor == 1.0 or value is None else _scaled(value, factor)
    return values


def _scaled(value: Any, factor: float) -> Any:
    return [factor * each for each in value] if isinstance(value, tuple) else factor * value


def print_json(found: object) -> None:
    """Print one JSON object."""
    print(json.dumps(to_json_types(found), indent=2), flush=True)


def print_records(found: Sequence[Mapping[str, Any]], *, several: bool) -> None:
    """Print the result of one record, or under ``records`` those of `several` that could be read, as JSON."""
    print_json({"records": found} if several else found[0])
