"""A signal while a kernel is compiled: the process ends, and only then."""

import signal
import subprocess
import sys
import threading
from importlib import import_module

import numba
import pytest

from monitor.__main__ import COMMANDS, main
from monitor.commands import output
from monitor.commands.compilation_watch import ending_compilation

# compiling a call of `hang` hangs in C code, and the interpreter raises no KeyboardInterrupt after it either
_COMPILES = """
import hashlib, os, signal, sys, threading, time
from numba import njit
from numba.extending import overload
from monitor.commands.compilation_watch import compiles, ending_compilation

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
from monitor.commands.compilation_watch import ending_compilation
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
