"""Results and events as LSL streams, which LabRecorder records beside all others: the sink, and its process."""

from __future__ import annotations

import math
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from math import inf
from typing import Any

import msgspec
import numpy as np

from monitor.alarms.text import describe_transition
from monitor.messages.blocks import Column, Event, ResultBlock, ResultStream, SignalBlock, column_names, kind_text
from monitor.system.worker_process import POSSIBLE, read_first_line
from monitor.transport.base import TransportError
from monitor.transport.lsl.library import SCHEME, StreamAddress, load_library
from monitor.transport.wall_time import WallTime
from monitor.transport.zeromq.publisher_process import ProcessOpened, ProcessSettings, PublisherProcess, forward
from monitor.transport.zeromq.queued_publisher import PublisherSink, QueuedPublisher
from monitor.wire.native import Frames

_PROGRAM = "monitor.transport.lsl.sink"
_LINGER = 1.0  # s


class LslSink(PublisherSink):
    """Publish every row of results as a stream ``NAME``, and events as a stream of texts, ``NAME events``.

    liblsl runs in a process of its own, so that no receiver can crash or delay this one. Times are those of LSL's
    clock: a rig's own times are placed at the arrival of its first block, and follow its clock from there.

    Parameters
    ----------
    name : of the stream.
    insecure : must be given: every machine in the network can receive LSL streams, without encryption.
    lsl_times : the times of the blocks are those of LSL's clock on this machine, as of `LslSource`.
    monotonic : s.

    Raises
    ------
    ModuleNotFoundError : pylsl is not installed.
    TransportError : the name is empty, there is no liblsl, or `insecure` is missing.
    """

    def __init__(
        self,
        name: str,
        *,
        insecure: bool = False,
        lsl_times: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not insecure:
            raise TransportError(
                f"the LSL stream {name!r} would be open to every machine in the network, without encryption: "
                "add --insecure"
            )
        load_library()
        url = f"{SCHEME}{name.replace('%', '%25').replace('?', '%3F')}"
        StreamAddress.parse(url)
        self._publisher: QueuedPublisher | LslOutlets = (
            QueuedPublisher(PublisherProcess(url, queue_seconds=0.0, linger=_LINGER, program=_PROGRAM))
            if POSSIBLE
            else LslOutlets(url)
        )
        self._lsl_times, self._monotonic = lsl_times, monotonic
        self._time = WallTime(monotonic, monotonic)
        self._started = False
        self._header: tuple[ResultStream, bytes] | None = None

    def signals(self, block: SignalBlock) -> None:
        """Follow the rig's clock; the signals are not published: their stream is the rig's."""
        self._time.update(block)
        self._started |= len(block) > 0

    def results(self, block: ResultBlock) -> None:
        """Publish all rows."""
        stream = block.stream
        if self._header is None or self._header[0] is not stream:
            encoded = msgspec.json.encode(ResultHeader(stream.rig, stream.columns))
            # the same object where nothing has changed, which is not sent again
            same = self._header is not None and self._header[1] == encoded
            self._header = stream, self._header[1] if same and self._header is not None else encoded
        position = self._position(block.time, stream.every / stream.sample_rate)
        self._publisher.send(result_frames(self._header[1], position, block.values))

    def event(self, event: Event) -> None:
        """Publish the event as a text such as ``alarm: north delay warn ...``."""
        detail = event.detail if event.alarm is None else describe_transition(event.alarm)
        text = ": ".join(filter(None, (kind_text(event) or event.kind, detail)))
        self._publisher.send(event_frames(self._position(event.time), text))

    def _position(self, t: float, step: float = 0.0) -> bytes:
        if not self._started or not math.isfinite(t):
            return POSITION.pack(self._monotonic(), step, False)
        return POSITION.pack(t if self._lsl_times else self._time.convert(t), step, self._lsl_times)

    def close(self) -> None:
        """Publish what is queued and close; a second call does nothing."""
        self._publisher.close(_LINGER)


POSITION = struct.Struct("<dd?")
"""Time of the first row, s; time between rows, s; whether that is LSL's clock, else the monotonic clock."""

_RESULTS, _EVENT = b"results", b"event"
_BUFFER = 120  # hundreds of rows for each receiver, beyond which liblsl drops the oldest


class ResultHeader(msgspec.Struct, frozen=True):
    """What describes the stream of results."""

    rig: str
    columns: tuple[Column, ...]


def result_frames(header: bytes, position: bytes, values: np.ndarray) -> Frames:
    """Return the message of rows of results; `header` is an encoded `ResultHeader`."""
    return [_RESULTS, header, position, np.ascontiguousarray(values, "<f8").tobytes()]


def event_frames(position: bytes, text: str) -> Frames:
    """Return the message of an event."""
    return [_EVENT, position, text.encode(errors="replace")]


class LslOutlets:
    """Publish results and events as two LSL streams, ``NAME`` and ``NAME events``.

    Parameters
    ----------
    url : ``lsl://NAME``.

    Raises
    ------
    ModuleNotFoundError : pylsl is not installed.
    TransportError : the name is malformed, there is no liblsl, or it cannot open a stream.
    """

    dropped, fault = 0, ""

    def __init__(self, url: str) -> None:
        self.url = url
        self._name = StreamAddress.parse(url).name
        self._library = load_library()
        self._header = b""
        self._results: Any = None
        self._width = 0
        # the identifier by which receivers find the streams again after a restart of the service
        self._source = f"synchroscope/{socket.gethostname()}/{self._name}"
        self._markers = self._open(
            self._library.StreamInfo(
                f"{self._name} events", "Markers", 1, 0.0, self._library.cf_string, f"{self._source}/events"
            )
        )
        self._offset = self._library.local_clock() - time.monotonic()

    def _open(self, info: Any) -> Any:
        info.desc().append_child_value("manufacturer", "Synchroscope")
        try:
            return self._library.StreamOutlet(info, max_buffered=_BUFFER)
        except RuntimeError as problem:
            raise TransportError(f"{self.url}: liblsl cannot open the stream: {problem}") from problem

    def send(self, frames: Frames) -> None:
        """Publish a message of `result_frames` or `event_frames`; liblsl never waits for a receiver."""
        if frames[0] == _RESULTS:
            self._send_results(frames[1], frames[2], frames[3])
        elif frames[0] == _EVENT:
            first, _, own = POSITION.unpack(frames[1])
            self._markers.push_sample([frames[2]], first + (0.0 if own else self._offset))

    def _send_results(self, header: bytes, position: bytes, payload: bytes) -> None:
        if header != self._header:
            self._describe(msgspec.json.decode(header, type=ResultHeader))
            self._header = header
        if self._results is None or not payload:
            return
        values = np.frombuffer(payload, "<f8").reshape(-1, self._width)
        first, step, own = POSITION.unpack(position)
        stamps = first + (0.0 if own else self._offset) + step * np.arange(len(values))
        self._results.push_chunk(values, stamps.tolist())

    def _describe(self, header: ResultHeader) -> None:
        """Open the stream of results with the columns of `header`."""
        self._results, self._width = None, len(header.columns)
        if not header.columns:
            return
        library = self._library
        # irregular: readers take the times of a regular stream from the count of its samples, of which some may miss
        info = library.StreamInfo(
            self._name, "Indicators", self._width, library.IRREGULAR_RATE, library.cf_double64, self._source
        )
        info.desc().append_child_value("rig", header.rig)
        channels = info.desc().append_child("channels")
        for column, label in zip(header.columns, column_names(header.columns), strict=True):
            channel = channels.append_child("channel")
            texts = {"label": label, "unit": column.unit, "type": "Indicator", "actuator": column.actuator}
            for key, text in texts.items():
                channel.append_child_value(key, text)
        self._results = self._open(info)

    descriptor = -1

    def maintain(self) -> float:
        """Return infinity: liblsl does what is due by itself."""
        return inf

    def close(self, _linger: float = 0.0) -> None:
        """Close the streams; receivers have what liblsl has sent by then."""
        self._results = self._markers = None


_SENDING = 0.3  # s for liblsl to send what it has queued: it cannot be asked


def main() -> None:
    """Publish the messages of standard input until it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    head, rest = read_first_line()
    settings = msgspec.json.decode(head, type=ProcessSettings)
    try:
        outlets = LslOutlets(settings.bind)
    except TransportError as problem:
        os.write(1, msgspec.json.encode(ProcessOpened(problem=str(problem))) + b"\n")
        return
    os.write(1, msgspec.json.encode(ProcessOpened(url=outlets.url)) + b"\n")
    forward(outlets, rest)
    time.sleep(_SENDING)
    outlets.close()
