"""Recorder in a process of its own, because HDF5 may block all threads of a process while the disk hangs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from monitor.messages import Sink
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.recording import layout
from monitor.recording.queues import Backlog, NoteQueue, QueueLimit, UnacknowledgedMessages
from monitor.recording.recorder_program import MessageKind, RecorderProgress, RecorderSettings
from monitor.recording.writer import check_outcome, stored_settings
from monitor.system.worker_process import WorkerProcess, pack_message
from monitor.wire.native import Encoder

_PROGRAM = "monitor.recording.recorder_program"
_RESTART_INTERVAL = 1.0  # s
_MAX_FAILED_STARTS = 3  # then messages that may have ended the process are not sent again
_POLL_INTERVAL = 0.02  # s
_SENDING_TIME, _HEALTH_SENDING_TIME = 1e-4, 0.01  # s for what waits after a pause of the disk, while results wait
_ABORT_TIMEOUT = 1.5  # s for closing the file after the timeout of `close`


class RecorderProcess(Sink):
    """A sink that records, as `RunWriter` does; only `finish` and `close` wait.

    Messages are kept until they are on the disk. If the process dies, it is restarted and receives them again, for
    another file, and `notes` reports it.

    Parameters
    ----------
    path, settings, flush_interval, queue_bytes : as for `RunWriter`.
    encoder : shared with other sinks of the same blocks.

    Raises
    ------
    RunFileError : the folder is missing or not writable, or `settings` cannot be stored as JSON.
    OSError : the process could not be started.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        flush_interval: float = 0.5,
        queue_bytes: int = 1 << 28,
        encoder: Encoder | None = None,
    ) -> None:
        self._arguments = msgspec.json.encode(
            RecorderSettings(str(path), stored_settings(path, settings), flush_interval)
        )
        self._wanted = Path(path)
        self._limit = QueueLimit(queue_bytes)
        self._encoder = encoder or Encoder()
        self.notes = NoteQueue()
        self._backlog = Backlog()
        self._unacknowledged = UnacknowledgedMessages()
        self._headers: dict[MessageKind, bytes] = {}
        self._offered = self._dropped = self._unreported = 0  # samples
        self._lossy = self._stopping = self._closed = False
        self._failed_starts = 0
        self._start_error = ""
        # of processes that have died, and of the current one
        self._before, self._progress, self._messages = RecorderProgress(), RecorderProgress(), 0
        self._started = self._supervised = monotonic()
        self._process = WorkerProcess(_PROGRAM, self._arguments)

    @property
    def path(self) -> Path:
        """The current run file; before the first samples, the requested one."""
        return Path(self._progress.path or self._before.path or self._wanted)

    @property
    def recorded(self) -> int:
        """Samples written and flushed, which survive a kill of any process."""
        return self._before.recorded + self._progress.recorded

    @property
    def unrecorded(self) -> int:
        """Samples that are not and will not be in a file."""
        if self._closed:
            return self._offered - self.recorded
        return self._before.unrecorded + self._progress.unrecorded - self._progress.reported + self._dropped

    @property
    def unwritten_age(self) -> float:
        """Time since the oldest waiting sample arrived, s; 0 when none is waiting."""
        return self._backlog.age

    @property
    def queue_filled(self) -> float:
        """As of `RunWriter`."""
        return self._unacknowledged.n_bytes / self._limit.n_bytes

    @property
    def waiting(self) -> int:
        """Samples that are neither recorded nor dropped yet."""
        return 0 if self._closed else self._backlog.samples

    @property
    def breaks(self) -> int:
        """Number of interruptions: those of `RunWriter`, and deaths of the process."""
        return self._before.breaks + self._progress.breaks

    @property
    def failed(self) -> str:
        """Why recording currently fails, or failed at the end; empty without an error."""
        return self._start_error or self._progress.failed

    @property
    def disk_hangs(self) -> bool:
        """After `close`: the disk has not responded, and samples not yet recorded are lost."""
        return self._closed and not self._progress.done

    @property
    def outcome(self) -> str:
        """The outcome word of the whole recording so far."""
        if self.failed or self.disk_hangs:
            return layout.TRUNCATED
        if self.unrecorded or self._lossy or self._progress.outcome == layout.LOSSY:
            return layout.LOSSY
        return layout.TRUNCATED if self.breaks else layout.CLEAN

    def signals(self, block: SignalBlock, arrived: float | None = None) -> None:
        """Record samples in order of arrival, from one thread; `arrived`: when (s, monotonic), default now."""
        if monotonic() - self._supervised >= _POLL_INTERVAL:
            self._supervise()
        self._offered += len(block)
        if self._full or self._stopping:
            self._drop(len(block))
            return
        self._send_unrecorded()
        self._backlog.add(len(block), 0, arrived)
        self._send_block(MessageKind.SIGNALS, block, len(block))
        self._limit.count(0, len(block) / block.stream.sample_rate)

    def wait_until_ready(self, timeout: float) -> None:
        """Wait up to `timeout` s until the process takes messages, so that the first samples do not wait for it."""
        deadline = monotonic() + timeout
        while not self._progress.path and not self._process.ended and monotonic() < deadline:
            self._process.listen(_POLL_INTERVAL)
            self._read_progress()

    def count_unrecorded(self, samples: int) -> None:
        """Count samples that were received but not passed to `signals`; 0: an unknown number, the run is lossy."""
        self._offered += samples
        self._drop(samples)
        self._send(MessageKind.UNRECORDED, b"%d" % self._unreported)
        self._unreported = 0

    def results(self, block: ResultBlock) -> None:
        """Record indicator values, in order; the first block of a stream defines the columns."""
        if self._full or self._stopping:
            self._lossy = True
            return
        self._send_block(MessageKind.RESULTS, block, 0)

    def event(self, event: Event) -> None:
        """Record an event."""
        if self._full or self._stopping:
            self._drop(0)
            return
        self._send(MessageKind.EVENT, msgspec.json.encode(event))

    def health(self, health: Health) -> None:  # noqa: ARG002  only the call is needed
        """Supervise the process, also while the rig is silent."""
        self._supervise(_HEALTH_SENDING_TIME)

    def close(self, outcome: str | None = None, timeout: float | None = None) -> None:
        """Write the waiting items, set the outcome and close; a second call does nothing.

        Parameters
        ----------
        outcome : word for the run; default ``clean``, or ``lossy`` if anything was dropped.
        timeout : s after which waiting items are dropped, and a disk that hangs is no longer waited for.
        """
        if self.finish(outcome, inf if timeout is None else timeout):
            return
        unsent = (
            (pack_message((MessageKind.UNRECORDED, b"%d" % self._unacknowledged.unsent)),)
            if self._unacknowledged.first
            else ()
        )
        self._process.offer(b"".join((*unsent, pack_message((MessageKind.ABORT, (outcome or "").encode())))))
        deadline = monotonic() + _ABORT_TIMEOUT
        while not self._progress.done and not self._process.ended and monotonic() < deadline:
            self._process.flush()
            self._process.listen(_POLL_INTERVAL)
            self._read_progress()
        self._close_process()

    def finish(self, outcome: str | None = None, timeout: float = 0.0) -> bool:
        """Start closing, without dropping anything; return whether it is done within `timeout` s."""
        check_outcome(outcome)
        if not self._stopping:
            self._stopping = True
            self._send_unrecorded()
            self._send(MessageKind.END, (outcome or "").encode())
        deadline = monotonic() + timeout
        while not self._closed:
            self._supervise(inf)
            if self._progress.done:
                self._close_process()
            elif (left := deadline - monotonic()) <= 0.0:
                break
            else:
                self._process.listen(min(_POLL_INTERVAL, left))
        return self._closed

    def _close_process(self) -> None:
        self._closed = True
        self._process.close_input()
        if self._progress.done:
            self._process.wait(1.0)
        self._process.close()

    @property
    def _full(self) -> bool:
        return self._unacknowledged.n_bytes >= self._limit.n_bytes

    def _drop(self, samples: int) -> None:
        self._lossy = True
        self._dropped += samples
        self._unreported += samples

    def _send_unrecorded(self) -> None:
        if self._unreported:
            self._send(MessageKind.UNRECORDED, b"%d" % self._unreported)
            self._unreported = 0

    def _send_block(self, kind: MessageKind, block: SignalBlock | ResultBlock, samples: int) -> None:
        _, header, position, payload = self._encoder.encode(block)
        known = self._headers.get(kind)
        # an encoder that is shared may have made the same header again
        if known is not header and known != header:
            # the columns of the newest stream are kept, though results of an earlier one are still to come
            announced = b"columns" if kind is MessageKind.RESULTS and not len(block) else kind
            self._unacknowledged.add(pack_message((MessageKind.STREAM, kind, header)), stream=announced)
        self._headers[kind] = header
        message = pack_message((kind, position, payload))
        self._limit.count(len(message))
        self._unacknowledged.add(message, samples)
        self._send_pending()

    def _send(self, kind: MessageKind, content: bytes) -> None:
        self._unacknowledged.add(pack_message((kind, content)))
        self._send_pending()

    def _send_pending(self, seconds: float = _SENDING_TIME) -> None:
        """Send the next message, and for some s more of those that wait, if any do; the process reads meanwhile."""
        until = monotonic() + seconds
        while (message := self._unacknowledged.first) is not None and self._process.offer(message):
            self._unacknowledged.sent()
            self._messages += 1
            if monotonic() >= until:
                break
        self._process.flush()

    def _supervise(self, seconds: float = _SENDING_TIME) -> None:
        """Read the progress, restart the process if it has died, and send messages for some s, without blocking."""
        if self._closed:
            return
        self._supervised = monotonic()
        ended = self._process.ended
        self._read_progress()
        if ended and not self._progress.done and monotonic() - self._started >= _RESTART_INTERVAL:
            self._restart()
        self._send_pending(seconds)
        if note := self._limit.note(self._unacknowledged.n_bytes):
            self.notes.add(note)

    def _read_progress(self) -> None:
        for line in self._process.lines():
            before, self._progress = self._progress, msgspec.json.decode(line, type=RecorderProgress)
            for note in self._progress.notes:
                self.notes.add(note)
            done_before = before.received - before.waiting
            self._backlog.remove(self._progress.received - self._progress.waiting - done_before, 0)
        progress = self._progress
        done = self._before.received + progress.received - progress.waiting
        self._unacknowledged.release(done, idle=progress.idle and progress.messages == self._messages)

    def _restart(self) -> None:
        before, last = self._before, self._progress
        done = last.received - last.waiting
        if done:
            self._failed_starts = 0
        elif last.path:
            # it had started
            self._failed_starts += 1
        if self._failed_starts >= _MAX_FAILED_STARTS:
            dropped = self._unacknowledged.drop()
            self._backlog.remove(dropped, 0)
            self._drop(dropped)
            done += dropped
        self._before = RecorderProgress(
            path=last.path or before.path,
            received=before.received + done,
            recorded=before.recorded + last.recorded,
            unrecorded=before.unrecorded + last.unrecorded - last.reported,
            breaks=before.breaks + last.breaks + (not self._start_error),
        )
        self._progress, self._messages = RecorderProgress(), 0
        self._unacknowledged.rewind()
        if not self._start_error:
            self.notes.add(f"the recorder process died ({self._process.end}): the recording continues in a new file")
        self._process.close()
        self._started = monotonic()
        try:
            self._process = WorkerProcess(_PROGRAM, self._arguments)
        except OSError as problem:
            self._start_error = f"the recorder process cannot be restarted: {problem}"
        else:
            self._start_error = ""
