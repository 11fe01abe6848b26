"""One stream after the other into one run file after the other. One thread owns it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from monitor.messages.blocks import ResultBlock, ResultStream, SignalBlock, Stream
from monitor.recording import layout
from monitor.recording.backlog import Backlog, Item, size
from monitor.recording.columns import Clock, Columns, result_columns, signal_columns
from monitor.recording.growing import DISK_ERRORS, Fate, GrowingFile, reason
from monitor.recording.notes import Notes, elide_left

_SHORTEST, _LONGEST = 1.0, 8.0  # s
_LASTING = 30.0  # s of recording after which a refusal is the first again


class RetryDelay:
    """One second after the first refusal, twice as long after each that soon follows, up to eight.

    Parameters
    ----------
    clock : s, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._delay = 0.0
        self._begun = self._until = -float("inf")

    @property
    def over(self) -> bool:
        """It may be tried again."""
        return self._clock() >= self._until

    def begun(self) -> None:
        """Note that a file could be begun."""
        self._begun = self._clock()

    def refused(self) -> None:
        """Wait from now on."""
        now = self._clock()
        lasted = self._begun >= self._until and now - self._begun >= _LASTING
        self._delay = _SHORTEST if lasted else min(2.0 * self._delay, _LONGEST)
        self._until = now + self._delay


_WRITE_BYTES = 1 << 20
_WAITING_EVENTS = 10_000
_RESULTS_TIMEOUT = 0.5  # s of a stream without results until its file begins without them


