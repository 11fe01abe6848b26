"""The process of a command, and child processes: signals, also while kernels are compiled, end of input, limits."""

from __future__ import annotations

import _thread
import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from types import FrameType, TracebackType
from typing import NoReturn, Self

from monitor.system.worker_process import start_python, stop_process

if sys.platform != "win32":
    import resource


class StopSignals:
    """Record stop signals instead of ending the process; create it in the main thread.

    As a context manager it restores the previous handlers.

    Parameters
    ----------
    numbers : the signals; default SIGINT and SIGTERM.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self.received = False
        self.count = 0
        self.since = 0.0  # s, monotonic
        self._interrupts = False
        self._previous = {
            number: signal.signal(number, self._handle) for number in numbers or (signal.SIGINT, signal.SIGTERM)
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def ignore(self) -> None:
        """Ignore the signals from now on, so that they do not change the exit code of a program that is ending."""
        # the interpreter removes handlers before it has ended, and then a signal would end it
        for number in self._previous:
            signal.signal(number, signal.SIG_IGN)

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if a signal was received: an import may have swallowed the first one."""
        if self.received:
            raise KeyboardInterrupt from None

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        # no lock, as an Event would take: the next signal may interrupt this handler
        if not self.received:
            self.since = time.monotonic()
        self.received = True
        self.count += 1
        if self._interrupts:
            raise KeyboardInterrupt

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` inside this context when a signal is or was received.

        Any error after it is also raised as `KeyboardInterrupt`: interrupted C code may fail in its own way.
        """
        self._interrupts = True
        try:
            self.check()
            yield
        except Exception:
            self.check()
            raise
        finally:
            self._interrupts = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Delay the `KeyboardInterrupt` of `interrupting` to the end of this context, where sockets are opened."""
        before, self._interrupts = self._interrupts, False
        try:
            yield
        finally:
            self._interrupts = before
        if before:
            self.check()


_RETRY_INTERVAL = 0.05  # s


@contextmanager
def retrying_interrupts() -> Iterator[None]:
    """Raise a `KeyboardInterrupt` again, and print nothing, where a callback of C code has swallowed it.

    Compiling kernels calls back into Python, and there an exception is printed and dropped. The compiler may then
    fail with an error of its own, which is raised as `KeyboardInterrupt`.
    """
    before = sys.unraisablehook
    timers: list[threading.Timer] = []

    def retry(details: sys.UnraisableHookArgs) -> None:
        if issubclass(details.exc_type, KeyboardInterrupt):
            timers.append(threading.Timer(_RETRY_INTERVAL, _interrupt_main_thread))
            timers[-1].daemon = True
            timers[-1].start()
        else:
            before(details)

    sys.unraisablehook = retry
    try:
        yield
    except Exception:
        if timers:
            raise KeyboardInterrupt from None
        raise
    finally:
        if timers:
            # a timer that fires now must not end a program that is ending
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()


def _interrupt_main_thread() -> None:
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:
        # unlike `interrupt_main` it also ends a system call
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


_JOIN_INTERVAL = 0.05  # s
_STACK_SIZE = 16 << 20  # bytes: the compiler needs more than the default of some systems


def start_compiling(work: Callable[[], None], name: str) -> threading.Thread:
    """Start a thread in which numba may compile; the program's end does not wait for it."""
    before = threading.stack_size(_STACK_SIZE)
    try:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    return thread


def run_interruptibly(work: Callable[[], None]) -> None:
    """Run `work` in a thread and wait for it, so that a signal also interrupts the wait while C code is running.

    An error of the work is raised here. After a `KeyboardInterrupt` the thread continues: end the program by
    `exit_immediately` then.
    """
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:  # noqa: BLE001  raised below
            problems.append(problem)

    thread = start_compiling(run, "interruptible")
    while thread.is_alive():
        thread.join(_JOIN_INTERVAL)
    if problems:
        raise problems[0]


def exit_immediately(code: int) -> NoReturn:
    """End the process although a thread hangs in a system call or compiles, for which the interpreter would wait."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


_STANDARD_INPUT = 0
_READ_BYTES = 1 << 12


def exit_on_stdin_eof(number: signal.Signals = signal.SIGTERM) -> None:
    """Simulate a signal when standard input is closed; its content is ignored.

    The signal must have a Python handler: the system's default action does not take place.
    """
    threading.Thread(target=_wait_for_eof, args=(number,), name="standard-input", daemon=True).start()


def _wait_for_eof(number: signal.Signals) -> None:
    # not through sys.stdin, whose lock the interpreter needs at exit
    with contextlib.suppress(OSError):
        while os.read(_STANDARD_INPUT, _READ_BYTES):
            pass
    _thread.interrupt_main(number)


class ChildCommandError(RuntimeError):
    """A child process ended unexpectedly; one line with its role and its last message."""


class ChildCommand:
    """Another ``synchroscope`` command as a child process, in its own session so that Ctrl-C does not reach it.

    The command must have the option ``--until-closed`` (see `exit_on_stdin_eof`): it ends when this process does.

    Parameters
    ----------
    role : its name in messages.
    words : subcommand and options.
    """

    def __init__(self, role: str, *words: str) -> None:
        self.role = role
        self._n_read = 0
        # a file and not a pipe, which would block the child if it is not read
        self._folder = tempfile.TemporaryDirectory(prefix="synchroscope-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "stderr"
        with self._log.open("wb") as log:
            self._process = start_python(
                ("-m", "monitor", *words, "--until-closed"), stdout=subprocess.DEVNULL, stderr=log
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ended(self) -> bool:
        """Whether it has ended with exit code 0; raises ChildCommandError for any other code."""
        code = self._process.poll()
        if code:
            last = (self._text().strip().splitlines() or [f"exit code {code}"])[-1]
            raise ChildCommandError(f"the {self.role} ended: {last}")
        return code is not None

    def new_lines(self) -> list[str]:
        """Return the lines on standard error since the last call."""
        complete = self._text().splitlines(keepends=True)
        lines = [line.rstrip() for line in complete[self._n_read :] if line.endswith("\n")]
        self._n_read += len(lines)
        return lines

    def _text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """Terminate it, so that a service closes its recording; kill it after a timeout."""
        try:
            stop_process(self._process)
        finally:
            self._folder.cleanup()


_MIN_MEMORY = 1 << 30
"""Bytes of address space; with less, loading OpenBLAS never returns."""

_MIN_DESCRIPTORS = 64


def raise_descriptor_limit() -> None:
    """Allow as many open connections as the system permits: a hostile peer soon uses up the default of 1024.

    Raises
    ------
    ValueError : the limit is too low to start.
    """
    if sys.platform == "win32":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _MIN_DESCRIPTORS:
        raise ValueError(
            f"only {hard} files and connections may be open at once: a service needs at least {_MIN_DESCRIPTORS};"
            " raise the limit (ulimit -n)"
        )
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        # not permitted in some containers: the limit is unchanged
        return


def check_memory_limit() -> None:
    """Raise ValueError if the address space is too small to start a service."""
    if sys.platform == "win32":
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _MIN_MEMORY:
        raise ValueError(
            f"the address space is limited to {limit >> 20} MB: a service needs at least {_MIN_MEMORY >> 20} MB;"
            " raise the limit (ulimit -v), or limit the memory of its control group instead"
        )


def memory_limit(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """Return the smallest memory limit, bytes, of the control groups that this process is in; infinity without one.

    Parameters
    ----------
    groups : where control groups (version 2) are mounted.
    own : names the group of this process.
    """
    smallest = math.inf
    with contextlib.suppress(OSError):
        name = next((line[3:] for line in own.read_text().splitlines() if line.startswith("0::")), "/")
        group = groups / name.strip("/")
        for each in (group, *group.parents):
            if not each.is_relative_to(groups):
                break
            # "max" is no number; the root has no such file
            with contextlib.suppress(OSError, ValueError):
                smallest = min(smallest, float((each / "memory.max").read_text()))
    return smallest


_GRACE = 1.0  # s from the signal, in which the interpreter may raise its KeyboardInterrupt
_POLL_INTERVAL = 0.1  # s
_INTERRUPTED = 130


@contextmanager
def ending_compilation() -> Iterator[None]:
    """End the process with exit code 130 where the main thread compiles and a signal has not interrupted it for 1 s.

    It concerns signals with a handler of Python; the system's default ends a process at once. A program in another
    state, such as one that closes its files, is left alone. Only in the main thread.
    """
    main = threading.current_thread()
    if main is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    closed = threading.Event()
    watch = threading.Thread(target=_watch, args=(reader, closed, main.ident), name="compilation-watch", daemon=True)
    watch.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        closed.set()
        # ends the read
        os.close(writer)
        watch.join()
        os.close(reader)


def _watch(reader: int, closed: threading.Event, main: int | None) -> None:
    while os.read(reader, _READ_BYTES):
        deadline = time.monotonic() + _GRACE
        while not closed.wait(_POLL_INTERVAL):
            frame = sys._current_frames().get(main or 0)
            if not compiles(frame):
                break
            if time.monotonic() >= deadline:
                exit_immediately(_INTERRUPTED)


def compiles(frame: FrameType | None) -> bool:
    """Whether numba's compiler is among the callers of a frame."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "compile" and PurePath(code.co_filename).parts[-3:] == ("numba", "core", "dispatcher.py"):
            return True
        frame = frame.f_back
    return False
