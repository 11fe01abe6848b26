"""What messages that were rejected or dropped say of their samples, so that each is counted once."""

from __future__ import annotations

from typing import NamedTuple

from monitor.messages.blocks import SignalBlock
from monitor.wire.native import Decoder, Frames, WireError
from monitor.wire.plain import decode_frames

MAX_RIGS = 64
_CLOCK_TOLERANCE = 0.1  # s between time and number of a message, beyond which neither is believed


class UnusedSamples(NamedTuple):
    """Samples that a gap in the numbers shows, and those that none will show."""

    shown: int = 0
    unshown: int = 0


class UnusedMessages:
    """Count the samples of unused messages, and find where native streams end.

    A native sender numbers its samples: what an unused message had is a gap before the next used one, and is counted
    as lost there. Where no other follows, an empty block with the next number, like a heartbeat, shows the gap. A
    message is believed if its header is that of the stream, and its time agrees with its number.
    Plain samples without number and time are shown by nothing, nor are those before a stream's first used message.

    Parameters
    ----------
    rig : the only one that counts; empty for all.
    """

    def __init__(self, rig: str = "") -> None:
        self._rig = rig
        self._decoder = Decoder()
        self._newest: dict[str, SignalBlock] = {}  # used block of each rig
        self._ends: dict[str, SignalBlock] = {}  # those that are beyond it

    def __len__(self) -> int:
        return len(self._ends)

    def use(self, block: SignalBlock) -> SignalBlock | None:
        """Note a block that is used; return the end of the stream before it, where it begins another one."""
        rig = block.stream.rig
        if rig in self._newest or len(self._newest) < MAX_RIGS:
            self._newest[rig] = block
        end = self._ends.pop(rig, None) if self._ends else None
        return end if end is not None and end.stream != block.stream else None

    def add(self, frames: Frames, rows: int | None = None) -> UnusedSamples:
        """Count the samples of a message that is not used, as far as it can be read.

        Parameters
        ----------
        frames : of the message; the payload may be absent.
        rows : of this message and those before it for which it stands; by default its own.
        """
        try:
            block = self._decoder.outline(frames)
        except WireError:
            return _plain_samples(frames)
        rig, rows = block.stream.rig, len(block) if rows is None else rows
        if self._rig not in ("", rig):
            return UnusedSamples()
        newest = self._newest.get(rig)
        if newest is None or newest.stream != block.stream:
            return UnusedSamples(0, rows)
        # the later one is right: numbers only increase
        if _is_believed(block, newest) or _is_believed(block, self._ends.get(rig, newest)):
            self._ends[rig] = block.tail(len(block))
        return UnusedSamples(rows)

    def take_ends(self) -> list[SignalBlock]:
        """Return an empty block for each stream that ends with unused messages, once."""
        ends, self._ends = list(self._ends.values()), {}
        return ends


def _plain_samples(frames: Frames) -> UnusedSamples:
    try:
        messages = decode_frames(frames)
    except WireError:
        return UnusedSamples()
    shown = sum(len(each) for each in messages if each.index is not None or each.times)
    return UnusedSamples(shown, sum(map(len, messages)) - shown)


def _is_believed(block: SignalBlock, before: SignalBlock) -> bool:
    """Whether an unused block is what follows `before` in its stream."""
    ahead, dt = block.index - before.index - len(before), before.stream.dt
    off = block.time - before.time - (block.index - before.index) * dt
    return ahead == 0 or (ahead > 0 and abs(off) <= max(_CLOCK_TOLERANCE, 2.5 * dt, 0.05 * ahead * dt))
