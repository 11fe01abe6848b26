"""Playback of a recording as the stream that a rig would send, paced against absolute deadlines."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import replace
from math import ceil, inf

from monitor.messages.blocks import Event, SignalBlock
from replay.formats.base import Recording, RecordingError
from replay.formats.recordings import ComputedRecording

_CLOCK_ROUNDING = 1e-9  # s; no sleep for less


class Pacer:
    """Converts clock time to a position in a recording.

    A position is due at ``start + position / speed``, however late earlier ones were: a player that falls
    behind finds several positions due at once, and is on time again after them.

    Parameters
    ----------
    speed : seconds of the recording per second; infinite for as fast as possible.
    clock : returns seconds; monotonic.
    sleep : waits for seconds.

    Raises
    ------
    ValueError : the speed is not a positive number.
    """

    def __init__(
        self,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._speed = _checked(speed)
        self._clock = clock
        self._sleep = sleep
        self._position = 0.0  # while paused; else the position at ...
        self._since: float | None = None  # ... this instant of the clock; None while paused

    @property
    def speed(self) -> float:
        """Seconds of the recording per second; a new value applies from the current position."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        speed = _checked(speed)
        self.seek(self.position)
        self._speed = speed

    @property
    def paused(self) -> bool:
        """The position does not change, as before the first `resume`."""
        return self._since is None

    @property
    def position(self) -> float:
        """Seconds of the recording that have passed; at infinite speed, the last position set."""
        if self._since is None or self._speed == float("inf"):
            return self._position
        return self._position + (self._clock() - self._since) * self._speed

    def pause(self) -> None:
        """Hold the position."""
        self._position, self._since = self.position, None

    def resume(self) -> None:
        """Continue from the current position."""
        if self._since is None:
            self._since = self._clock()

    def seek(self, position: float) -> None:
        """Set the position; running or paused as before."""
        self._position = position
        if self._since is not None:
            self._since = self._clock()

    def due(self, position: float) -> bool:
        """Whether `position` has been reached."""
        return self._due_in(position) <= _CLOCK_ROUNDING

    def wait(self, position: float, timeout: float) -> bool:
        """Sleep until `position` is due, at most `timeout` seconds; return whether it is."""
        deadline = self._clock() + timeout
        while not self.due(position):
            left = deadline - self._clock()
            if left <= _CLOCK_ROUNDING:
                return False
            # the clock advances between two calls: the position may be overdue by now
            self._sleep(max(0.0, min(left, self._due_in(position))))
        return True

    def _due_in(self, position: float) -> float:
        """Return seconds of the clock until `position`; infinite while paused."""
        if self._since is None:
            return float("inf")
        return self._since + (position - self._position) / self._speed - self._clock()


def _checked(speed: float) -> float:
    if not speed > 0.0:
        raise ValueError(f"speed {speed:g}: must be a positive number, or max")
    return speed


LONGEST_BLOCK = 4096  # samples that a message should carry
_COMPUTED = 512  # samples of a simulation that are computed at a time, while those before are due
_ROUNDING = 1e-6  # of a sample


