"""Blocks that prove what arrived, and a watch over what a test leaves behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Event, Role, SignalBlock, Stream
from monitor.transport.zeromq.signals import SignalPublisher, SignalSubscriber

Counting = Callable[..., SignalBlock]
DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture
def counting() -> Counting:
    """Blocks whose channel ``count`` carries the index of each sample."""
    streams: dict[str, Stream] = {}

    def make(index: int, rows: int = 1, rig: str = "rig", last: bool = False) -> SignalBlock:
        channels = (
            Channel("a.command", Role.COMMAND, "m", "a"),
            Channel("a.measured", Role.MEASURED, "m", "a"),
            Channel("count", Role.AUXILIARY),
        )
        stream = streams.setdefault(rig, Stream(rig, 7, 1000.0, channels))
        count = np.arange(index, index + rows, dtype=float)
        samples = np.stack([np.sin(count), np.cos(count), count], axis=1)
        return SignalBlock(stream, index, index / 1000.0, samples, last)

    return make


@pytest.fixture
def gather() -> Callable[..., list[SignalBlock | Event]]:
    """Receive until what has come satisfies a condition, or fail after a generous while."""

    def run(source, enough, within: float = 10.0, meanwhile=lambda: None):
        found: list[SignalBlock | Event] = []
        deadline = monotonic() + within
        while not enough(found):
            assert monotonic() < deadline, f"still waiting; so far {found[-5:]}"
            meanwhile()
            found += source.receive(0.02)
        return found

    return run


@pytest.fixture
def subscribed(gather) -> Callable[[SignalPublisher, SignalSubscriber], None]:
    """Receive until the publisher knows of the subscription."""
    return lambda publisher, source: gather(source, lambda _: publisher.subscribed) and None


@pytest.fixture
def no_leftovers() -> Iterator[None]:
    """Fail on a thread or a descriptor that the test leaves behind, and on an unclosed socket."""
    gc.collect()
    threads = set(threading.enumerate())
    descriptors = _descriptors()
    yield
    # an unclosed socket or context warns when it is collected, and a warning is an error
    gc.collect()
    assert set(threading.enumerate()) <= threads
    assert _descriptors() <= descriptors


def _descriptors() -> int:
    return len(list(DESCRIPTORS.iterdir())) if DESCRIPTORS.is_dir() else 0
