"""Recording in a process of its own: HDF5 may keep every thread waiting for the disk, but not another process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock
from monitor.recording import layout
from monitor.recording.backlog import Backlog, UnacknowledgedMessages
from monitor.recording.notes import Notes
from monitor.recording.recorder_program import Kind, Order, Progress
from monitor.recording.writer import check_outcome, stored_settings
from monitor.system.worker_process import WorkerProcess, pack_message
from monitor.wire.native import Encoder

_PROGRAM = "monitor.recording.recorder_program"
_PAUSE = 1.0  # s between starts
_FRUITLESS = 3  # starts after which what may have ended the process is not handed to it again
_TURN = 0.02  # s
_LAST_WORDS = 1.5  # s for closing the file once the disk has used up the patience of `close`


class RecorderProcess:
    """A sink that records, as `RunWriter` does; none of its calls waits but `end` and `close`.

    What is not yet on the disk is kept here. Where the process dies it is started anew and told that again, for
    another file, and `notes` say so.

    Parameters
    ----------
    path, settings, flush_interval, queue_seconds, queue_bytes : as `RunWriter` has them.
    encoder : shared with others who send the same blocks.

    Raises
    ------
    RunFileError : the folder is not there or not writable, or `settings` cannot be said in JSON.
    OSError : no process could be started.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        flush_interval: float = 0.5,
        queue_seconds: float = 30.0,
        queue_bytes: int = 1 << 28,
        encoder: Encoder | None = None,
    ) -> None:
        self._order = msgspec.json.encode(Order(str(path), stored_settings(path, settings), flush_interval))
        self._wanted = Path(path)
        self._queue_seconds, self._queue_bytes = queue_seconds, queue_bytes
        self._encoder = encoder or Encoder()
        self.notes = Notes()
        self._backlog = Backlog()
        self._held = UnacknowledgedMessages()
        self._headers: dict[Kind, bytes] = {}
        self._offered = self._dropped = self._owed = 0  # samples
        self._full = self._lossy = self._stopped = self._closed = False
        self._fruitless = 0
        self._refusal = ""
        # of the processes that have died, and of the one at work
        self._before, self._progress, self._messages = Progress(), Progress(), 0
        self._started = monotonic()
        self._process = WorkerProcess(_PROGRAM, self._order)

    @property
    def path(self) -> Path:
        """The file being written; before the first samples, the one wanted."""
        return Path(self._progress.path or self._before.path or self._wanted)

    @property
    def recorded(self) -> int:
        """Samples acknowledged: written and flushed, safe from a kill of any process."""
        return self._before.recorded + self._progress.recorded

    @property
    def unrecorded(self) -> int:
        """Samples that are not, and will not be, in a file."""
        if self._closed:
            return self._offered - self.recorded
        return self._before.unrecorded + self._progress.unrecorded - self._progress.left_out + self._dropped

    @property
    def unwritten_age(self) -> float:
        """Since when the oldest sample waits that is neither recorded nor given up, s; 0 when none does."""
        return self._backlog.age

    @property
    def waiting(self) -> int:
        """Samples that are neither recorded nor given up."""
        return 0 if self._closed else self._backlog.samples

    @property
    def breaks(self) -> int:
        """How often the recording broke: the disk refused, the file was moved or removed, or the process died."""
        return self._before.breaks + self._progress.breaks

    @property
    def failed(self) -> str:
        """Why it cannot be recorded now, or could not at the end; empty while it can."""
        return self._refusal or self._progress.failed

    @property
    def hangs(self) -> bool:
        """After `close`: the disk has not answered, and what was not recorded is lost."""
        return self._closed and not self._progress.done

    @property
    def outcome(self) -> str:
        """The word for all that was recorded, from now on."""
        if self.failed or self.hangs:
            return layout.TRUNCATED
        if self.unrecorded or self._lossy or self._progress.outcome == layout.LOSSY:
            return layout.LOSSY
        return layout.TRUNCATED if self.breaks else layout.CLEAN

    def signals(self, block: SignalBlock) -> None:
        """Take samples; blocks come from one thread, in the order of the stream."""
        self._tend()
        self._full = self._held.n_bytes >= self._queue_bytes or self._backlog.age >= self._queue_seconds
        self._offered += len(block)
        if self._full or self._stopped:
            self._drop(len(block))
            return
        self._tell_left_out()
        self._tell_block(Kind.SIGNALS, block, len(block))

    def leave_out(self, samples: int) -> None:
        """Count samples that came but were not given to `signals`."""
        self._offered += samples
        self._drop(samples)

    def results(self, block: ResultBlock) -> None:
        """Take indicator values; the first ones tell what the columns are."""
        if self._full or self._stopped:
            self._lossy = True
            return
        self._tell_block(Kind.RESULTS, block, 0)

    def transfer(self, block: TransferBlock) -> None:
        """Do nothing: it can be made again from the signals."""

    def event(self, event: Event) -> None:
        """Take an event."""
        if self._stopped or self._held.n_bytes >= self._queue_bytes:
            self._drop(0)
            return
        self._tell(Kind.EVENT, msgspec.json.encode(event))

    def alarms(self, report: AlarmReport) -> None:
        """Do nothing: every transition is an event."""

    def health(self, health: Health) -> None:  # noqa: ARG002  when, not what
        """Look after the process, also while the rig is silent."""
        self._tend()

    def close(self, outcome: str | None = None, patience: float | None = None) -> None:
        """Write what waits, set the outcome and close; a second call does nothing.

        `outcome` is the word for the run; left out, it is ``clean``, or ``lossy`` when anything was dropped. After
        `patience` s, where it is given, what still waits is dropped, and a disk that hangs is waited for no longer.
        """
        if self.end(outcome, inf if patience is None else patience):
            return
        unsent = (pack_message((Kind.LEFT_OUT, b"%d" % self._held.unsent)),) if self._held.first else ()
        self._process.offer(b"".join((*unsent, pack_message((Kind.CUT, (outcome or "").encode())))))
        deadline = monotonic() + _LAST_WORDS
        while not self._progress.done and not self._process.ended and monotonic() < deadline:
            self._process.flush()
            self._process.listen(_TURN)
            self._hear()
        self._finish()

    def end(self, outcome: str | None = None, timeout: float = 0.0) -> bool:
        """Begin what `close` does, give up nothing, and tell whether it is done within `timeout` s."""
        check_outcome(outcome)
        if not self._stopped:
            self._stopped = True
            self._tell_left_out()
            self._tell(Kind.END, (outcome or "").encode())
        deadline = monotonic() + timeout
        while not self._closed:
            self._tend()
            if self._progress.done:
                self._finish()
            elif (left := deadline - monotonic()) <= 0.0:
                break
            else:
                self._process.listen(min(_TURN, left))
        return self._closed

    def _finish(self) -> None:
        self._closed = True
        self._process.close_input()
        if self._progress.done:
            self._process.wait(1.0)
        self._process.close()

    def _drop(self, samples: int) -> None:
        self._lossy = True
        self._dropped += samples
        self._owed += samples

    def _tell_left_out(self) -> None:
        if self._owed:
            self._tell(Kind.LEFT_OUT, b"%d" % self._owed)
            self._owed = 0

    def _tell_block(self, kind: Kind, block: SignalBlock | ResultBlock, samples: int) -> None:
        _, header, position, payload = self._encoder.encode(block)
        if self._headers.get(kind) is not header:
            self._headers[kind] = header
            self._held.add(pack_message((Kind.STREAM, kind, header)), stream=kind)
        self._backlog.put(samples, 0)
        self._held.add(pack_message((kind, position, payload)), samples)
        self._hand_on()

    def _tell(self, kind: Kind, said: bytes) -> None:
        self._held.add(pack_message((kind, said)))
        self._hand_on()

    def _hand_on(self) -> None:
        while (message := self._held.first) is not None and self._process.offer(message):
            self._held.sent()
            self._messages += 1
        self._process.flush()

    def _tend(self) -> None:
        """Hear how it goes on, start the process anew if it has died, and hand on what waits; never wait."""
        if self._closed:
            return
        over = self._process.ended
        self._hear()
        if over and not self._progress.done and monotonic() - self._started >= _PAUSE:
            self._start_again()
        self._hand_on()

    def _hear(self) -> None:
        for line in self._process.lines():
            before, self._progress = self._progress, msgspec.json.decode(line, type=Progress)
            for note in self._progress.notes:
                self.notes.add(note)
            waited_for = before.taken - before.waiting
            self._backlog.settle(self._progress.taken - self._progress.waiting - waited_for, 0)
        progress = self._progress
        settled = self._before.taken + progress.taken - progress.waiting
        self._held.release(settled, idle=progress.idle and progress.messages == self._messages)

    def _start_again(self) -> None:
        before, last = self._before, self._progress
        settled = last.taken - last.waiting
        if settled:
            self._fruitless = 0
        elif last.path:
            # it had begun
            self._fruitless += 1
        if self._fruitless >= _FRUITLESS:
            dropped = self._held.drop()
            self._backlog.settle(dropped, 0)
            self._drop(dropped)
            settled += dropped
        self._before = Progress(
            path=last.path or before.path,
            taken=before.taken + settled,
            recorded=before.recorded + last.recorded,
            unrecorded=before.unrecorded + last.unrecorded - last.left_out,
            breaks=before.breaks + last.breaks + (not self._refusal),
        )
        self._progress, self._messages = Progress(), 0
        self._held.rewind()
        if not self._refusal:
            self.notes.add(
                f"the process that records died ({self._process.end}): the recording goes on in a new file"
            )
        self._process.close()
        self._started = monotonic()
        try:
            self._process = WorkerProcess(_PROGRAM, self._order)
        except OSError as problem:
            self._refusal = f"the process that records cannot be started again: {problem}"
        else:
            self._refusal = ""
