"""Signals to stop: taken note of, and raised only where that was asked for."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from monitor.commands.process import StopSignals, retrying_interrupts, run_interruptibly

NUMBERS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def stop():
    before = [signal.getsignal(number) for number in NUMBERS]
    yield StopSignals()
    for number, handler in zip(NUMBERS, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_is_taken_note_of_and_interrupts_only_what_is_to_stop_at_once(stop, number):
    with stop.interrupting():
        pass
    assert not stop.received
    went_on = []
    with pytest.raises(KeyboardInterrupt), stop.interrupting():
        signal.raise_signal(number)
        went_on.append(1)
    assert stop.received and not went_on
    # after it no more
    signal.raise_signal(number)


def test_one_that_came_before_is_not_forgotten(stop):
    signal.raise_signal(signal.SIGTERM)
    assert stop.received
    with pytest.raises(KeyboardInterrupt), stop.interrupting():
        pytest.fail("went on")


def test_one_that_something_swallowed_is_told_again(stop):
    with pytest.raises(KeyboardInterrupt), stop.interrupting():
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException:  # noqa: BLE001 - as imports of others do
            stop.check()


def test_one_during_a_deferral_is_raised_at_its_end(stop):
    opened = []
    with pytest.raises(KeyboardInterrupt), stop.interrupting():
        with stop.deferred():
            signal.raise_signal(signal.SIGINT)
            opened.append(1)
        pytest.fail("went on")
    assert opened
    with stop.deferred():
        pass  # outside `interrupting` nothing is raised


class Swallowing:
    def __del__(self):
        # as in a callback of C code
        signal.raise_signal(signal.SIGINT)


def test_one_that_a_callback_swallowed_is_raised_again_without_a_message(stop, capsys):
    with retrying_interrupts(), pytest.raises(KeyboardInterrupt), stop.interrupting():
        del_me = Swallowing()
        del del_me
        time.sleep(10.0)
        pytest.fail("went on")
    assert not capsys.readouterr().err


def test_an_error_after_a_swallowed_one_is_an_interrupt(stop):
    with pytest.raises(KeyboardInterrupt), stop.interrupting():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise RuntimeError("no compiled object yet")
    with pytest.raises(KeyboardInterrupt), retrying_interrupts():
        del_me = Swallowing()
        stop._interrupts = True
        del del_me
        raise RuntimeError("no compiled object yet")
    stop._interrupts = False


def test_other_errors_are_raised_as_they_are(stop):
    for context in (retrying_interrupts(), stop.interrupting()):
        with pytest.raises(RuntimeError, match="own fault"), context:
            raise RuntimeError("own fault")


LATE = """
import os, signal, sys
from monitor.commands.process import StopSignals
stop = StopSignals()
class Late:
    def __del__(self, kill=os.kill, own=os.getpid()):
        # the interpreter is about to end, and has no handlers any more
        kill(own, signal.SIGTERM)
        kill(own, signal.SIGINT)
late = Late()

stop.ignore()
sys.exit(3)
"""


def test_one_that_comes_as_the_program_ends_does_not_change_its_exit_code():
    assert subprocess.run([sys.executable, "-c", LATE]).returncode == 3


INTERRUPTED = """
import sys
import monitor.__main__ as program
import gui.commands.watch as watch

def run(arguments):
    exec("raise KeyboardInterrupt")  # as in the code that a dataclass generates

watch.run = run
sys.exit(program.main(["watch"]))
"""


def test_an_interrupt_in_an_executed_string_ends_with_an_exit_code(tmp_path):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run([sys.executable, "-m", "interrupted"], env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="there is no usleep")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_c_code_that_does_not_return_delays_no_signal(stop, number):
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        # Python handles a signal of the main thread only after such a call
        ctypes.CDLL(None).usleep(3_000_000)
        ended.set()

    threading.Thread(target=lambda: began.wait(30.0) and os.kill(os.getpid(), number)).start()
    with pytest.raises(KeyboardInterrupt), stop.interrupting():
        run_interruptibly(work)
    assert not ended.is_set()
    assert ended.wait(30.0)


def test_the_error_of_interruptible_work_is_raised() -> None:
    done = []
    run_interruptibly(lambda: done.append(1))
    assert done == [1]
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 / 0)
