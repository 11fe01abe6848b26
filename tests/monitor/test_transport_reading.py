"""A reading thread that ends: whoever takes is told every time, never a silence."""

from __future__ import annotations

from typing import cast

import pytest
import zmq

from monitor.transport.link import Link, LinkSettings
from monitor.transport.reading import Reading


class Failing:
    def wait(self, _milliseconds: int) -> None:
        raise KeyError("a fault")


def test_what_ended_it_is_raised_at_every_take():
    reading = Reading([cast(Link, Failing())], zmq.Poller(), LinkSettings((b"",)))
    reading.start()
    for timeout in (30.0, 30.0, 0.0):
        with pytest.raises(KeyError, match="a fault"):
            reading.take(timeout)
    reading.close()
