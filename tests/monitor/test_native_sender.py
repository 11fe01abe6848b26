"""A native sender: the order of its samples, and another one of the same rig."""

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


@pytest.mark.parametrize("dead", [[1], [1, 4], [1, 3, 5]])
@pytest.mark.parametrize("kind", ["tone", "at rest"])
def test_a_dead_sensor_makes_no_other_order(kind, dead):
    samples = motion(kind, 6, 8 * 500)
    samples[:, dead] = np.nan
    assert told(blocks_of(samples, 8)) == []


@pytest.mark.parametrize("senders", [2, 3, 5])
@pytest.mark.parametrize("own", [False, True], ids=["same epoch", "own epochs"])
def test_connections_that_take_turns_are_several_senders(senders, own):
    at = [divmod(n, senders) for n in range(100 * senders)]
    blocks = [SignalBlock(stream(2, 1 + own * each), n, n / RATE, np.ones((1, 2))) for n, each in at]
    (text,) = told(blocks, lambda number: number % senders)
    assert "a second sender, by its connection, sends as the same rig" in text
    assert "give each sender a `rig` of its own" in text


@pytest.mark.parametrize(
    ("connection", "apart"),
    [
        (lambda number: number // 50, 0.001),
        (lambda number: number // 2 % 2, 2.0),
        (lambda number: int(number in (20, 40, 60)) if number < 80 else number, 0.06),
    ],
    ids=["once", "seldom", "now and then, and always anew"],
)
def test_a_sender_that_connects_again_is_the_same_one(connection, apart):
    blocks = [SignalBlock(stream(2), n, n / RATE, np.ones((1, 2))) for n in range(100)]
    assert told(blocks, connection, apart) == []
