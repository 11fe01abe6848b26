"""The load: how much of a processor a rig and these settings take, as it is measured here and now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from monitor.commands.checks.check_result import CheckResult, ok, warn
from monitor.config import IndicatorSettings
from monitor.messages.blocks import SignalBlock, Stream
from monitor.service.joined_blocks import joined
from monitor.wire.native import Decoder, Encoder

if TYPE_CHECKING:
    from monitor.engine.monitor import Monitor
    from monitor.reliability.plan import ReliabilityPlan

_MEASURED = 1.0  # s of processor time, about
_LEAST, _AT_ONCE = 200, 50  # messages
_HIGH, _TOO_MUCH = 0.5, 0.9


def load(
    settings: IndicatorSettings, plan: ReliabilityPlan | None, stream: Stream, rows: int, most_rows: float
) -> Iterator[CheckResult]:
    """Follow a motion for about a second of processor time, in messages of `rows` samples."""
    alone, together = seconds_a_sample(settings, plan, stream, rows, most_rows)
    share, least = alone * stream.sample_rate, together * stream.sample_rate
    told = (
        f"about {_percent(share)} of one of {os.cpu_count()} processors with messages of {rows} "
        f"sample{'s' if rows > 1 else ''}: {1e6 * alone * rows:.0f} us each"
    )
    if least > _TOO_MUCH:
        yield warn(
            "load",
            f"{told}; it cannot be followed, even {_percent(least)} where messages wait and are taken together: "
            "compute fewer measures, or use a faster machine",
        )
    elif share > _HIGH:
        yield warn(
            "load",
            f"{told}, {_percent(least)} where messages wait and are taken together: results may come late; "
            "send more samples a message, or compute fewer measures",
        )
    else:
        yield ok("load", told)


def seconds_a_sample(
    settings: IndicatorSettings, plan: ReliabilityPlan | None, stream: Stream, rows: int, most_rows: float
) -> tuple[float, float]:
    """Return how long a sample takes, s: each message by itself, and where many wait."""
    from monitor.engine.monitor import Monitor

    monitor = Monitor(settings, plan, most_rows=most_rows)
    n_filled = round(max(settings.window, 0.1) * stream.sample_rate) + 1
    monitor.update(_motion(stream, 0, n_filled))
    first, spent = n_filled, []
    for together in (False, True):
        began, taken = perf_counter(), 0
        while taken < _LEAST * rows or perf_counter() - began < 0.5 * _MEASURED:
            taken += _follow(monitor, stream, first + taken, rows, together=together)
            if perf_counter() - began > 2.0 * _MEASURED:
                break
        spent.append((perf_counter() - began) / taken)
        first += taken
    return spent[0], min(spent)


def _follow(monitor: Monitor, stream: Stream, first: int, rows: int, *, together: bool) -> int:
    """Take some messages as the service does, and all that is due besides; return how many samples they had."""
    encoder, decoder, published = Encoder(), Decoder(), Encoder()
    messages = [_motion(stream, first + number * rows, rows) for number in range(_AT_ONCE)]
    came = [decoder.decode(encoder.encode(message)) for message in messages]
    blocks = ((block, 0.0) for block in came if isinstance(block, SignalBlock))
    for block, _ in joined(blocks) if together else blocks:
        assert isinstance(block, SignalBlock)
        update = monitor.update(block)
        if update.results is not None:
            published.encode(update.results)
        while monitor.work():
            pass
    return _AT_ONCE * rows


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %" if share < 1.0 else f"{100.0 * share:.0f} %"


def _motion(stream: Stream, first: int, rows: int) -> SignalBlock:
    """Return samples that no measure finds easier than a test's: several tones on every channel."""
    t = (first + np.arange(float(rows)))[:, None] * stream.dt
    phase = 0.3 * np.arange(len(stream.channels))
    samples = sum(np.sin(2.0 * np.pi * f * t + f * phase) for f in (0.7, 1.9, 4.3, 7.1))
    return SignalBlock(stream, first, first * stream.dt, np.ascontiguousarray(samples))