class PlaybackCursor:
    """One way through a recording, read next_position so that the last sample is known.

    Places within it are in s from its first sample. A restart within the recording is passed on as one.

    Parameters
    ----------
    recording : what to go through.
    length : samples that a block will have as a rule.
    start : s after the recording's first sample.
    epoch : number of the publisher's start.

    Raises
    ------
    ValueError : the start is before the first sample.
    RecordingError : nothing is there from `start` on.
    """

    def __init__(self, recording: Recording, length: int, start: float, epoch: int) -> None:
        self.epoch = epoch
        self.origin = recording.locate(start)  # s, of the first sample in the recording
        longest = _COMPUTED if isinstance(recording, ComputedRecording) else LONGEST_BLOCK
        self._chunks = recording.blocks(length * max(1, longest // length), start)
        chunk = self._next()
        if chunk is None:
            raise RecordingError(f"nothing to play from {start:g} s on: the recording ends before")
        self._chunk: SignalBlock | None = chunk
        self._row = 0  # of the chunk's, the next to be sent
        self._stream = replace(recording.stream, epoch=epoch)
        self._rate = recording.stream.sample_rate
        self._zero = chunk.index  # the recording's number that is sent as 0
        self._behind = 0  # samples before that one, in this pass
        self._sent = 0  # the number, in this pass, after the newest that was sent
        self._shift: float | None = None  # from the recording's times to the times sent

    @property
    def done(self) -> bool:
        """All samples are taken."""
        return self._chunk is None

    @property
    def available(self) -> int:
        """Samples that one block can take."""
        return 0 if self._chunk is None else len(self._chunk) - self._row

    @property
    def position(self) -> float:
        """The place after the newest sample that is taken."""
        return self._sent / self._rate

    @property
    def next_position(self) -> float:
        """The place of the next sample."""
        return self._number / self._rate

    def position_of(self, count: int) -> float:
        """Return the place of the last of the next `count` samples."""
        return (self._number + count - 1) / self._rate

    def count_before(self, place: float) -> int:
        """Return how many of the samples that one block can take are before `place`."""
        return ceil(min(max(place * self._rate - _ROUNDING - self._number, 0.0), self.available))

    def read(self, count: int, date: Callable[[], float] | None, *, mark_last: bool) -> SignalBlock:
        """Return the next `count` samples under this pass's epoch and numbers; with 0, the end of the stream here."""
        chunk, row, stream = self._chunk, self._row, self._stream
        assert chunk is not None
        index, time = chunk.index - self._zero + row, chunk.time + row / self._rate
        if self._shift is None:
            self._shift = 0.0 if date is None else date() - time
        if count:
            self._sent = self._number + count
            self._advance(chunk, row + count)
        last = mark_last and (self.done or not count)
        return SignalBlock(stream, index, time + self._shift, chunk.samples[row : row + count], last)

    def close(self) -> None:
        """Close the file behind the blocks."""
        if isinstance(self._chunks, Generator):
            self._chunks.close()

    @property
    def _number(self) -> int:
        """Of the next sample, in this pass; of the one that would follow the last."""
        return self._sent if self._chunk is None else self._behind + self._chunk.index - self._zero + self._row

    def _next(self) -> SignalBlock | None:
        return next((chunk for chunk in self._chunks if len(chunk)), None)

    def _advance(self, chunk: SignalBlock, row: int) -> None:
        self._row = row
        if row < len(chunk):
            return
        self._chunk, self._row = self._next(), 0
        if self._chunk is not None and self._chunk.stream.epoch != chunk.stream.epoch:
            self._behind, self._zero = self._sent, self._chunk.index
            self.epoch += 1
            self._stream = replace(self._stream, epoch=self.epoch)


_BLOCK_TIME = 0.01  # s of the clock, the length of a rig's block
_MOST_AT_ONCE = 256  # blocks that one call returns after a long delay
_MOST_SAMPLES = 1 << 15  # the same in samples, for long blocks


def default_block_length(sample_rate: float, speed: float) -> int:
    """Return the samples that come in 10 ms, at least 1 and no more than a message should carry."""
    return int(max(1.0, min(sample_rate * _BLOCK_TIME * speed, LONGEST_BLOCK)))


class RecordingPlayer:
    """A `monitor.transport.base.Source` that reads from a recording.

    A block is returned when its last sample would have been acquired. Every pass of a loop and every `seek` restarts
    the stream: a larger epoch, and sample numbers from 0. Not thread-safe.

    While the player is paused, the samples before its position are still returned, at once, and no others. So `step`,
    which advances that position, and the lead of a `seek` work both while playing and while paused.

    Parameters
    ----------
    recording : what to play.
    speed : seconds of the recording per second; infinite for as fast as possible.
    start : s after the first sample, of each pass of a loop.
    loop : restart at the end; may be set at any time.
    block_length : samples per block; by default 10 ms at the current speed.
    epoch : number of the first pass; by default the wall clock in nanoseconds.
    pacer : used instead of one with `speed`.
    live_time : times of each pass start at the wall clock of its first block, instead of the recording's own times.
    now : the wall clock, s since 1970.

    Raises
    ------
    ValueError : the speed is not positive, the block length is below 1, or there are no samples after `start`.
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
        now: Callable[[], float] = time.time,
    ) -> None:
        self._recording = recording
        self._pacer = Pacer(speed) if pacer is None else pacer
        self._start = start
        self.loop = loop
        if block_length is not None and block_length < 1:
            raise ValueError(f"block length {block_length}: must be at least 1 sample")
        self._block_length = block_length
        self._date = now if live_time else None
        self.paused = False
        self.ended = False  # the last block was returned, or the player is closed
        self._base = 0.0  # position of the pacer at the first sample of this pass
        self._sought = 0.0  # position of the pacer up to which samples are due at once after a seek
        self._cursor = PlaybackCursor(recording, self._length, start, int(now() * 1e9) if epoch is None else epoch)

    def receive(self, timeout: float) -> list[SignalBlock | Event]:
        """Return the blocks that are due; wait up to `timeout` seconds for the first."""
        if not self.paused:
            self._pacer.resume()  # the clock starts with the first call, not during setup
        due: list[SignalBlock | Event] = []
        most = 1 if self.speed == inf else _MOST_AT_ONCE
        samples = 0
        while not self.ended and len(due) < most and samples < _MOST_SAMPLES:
            count = self._due(0.0 if due else timeout)
            if not count:
                break
            samples += count
            due.append(self._cursor.read(count, self._date, mark_last=not self.loop))
            if self._cursor.done:
                self._end_pass()
            if self.speed == inf and not self.paused:
                self._pacer.seek(max(self._base + self._cursor.position, self._sought))
        return due

    @property
    def epoch(self) -> int:
        """Of the next block."""
        return self._cursor.epoch

    @property
    def duration(self) -> float:
        """Seconds from the recording's first sample to the one that would follow its last."""
        return self._recording.duration

    @property
    def sample_rate(self) -> float:
        """Of the recording, Hz."""
        return self._recording.stream.sample_rate

    @property
    def position(self) -> float:
        """Seconds after the recording's first sample; all samples before were returned."""
        clock = self._pacer.position - self._base
        return self._cursor.origin + max(self._cursor.position, min(clock, self._cursor.next_position))

    @property
    def speed(self) -> float:
        """Seconds of the recording per second, infinite for as fast as possible; may be set at any time."""
        return self._pacer.speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._drop_backlog()
        self._pacer.speed = speed

    def pause(self) -> None:
        """Hold the current position until `resume`."""
        self.paused = True
        self._pacer.pause()
        self._drop_backlog()

    def resume(self) -> None:
        """Continue from the current position."""
        self.paused = False

    def step(self, seconds: float) -> None:
        """Make the samples of the next `seconds` due at once, at most the whole recording, and pause after them.

        Raises
        ------
        ValueError : `seconds` is not positive and finite, or the player has ended.
        """
        if not 0.0 < seconds < inf:
            raise ValueError(f"a step of {seconds:g} s: must be a positive number")
        if self.ended:
            raise ValueError("the recording has ended: seek a position in it first")
        self.pause()
        self._sought = self._pacer.position + min(seconds, self.duration)
        self._pacer.seek(self._sought)

    def seek(self, seconds: float, lead: float = 0.0) -> None:
        """Continue, also after the end, from `seconds` after the recording's first sample.

        Parameters
        ----------
        seconds : the position.
        lead : s before the position of which the samples are due at once, so that windows are full there.

        Raises
        ------
        ValueError : there are no samples after it; the player keeps its position.
        """
        if not 0.0 <= lead < inf:
            raise ValueError(f"a lead of {lead:g} s: must not be negative")
        if seconds > self.duration:
            raise RecordingError(f"nothing to play from {seconds:g} s on: the recording ends before")
        begin = max(seconds - lead, 0.0) if seconds >= 0.0 else seconds
        sought = PlaybackCursor(self._recording, self._length, begin, self._cursor.epoch + 1)
        self._cursor.close()
        self._cursor = sought
        self.ended = False
        self._sought = self._base + max(seconds - sought.origin, 0.0)
        self._pacer.seek(self._sought)

    def finish(self) -> list[SignalBlock | Event]:
        """End the stream, and return its last block, which has no samples; nothing if it has ended."""
        if self.ended:
            return []
        self.ended = True
        return [self._cursor.read(0, self._date, mark_last=True)]

    def close(self) -> None:
        """Close the recording."""
        self.ended = True
        self._cursor.close()

    @property
    def _length(self) -> int:
        if self._block_length is not None:
            return self._block_length
        return default_block_length(self._recording.stream.sample_rate, self.speed)

    def _due(self, timeout: float) -> int:
        """Return the number of samples that are due; wait up to `timeout` seconds for them."""
        most = min(self._length, self._cursor.available)
        if not self.paused:
            return most if self._pacer.wait(self._base + self._cursor.position_of(most), timeout) else 0
        count = min(most, self._cursor.count_before(self._pacer.position - self._base))
        if not count:
            self._pacer.wait(inf, timeout)
        return count

    def _drop_backlog(self) -> None:
        """Set the clock back to the next block if that is overdue, so that no burst follows."""
        if not self.ended:
            due = self._base + self._cursor.position_of(min(self._length, self._cursor.available))
            self._pacer.seek(min(self._pacer.position, max(due, self._sought)))

    def _end_pass(self) -> None:
        self._cursor.close()
        if self.loop:
            self._base += self._cursor.position
            self._cursor = PlaybackCursor(self._recording, self._length, self._start, self._cursor.epoch + 1)
        else:
            self.ended = True
