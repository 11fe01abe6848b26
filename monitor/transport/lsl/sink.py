"""Sink that publishes results and events as LSL streams, which LabRecorder records beside all others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import msgspec

from monitor.alarms.text import describe_transition
from monitor.messages.blocks import Event, ResultBlock, ResultStream, SignalBlock
from monitor.messages.event_text import kind_text
from monitor.system.worker_process import POSSIBLE
from monitor.transport.base import TransportError
from monitor.transport.lsl.library import SCHEME, StreamAddress, load_library
from monitor.transport.lsl.outlet_process import POSITION, LslOutlets, ResultHeader, event_frames, result_frames
from monitor.transport.wall_time import WallTime
from monitor.transport.zeromq.publisher_process import PublisherProcess
from monitor.transport.zeromq.queued_publisher import PublisherSink, QueuedPublisher

_PROGRAM = "monitor.transport.lsl.outlet_process"
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