class RunFiles:
    """Gathers blocks, begins a file when the stream is known, another one when its channels change.

    It never raises what h5py raises when the disk refuses: what was gathered is kept for a new file, and until that
    could be begun nothing is `ready`.

    Parameters
    ----------
    wanted : the name of the first file, and of another one as soon as it is free again.
    settings : JSON.
    backlog : told what has been recorded or given up.
    notes : told what happens to the files.
    """

    def __init__(self, wanted: Path, settings: bytes, backlog: Backlog, notes: Notes) -> None:
        self.path = wanted
        self.recorded = self.lost = self.breaks = 0
        self.lossy = False  # of the file that is open
        self._was_lossy = False
        self.refusal = ""
        self._wanted = wanted
        self._settings = settings
        self._backlog = backlog
        self._notes = notes
        self._delay = RetryDelay()
        self._last_refusal = ""  # the refusal that was told
        self._file: GrowingFile | None = None
        self._in_file = 0
        self._broken = False  # the stream goes on, its file does not
        self._stream: Stream | None = None
        self._result_stream: ResultStream | None = None
        self._clock = Clock()
        self._rows, self._since = 0, 0.0
        self._gathered: list[Item] = []
        self._bytes = self._events = 0

    @property
    def ever_lossy(self) -> bool:
        """A file lacks something that came: samples, results or events."""
        return self.lossy or self._was_lossy

    def ready(self, *, at_once: bool = False) -> bool:
        """Tell whether it takes more; after a refusal, see now and then, or at once, whether the disk takes it."""
        if self.refusal and (at_once or self._delay.over):
            self.commit()
        return not self.refusal

    def take(self, item: Item) -> bool:
        """Gather a block or an event; write when a megabyte has come together. False: not now, see `ready`."""
        if self.refusal:
            return False
        try:
            if isinstance(item, SignalBlock):
                self._make_room_for_signals(item)
                kept = len(item) > 0
            elif isinstance(item, ResultBlock):
                kept = self._make_room_for_results(item) and len(item) > 0
            else:
                kept = self._events < _WAITING_EVENTS
                self._events += kept
                self.lossy |= not kept
        except DISK_ERRORS as problem:
            self._refuse(problem)
            return False
        if kept:
            self._gathered.append(item)
            self._bytes += size(item)
        else:
            self._backlog.settle(0, size(item))
        if self._bytes >= _WRITE_BYTES:
            self.commit()
        return True

    def commit(self) -> None:
        """Write and flush what was gathered, in a file that is where it belongs."""
        try:
            self._leave_a_missing_file()
            if self._file is None and self._has_samples and (self._broken or self._waited_long_enough):
                self._begin()
            self._write()
            self.refusal = ""
        except DISK_ERRORS as problem:
            self._refuse(problem)

    def close(self, outcome: str | None = None) -> None:
        """Finish the file; without `outcome`, with the word that fits. What the disk does not take is given up."""
        try:
            self._end(outcome)
        except DISK_ERRORS as problem:
            self._refuse(problem)

    @property
    def _has_samples(self) -> bool:
        return any(isinstance(item, SignalBlock) for item in self._gathered)

    @property
    def _waited_long_enough(self) -> bool:
        return time.monotonic() - self._since >= _RESULTS_TIMEOUT

    def _make_room_for_signals(self, block: SignalBlock) -> None:
        stream = block.stream
        if self._stream is not None and stream is not self._stream and _differ(stream, self._stream):
            self._end()
        if self._stream is None:
            self._since = time.monotonic()
        # the results of this block may come next: only an earlier one's have failed to come
        if self._file is None and self._rows >= _RESULTS_TIMEOUT * stream.sample_rate:
            self._begin()
        self._stream = stream
        self._rows += len(block)

    def _make_room_for_results(self, block: ResultBlock) -> bool:
        stream, known = block.stream, self._result_stream
        if self._stream is None or (self._file is not None and known is None):
            # no stream yet, or its file was begun without results: there is no place for them
            self.lossy |= len(block) > 0
            return False
        if known is not None and (known.every, known.columns) != (stream.every, stream.columns):
            signals = self._stream
            self._end()
            self._stream = signals
        self._result_stream = stream
        if self._file is None:
            self._begin()
        return True

    def _begin(self) -> None:
        if self._stream is None:
            return
        if self._broken:
            # with the folder the file's name may have gone
            self._wanted.parent.mkdir(parents=True, exist_ok=True)
        self._file = GrowingFile(self._wanted, self._stream, self._result_stream, self._settings)
        self.path = self._file.path
        self._clock, self._in_file = Clock(), 0
        self._delay.begun()

    def _write(self) -> None:
        """Write and flush: many blocks in one go."""
        if self._file is None or not self._gathered:
            return
        signals = [item for item in self._gathered if isinstance(item, SignalBlock)]
        results = [item for item in self._gathered if isinstance(item, ResultBlock)]
        events = [item for item in self._gathered if not isinstance(item, SignalBlock | ResultBlock)]
        rows: dict[str, Columns] = {}
        if signals:
            rows[layout.SIGNALS] = signal_columns(signals, self._clock)
        if results:
            rows[layout.RESULTS] = result_columns(results)
        self._file.append(rows, events)
        written = sum(map(len, signals))
        self.recorded += written
        self._in_file += written
        self._backlog.settle(written, self._bytes)
        self._gathered, self._bytes, self._events = [], 0, 0
        if self._broken:
            self._broken, self._last_refusal = False, ""
            self._notes.add(f"the recording goes on in {elide_left(str(self.path))}")

    def _end(self, outcome: str | None = None) -> None:
        self._leave_a_missing_file()
        if self._file is None and self._has_samples:
            self._begin()
        self._write()
        if self._file is not None:
            self._file.finish(outcome or (layout.LOSSY if self.lossy else layout.CLEAN))
        self._file = self._stream = self._result_stream = None
        self._was_lossy |= self.lossy
        self.lossy = False
        self._rows = 0

    def _leave_a_missing_file(self) -> None:
        """Where the file is no longer under its name, go on in another one; what was removed with it is lost."""
        if self._file is None or (fate := self._file.fate()) is Fate.STAYS:
            return
        name = elide_left(self.path.name)
        if fate is Fate.REMOVED:
            self._notes.add(f"the run file {name} was removed: {self._in_file} samples that were in it are lost")
            self.lossy = True
            self.lost += self._in_file
            self.recorded -= self._in_file
        else:
            self._notes.add(f"the run file {name} was moved or renamed: it ends with {self._in_file} samples")
        self._break_off()

    def _refuse(self, problem: BaseException) -> None:
        """Leave the file, and keep what was gathered until another one can be begun."""
        self.refusal = reason(problem)
        self._delay.refused()
        if self.refusal != self._last_refusal:
            self._last_refusal = self.refusal
            self._notes.add(f"the disk does not take {elide_left(str(self.path))}: {self.refusal}; it is tried again")
            self._break_off()
        elif self._file is not None:
            self._leave()

    def _break_off(self) -> None:
        self.breaks += 1
        self._broken = True
        self._leave()

    def _leave(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        file.give_up(layout.TRUNCATED)
        if not self._in_file:
            file.remove()


def _differ(one: Stream, other: Stream) -> bool:
    return (one.rig, one.sample_rate, one.channels) != (other.rig, other.sample_rate, other.channels)
