"""Blocks that wait one behind the other, made one: many small messages then cost little more than one large one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from monitor.messages.blocks import Event, SignalBlock

_MOST_ROWS, _LONGEST = 64, 0.05  # samples, s of the stream: health and requests are not to wait for more
_ROUNDING = 8.0  # units in the last place: times that differ by less are the same


def joined(items: Iterable[tuple[SignalBlock | Event, float]]) -> Iterator[tuple[SignalBlock | Event, float]]:
    """Give what has come, with how long it waited; short blocks that go on in number and time are given as one.

    It has waited as long as the last of its parts. The results are the same, bit for bit.
    """
    parts: list[SignalBlock] = []
    rows, since = 0, 0.0
    for item, waited in items:
        if parts and not (isinstance(item, SignalBlock) and _goes_on(parts[0], rows, item)):
            yield _one(parts), since
            parts, rows = [], 0
        if isinstance(item, SignalBlock):
            parts.append(item)
            rows, since = rows + len(item), waited
        else:
            yield item, waited
    if parts:
        yield _one(parts), since


def _goes_on(first: SignalBlock, rows: int, block: SignalBlock) -> bool:
    if block.stream is not first.stream or block.index != first.index + rows or not rows or not len(block):
        return False
    if rows + len(block) > min(_MOST_ROWS, _LONGEST * first.stream.sample_rate):
        return False
    time = first.time + rows * first.stream.dt
    return abs(block.time - time) <= _ROUNDING * float(np.spacing(abs(first.time) + abs(time - first.time)))


def _one(parts: list[SignalBlock]) -> SignalBlock:
    first = parts[0]
    if len(parts) == 1:
        return first
    return SignalBlock(
        first.stream, first.index, first.time, np.concatenate([part.samples for part in parts]), parts[-1].last
    )
