"""Streams that are refused, and when one of them is believed instead of the stream that is followed.

One message with a large epoch, or with a number far ahead, makes all that the rig sends afterwards look late or
doubled; so does a rig that comes back with the epoch and the numbers that it had before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monitor.messages.blocks import SignalBlock, Stream

_SECONDS, _SECONDS_OF_SAME = 1.0, 5.0
_BLOCKS = 5
_TIMES = 4  # as many samples as came of the stream that is followed
_MOST = 4
_MOST_BYTES = 64 << 20


@dataclass(slots=True)
class _Rival:
    """What came of one stream without a gap, and how many samples of the followed one came meanwhile."""

    blocks: list[SignalBlock] = field(default_factory=list)
    samples: int = 0
    n_bytes: int = 0
    against: int = 0

    def append(self, block: SignalBlock) -> None:
        self.blocks.append(block)
        self.samples += len(block)
        self.n_bytes += block.samples.nbytes

    @property
    def is_long(self) -> bool:
        """It has not won with this, and more is not kept."""
        seconds = self.samples / self.blocks[-1].stream.sample_rate
        could_win = len(self.blocks) >= _BLOCKS
        return (could_win and seconds > 2 * _SECONDS_OF_SAME) or self.n_bytes > _MOST_BYTES

    def continued_by(self, block: SignalBlock) -> bool:
        return self.blocks[-1].index + len(self.blocks[-1]) == block.index


class RivalStreams:
    """Up to four streams, each with the blocks of it that were refused."""

    def __init__(self) -> None:
        self._rivals: dict[Stream, _Rival] = {}

    def wins(self, block: SignalBlock, *, same: bool) -> bool:
        """Tell whether a stream that is refused is to be believed once `block` of it has come.

        It is where at least a second of it came in five blocks without a gap, and four times as many samples as of
        the stream that is followed. Nothing is changed by asking.

        Parameters
        ----------
        same : it may be what came before once more, epoch, numbers and times: then five seconds must come.
        """
        rival = self._rivals.get(block.stream)
        if rival is None or not len(block) or not rival.continued_by(block):
            return False
        samples = rival.samples + len(block)
        enough = (_SECONDS_OF_SAME if same else _SECONDS) * block.stream.sample_rate
        return samples >= max(enough, _TIMES * rival.against + 1) and len(rival.blocks) + 1 >= _BLOCKS

    def add(self, block: SignalBlock) -> None:
        """Keep a block that is refused."""
        if not len(block):
            return
        rival = self._rivals.get(block.stream)
        if rival is not None and rival.continued_by(block) and not rival.is_long:
            rival.append(block)
            return
        if rival is None and len(self._rivals) == _MOST:
            del self._rivals[min(self._rivals, key=lambda stream: self._rivals[stream].samples)]
        self._rivals[block.stream] = begun = _Rival()
        begun.append(block)

    def oppose(self, samples: int) -> None:
        """Count samples of the stream that is followed."""
        for stream, rival in list(self._rivals.items()):
            rival.against += samples
            # what is as far behind as that is not kept
            if rival.against > rival.samples:
                del self._rivals[stream]

    def take(self, block: SignalBlock) -> SignalBlock:
        """Return all that came of the stream up to and with `block` as one; forget all others."""
        blocks = [*self._rivals[block.stream].blocks, block]
        self._rivals.clear()
        samples = np.concatenate([each.samples for each in blocks])
        return SignalBlock(block.stream, blocks[0].index, blocks[0].time, samples, block.last)

    def clear(self) -> None:
        """Forget all."""
        self._rivals.clear()
