import numpy as np
import pytest

from monitor.messages.blocks import Channel, Event, Role, SignalBlock, Stream
from monitor.transport.zeromq.message_queue import Origin
from monitor.transport.zeromq.signals import SignalDecoder
from monitor.wire.native import Encoder

RATE = 1000.0
ROLES = (Role.COMMAND, Role.MEASURED)


def stream(channels, epoch=1):
    names = [(role, f"a{number}") for number in range(channels // 2) for role in ROLES]
    return Stream("north", epoch, RATE, tuple(Channel(f"{name}.{role}", role, "mm", name) for role, name in names))


def told(blocks, connection=lambda number: 7, apart=0.01):
    """Texts of the events of (number, block), through the door of the service."""
    decoder, encoder = SignalDecoder(), Encoder()
    items = [
        item
        for number, block in enumerate(blocks)
        for item in decoder.decode(
            encoder.encode(block), Origin("tcp://127.0.0.1:1", connection(number), number * apart)
        )
    ]
    return [item.detail for item in items if isinstance(item, Event)]


def motion(kind, channels, samples):
    """(n_samples, n_channels) of two hertz, of noise below 15 Hz, of equal white noise, or at rest."""
    rng = np.random.default_rng(5)
    time = np.arange(samples) / RATE
    if kind == "equal noise":
        return np.repeat(rng.standard_normal((samples, 1)), channels, axis=1)
    if kind == "noise":
        return rng.standard_normal((samples, channels))
    if kind == "at rest":
        return 1e-3 * rng.standard_normal((samples, channels))
    tones = rng.uniform(0.5, 15.0, 40) if kind == "broadband" else np.array([2.0])
    each = [
        np.sin(2.0 * np.pi * tones * (time[:, None] - 0.01 * c) + tones).sum(1) * (1.0 + c) for c in range(channels)
    ]
    return np.stack(each, axis=1) + 1e-3 * rng.standard_normal((samples, channels))


def blocks_of(samples, rows, *, by_channels=False):
    its = stream(samples.shape[1])
    for start in range(0, len(samples), rows):
        block = samples[start : start + rows]
        sent = block.T.reshape(block.shape) if by_channels else block
        yield SignalBlock(its, start, start / RATE, np.ascontiguousarray(sent))


@pytest.mark.parametrize("rows", [10, 50, 99])
@pytest.mark.parametrize("channels", [2, 8, 128])
@pytest.mark.parametrize("kind", ["tone", "broadband"])
def test_payloads_of_channel_after_channel_are_told_once(kind, channels, rows):
    samples = motion(kind, channels, 40 * rows)
    (text,) = told(blocks_of(samples, rows, by_channels=True))
    assert "channel after channel, not row after row: transpose them" in text


@pytest.mark.parametrize("rows", [1, 8, 10, 32, 64])
@pytest.mark.parametrize("channels", [2, 8, 128])
@pytest.mark.parametrize("kind", ["tone", "broadband", "noise", "equal noise", "at rest"])
def test_payloads_of_row_after_row_are_not_doubted(kind, channels, rows):
    assert told(blocks_of(motion(kind, channels, 40 * rows), rows)) == []


def test_what_is_missing_or_huge_is_neither_order():
    samples = motion("tone", 4, 400)
    samples[::7] = np.nan
    samples[5] = 1e300
    assert told(blocks_of(samples, 20)) == []


@pytest.mark.parametrize("epochs", [(1, 1), (1, 2)], ids=["same epoch", "own epochs"])
def test_two_connections_that_take_turns_are_two_senders(epochs):
    blocks = [SignalBlock(stream(2, epochs[n % 2]), n // 2, n // 2 / RATE, np.ones((1, 2))) for n in range(200)]
    (text,) = told(blocks, lambda number: number % 2)
    assert "a second sender, by its connection, sends as the same rig" in text
    assert "give each sender a `rig` of its own" in text


@pytest.mark.parametrize(("turns", "apart"), [(50, 0.001), (2, 2.0)], ids=["once", "seldom"])
def test_a_sender_that_connects_again_is_the_same_one(turns, apart):
    blocks = [SignalBlock(stream(2), n, n / RATE, np.ones((1, 2))) for n in range(100)]
    assert told(blocks, lambda number: number // turns % 2, apart) == []
