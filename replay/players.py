"""Plays a recording as the stream that a rig would send."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import replace

from monitor.blocks import Event, SignalBlock
from replay.formats.base import Recording, RecordingError
from replay.pacing import Pacer

_BLOCK_TIME = 0.01  # s of the clock: what a rig sends at once
_LONGEST_BLOCK = 4096
_MOST_AT_ONCE = 256  # blocks that one call returns after a long delay


def default_block_length(sample_rate: float, speed: float) -> int:
    """Return the samples that come in 10 ms, at least 1 and no more than a message should carry."""
    return int(max(1.0, min(sample_rate * _BLOCK_TIME * speed, _LONGEST_BLOCK)))


class RecordingPlayer:
    """A `monitor.transport.base.Source` that reads from a recording.

    A block comes when its last sample would have been taken. Every pass of a loop, and what follows a
    `seek`, is a restart of the publisher: a larger epoch, and sample numbers from 0. For use in one thread.

    Parameters
    ----------
    recording : what to play.
    speed : seconds of the recording in a second; infinite for as fast as possible.
    start : s after the first sample; each pass of a loop begins there.
    loop : begin again at the end, for ever.
    block_length : samples a block; by default what comes in 10 ms.
    epoch : number of the first pass; by default the wall clock in nanoseconds.
    pacer : takes the place of one made from `speed`.
    live_time : date each pass from the wall clock at its first block, instead of the recording's own times.
    time_offset : s to add to that.
    now : the wall clock, s since 1970.

    Raises
    ------
    ValueError : the speed is not positive, the block length below 1, or nothing is left from `start` on.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        speed: float = 1.0,
        start: float = 0.0,
        loop: bool = False,
        block_length: int | None = None,
        epoch: int | None = None,
        pacer: Pacer | None = None,
        live_time: bool = False,
        time_offset: float = 0.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._recording = recording
        self._pacer = Pacer(speed) if pacer is None else pacer
        self._start = start
        self._loop = loop
        rate = recording.stream.sample_rate
        self._length = default_block_length(rate, self._pacer.speed) if block_length is None else block_length
        self._date = (lambda: now() + time_offset) if live_time else None
        self._paused = False
        self._ended = False
        self._base = 0.0  # position of the pacer at the first sample of this pass
        self._pass = _Pass(recording, self._length, start, int(now() * 1e9) if epoch is None else epoch)

    def receive(self, timeout: float) -> list[SignalBlock | Event]:
        """Return the blocks that are due; wait up to `timeout` seconds for the first."""
        if not self._paused:
            self._pacer.resume()  # the clock starts with the first call, not while things are set up
        due: list[SignalBlock | Event] = []
        most = 1 if self._pacer.speed == float("inf") else _MOST_AT_ONCE
        while not self._ended and len(due) < most:
            if not self._pacer.wait(self._base + self._pass.due, 0.0 if due else timeout):
                break
            due.append(self._pass.take(self._date, mark_last=not self._loop))
            if self._pass.done:
                self._turn()
        return due

    @property
    def ended(self) -> bool:
        """The last block is out, or the player is closed."""
        return self._ended

    @property
    def paused(self) -> bool:
        """Nothing comes until `resume`."""
        return self._paused

    def pause(self) -> None:
        """Let nothing come until `resume`."""
        self._paused = True
        self._pacer.pause()

    def resume(self) -> None:
        """Go on from where `pause` stopped."""
        self._paused = False

    def seek(self, seconds: float) -> None:
        """Go on, also after the end, from `seconds` after the recording's first sample.

        Raises
        ------
        ValueError : nothing is there; the player stays where it was.
        """
        sought = _Pass(self._recording, self._length, seconds, self._pass.epoch + 1)
        self._pass.close()
        self._pass = sought
        self._ended = False
        self._pacer.seek(self._base)

    def close(self) -> None:
        """Let go of the recording."""
        self._ended = True
        self._pass.close()

    def _turn(self) -> None:
        self._pass.close()
        if self._loop:
            self._base += self._pass.duration
            self._pass = _Pass(self._recording, self._length, self._start, self._pass.epoch + 1)
        else:
            self._ended = True


class _Pass:
    """One way through a recording, a block ahead so that the last one is known.

    A restart within the recording is passed on as one.
    """

    def __init__(self, recording: Recording, length: int, start: float, epoch: int) -> None:
        self.epoch = epoch
        self._blocks = recording.blocks(length, start)
        ahead = next(self._blocks, None)
        if ahead is None:
            raise RecordingError(f"nothing to play from {start:g} s on: the recording ends before")
        self._ahead: SignalBlock | None = ahead
        self._stream = replace(recording.stream, epoch=epoch)
        self._epoch_there = ahead.stream.epoch
        self._zero = ahead.index  # the recording's number that is sent as 0
        self._behind = 0  # samples before that one, in this pass
        self._shift: float | None = None  # from the recording's times to the times sent

    @property
    def done(self) -> bool:
        """All blocks are taken."""
        return self._ahead is None

    @property
    def due(self) -> float:
        """Seconds from the first sample to the last of the next block."""
        assert self._ahead is not None
        last = self._ahead.index - self._zero + max(len(self._ahead) - 1, 0)
        return (self._behind + last) / self._stream.sample_rate

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the one that would follow the last."""
        return self._behind / self._stream.sample_rate

    def take(self, date: Callable[[], float] | None, *, mark_last: bool) -> SignalBlock:
        """Return the next block under this pass's epoch and numbers."""
        block = self._ahead
        assert block is not None
        if self._shift is None:
            self._shift = 0.0 if date is None else date() - block.time
        stream, index = self._stream, block.index - self._zero
        self._ahead = next(self._blocks, None)
        if self._ahead is None or self._ahead.stream.epoch != self._epoch_there:
            self._turn(index + len(block))
        last = mark_last and self._ahead is None
        return SignalBlock(stream, index, block.time + self._shift, block.samples, last)

    def _turn(self, taken: int) -> None:
        self._behind += taken
        if self._ahead is not None:
            self._epoch_there = self._ahead.stream.epoch
            self._zero = self._ahead.index
            self.epoch += 1
            self._stream = replace(self._stream, epoch=self.epoch)

    def close(self) -> None:
        """Close the file behind the blocks."""
        if isinstance(self._blocks, Generator):
            self._blocks.close()
