"""A command that ends when its standard input is closed: whoever started it may be killed and cannot say so."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading

_STANDARD_INPUT = 0
_MOST = 1 << 12


def stop_when_closed(number: signal.Signals = signal.SIGTERM) -> None:
    """Act from now on as a signal would when standard input is closed; what is written to it is not looked at.

    The signal must have a handler: what the system does by default is not done.
    """
    threading.Thread(target=_wait, args=(number,), name="standard-input", daemon=True).start()


def _wait(number: signal.Signals) -> None:
    # not through sys.stdin, whose lock the interpreter wants at its end
    with contextlib.suppress(OSError):
        while os.read(_STANDARD_INPUT, _MOST):
            pass
    _thread.interrupt_main(number)
