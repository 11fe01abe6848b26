"""Source of the signals of one LSL stream, which may vanish, restart, and have other channels then."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from monitor.messages.blocks import Channel, Event, EventKind, SignalBlock, Stream
from monitor.system.running_clock import RunningClock
from monitor.transport.lsl.library import DescribedChannel, StreamAddress, described_channels, load_library
from monitor.wire.sample_numbering import Run, SampleNumbering
from monitor.wire.sample_rate import RateCheck, rate_contradicted

AssignRoles = Callable[[Sequence[DescribedChannel]], tuple[Channel, ...]]
"""Returns the channels with their roles; raises ValueError if they are not clear."""

_MAX_CHUNK = 1024  # samples of one `receive`
_SEARCH_TIME, _PAUSE = 1.0, 0.2  # s of one search, and between two
_OTHERS_TIME = 1.5  # s in which other streams of the same name answer: liblsl asks known peers after 0.5 s
_OPEN_TIMEOUT = 5.0  # s, of each step of opening a stream
_CORRECTION_INTERVAL = 1.0  # s between readings of the clock's correction
_OFFSETS, _OFFSET_TOLERANCE = 5, 0.01  # measurements that are compared, and s between those that agree
_JOIN_TIMEOUT = 2.0  # s
_MAX_RATE = 1e6  # Hz


@dataclass(slots=True)
class _Opened:
    """A stream that is received from now on."""

    inlet: Any
    uid: str
    stream: Stream
    correction: float  # s, of the sender's clock to that of this machine


class ClockOffsets:
    """Measured offsets of a clock, of which one that is far from the others is not believed.

    Parameters
    ----------
    offset : s, the first.
    """

    def __init__(self, offset: float) -> None:
        self._newest = deque([offset], maxlen=_OFFSETS)
        self._offset = offset

    def accept(self, offset: float) -> float:
        """Return the offset that is believed, s: a new one if it is near, or if most of the newest are near it."""
        self._newest.append(offset)
        agree = sum(abs(each - offset) <= _OFFSET_TOLERANCE for each in self._newest)
        if abs(offset - self._offset) <= _OFFSET_TOLERANCE or agree > _OFFSETS // 2:
            self._offset = offset
        return self._offset


class _RejectedError(ValueError):
    """The stream was found, but has no signals that can be used."""


class LslSource:
    """Receive one LSL stream with a regular rate; times are those of LSL's clock on this machine.

    A thread searches for the stream and opens it. `receive` reads from liblsl, whose own thread fills a queue of
    `queue_seconds`, beyond which the oldest samples are lost, and counted as a gap by their time stamps. A stream
    that vanishes, or sends nothing for `stale_after`, is searched for again. Its identifier shows whether it is the
    same one, whose numbering continues, or a restart. Of several new ones with the same name none is opened.

    Parameters
    ----------
    url : ``lsl://NAME`` or ``lsl://NAME?source_id=ID``, also with type and hostname.
    assign_roles : gives the channels their roles.
    rig : name of the rig; by default that of the stream.
    sample_rate : Hz, of a stream that gives none.
    stale_after : s without samples after which the stream is searched for again.
    queue_seconds : of samples that are not read.
    listening : from the start, or only from `listen` on.
    clock : s, in which this process can run; called at every `receive`.

    Raises
    ------
    ModuleNotFoundError : pylsl is not installed.
    TransportError : the address is malformed, or there is no liblsl.
    """

    ended = False
    """A stream may always come back: LSL has no message for its end."""
    dropped_at_end = 0
    """Unknown: what the full queue has lost is seen in the next sample's time stamp."""

    def __init__(
        self,
        url: str,
        assign_roles: AssignRoles,
        *,
        rig: str = "",
        sample_rate: float | None = None,
        stale_after: float = 5.0,
        queue_seconds: float = 10.0,
        listening: bool = True,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._address = StreamAddress.parse(url)
        self._library = load_library()
        self._assign_roles, self._rig, self._rate = assign_roles, rig, sample_rate
        self._stale_after, self._queue_seconds = stale_after, queue_seconds
        self.endpoints = (str(self._address),)
        """Address of the stream."""
        self.waited: tuple[float, ...] = ()
        """How long each item of the last `receive` was queued, s."""
        self._found: SimpleQueue[_Opened | Event] = SimpleQueue()
        self._lost: SimpleQueue[Any] = SimpleQueue()  # inlets for the thread to close
        self._stop, self._search = threading.Event(), threading.Event()
        self._opened: _Opened | None = None
        self._numbering: SampleNumbering | None = None
        self._uid, self._epoch, self._rejected = "", 0, ("", "")
        self._clock = clock or RunningClock()
        self._last_sample = self._corrected = self._clock()
        self._correction, self._offsets = 0.0, ClockOffsets(0.0)
        self._samples, self._items = 0, 0
        self._flowing = False  # since it was opened
        self._reported = False  # its loss, since its last sample
        self._check = RateCheck(1.0)
        self._thread = threading.Thread(target=self._connect, name="lsl", daemon=True)
        if listening:
            self.listen()

    def hold(self, *, on: bool) -> None:
        """Do nothing: a sender of LSL cannot wait."""

    def listen(self) -> None:
        """Search for the stream; a second call does nothing."""
        if not self._search.is_set() and not self._thread.is_alive():
            self._search.set()
            self._thread.start()

    @property
    def waiting(self) -> int:
        """Samples that have arrived and are not received yet, in blocks of the usual size."""
        if self._opened is None:
            return self._found.qsize()
        return math.ceil(self._available() * self._items / max(self._samples, 1))

    def _available(self) -> int:
        return 0 if self._opened is None else int(self._opened.inlet.samples_available())

    def receive(self, timeout: float) -> Sequence[SignalBlock | Event]:
        """Return what has arrived; wait up to `timeout` s for the first sample."""
        items = self._next_found(timeout) if self._opened is None else self._pull(self._opened, timeout)
        # later samples show how long the newest one of these has waited
        late = 0.0 if self._opened is None else self._available() / self._opened.stream.sample_rate
        self.waited = (late,) * len(items)
        return items

    def _next_found(self, timeout: float) -> list[SignalBlock | Event]:
        try:
            found = self._found.get(timeout=max(timeout, 0.0))
        except Empty:
            return []
        if isinstance(found, Event):
            return [found]
        self._flowing = False
        if found.uid != self._uid or self._numbering is None:
            self._numbering, self._uid = SampleNumbering(found.stream.sample_rate), found.uid
            self._check = RateCheck(found.stream.sample_rate)
        elif self._numbering.rate != found.stream.sample_rate:
            found.stream = replace(found.stream, sample_rate=self._numbering.rate)
        self._opened, self._correction = found, found.correction
        self._offsets = ClockOffsets(found.correction)
        self._last_sample = self._corrected = self._clock()
        return []

    def _pull(self, opened: _Opened, timeout: float) -> list[SignalBlock | Event]:
        try:
            samples, stamps = opened.inlet.pull_chunk(
                timeout=max(timeout, 0.0), max_samples=_MAX_CHUNK, min_samples=1
            )
        except RuntimeError:
            # LostError, as a rule; whatever it is, opening the stream again is the remedy
            return self._lose(opened, "has vanished")
        now = self._clock()
        if not len(stamps):
            silent = now - self._last_sample >= self._stale_after
            return self._lose(opened, f"has sent nothing for {self._stale_after:g} s") if silent else []
        self._last_sample, self._flowing = now, True
        if now - self._corrected >= _CORRECTION_INTERVAL:
            self._corrected = now
            # the latest estimate, without waiting
            with suppress(RuntimeError):
                self._correction = self._offsets.accept(opened.inlet.time_correction(0.0))
        numbering = self._numbering
        assert numbering is not None
        values = np.asarray(samples, np.float64).reshape(len(stamps), -1)
        return list(self._blocks(opened, numbering.accept(np.asarray(stamps), values)))

    def _blocks(self, opened: _Opened, runs: Iterator[Run]) -> Iterator[SignalBlock | Event]:
        """Yield a block for each run; before the first one after a loss, the event of its return."""
        for run in runs:
            self._samples += len(run.samples)
            self._items += 1
            samples, at = np.ascontiguousarray(run.samples), run.time + self._correction
            if self._reported:
                self._reported = False
                yield Event(EventKind.RECONNECTED, at, run.number, 0, f"{self._address} is received again")
            rate = self._check.add(run.number, run.stamp) or run.rate
            if rate != self._check.rate or rate != opened.stream.sample_rate:
                yield from self._correct_rate(opened, rate, run.number, at)
            yield SignalBlock(opened.stream, run.number, at, samples, joint=run.joint)

    def _correct_rate(self, opened: _Opened, rate: float, number: int, at: float) -> Iterator[Event]:
        """Use the rate of the stamps from here on; yield the event that says so."""
        assert self._numbering is not None
        if rate != opened.stream.sample_rate:
            text = f"{self._address}: {rate_contradicted(opened.stream.sample_rate, rate)}"
            opened.stream = replace(opened.stream, sample_rate=rate)
            yield Event(EventKind.CONTRADICTION, at, number, 0, text)
        if self._numbering.rate != rate:
            self._numbering.follow(rate)
        if self._check.rate != rate:
            self._check = RateCheck(rate)

    def _lose(self, opened: _Opened, why: str) -> list[SignalBlock | Event]:
        """Return what is held, and the event of a stream that is lost, which is searched for again."""
        assert self._numbering is not None
        held: list[SignalBlock | Event] = list(self._blocks(opened, self._numbering.flush()))
        self._opened = None
        self._lost.put(opened.inlet)
        self._search.set()
        # a stream that pauses is opened again and again
        if self._flowing:
            self._reported = True
            held.append(self._event(EventKind.NOTE, f"{self._address} {why}: searching for it"))
        return held

    def _event(self, kind: EventKind, detail: str) -> Event:
        numbering = self._numbering
        if numbering is None or math.isnan(numbering.time):
            return Event(kind, 0.0, 0, 0, detail)
        return Event(kind, numbering.time + self._correction, numbering.next, 0, detail)

    # ---- of the thread

    def _connect(self) -> None:
        while not self._stop.is_set():
            self._search.wait()
            while not self._lost.empty():
                self._lost.get_nowait()  # the last reference: its destructor disconnects
            found = None if self._stop.is_set() else self._find()
            if found is not None:
                self._search.clear()
                self._found.put(found)
            else:
                self._stop.wait(_PAUSE)

    def _find(self) -> _Opened | None:
        library = self._library
        infos = library.resolve_bypred(self._address.predicate, 1, _SEARCH_TIME)
        if infos and self._former(infos) is None:
            # the first to answer is one of several by chance
            infos = library.resolve_bypred(self._address.predicate, 2, _OTHERS_TIME)
        if (former := self._former(infos)) is not None:
            infos = [former]
        if len({info.uid() for info in infos}) > 1:
            places = sorted(f"source_id={info.source_id()} on {info.hostname()}" for info in infos)
            self._reject("", f"{len(infos)} streams have this name: {', '.join(places)}; add ?source_id=ID")
            return None
        if not infos or infos[0].uid() == self._rejected[0] or self._stop.is_set():
            return None
        try:
            return self._open(infos[0])
        except _RejectedError as problem:
            self._reject(infos[0].uid(), str(problem))
        # lost again, or no answer in time
        except RuntimeError:
            pass
        return None

    def _former(self, infos: Sequence[Any]) -> Any | None:
        """Return the stream that was received before, None if it is not among those found."""
        return next((info for info in infos if info.uid() == self._uid), None)

    def _reject(self, uid: str, why: str) -> None:
        if (uid, why) != self._rejected:
            self._rejected = uid, why
            self._found.put(Event(EventKind.NOTE, 0.0, 0, 0, f"{self._address}: {why}"))

    def _open(self, info: Any) -> _Opened:
        library = self._library
        if info.channel_format() == library.cf_string:
            raise _RejectedError("it holds texts, no signals")
        rate = info.nominal_srate() or self._rate
        if not rate or not 0.0 < rate <= _MAX_RATE:
            raise _RejectedError("it has no nominal sample rate: give --rate HZ if its samples are evenly spaced")
        buffer = max(1, math.ceil(self._queue_seconds))
        if not info.nominal_srate():
            # liblsl counts hundreds of samples then
            buffer = max(1, math.ceil(self._queue_seconds * rate / 100.0))
        inlet = library.StreamInlet(info, max_buflen=buffer, recover=False, as_numpy=True)
        full = inlet.info(_OPEN_TIMEOUT)
        try:
            channels = self._assign_roles(described_channels(full.as_xml(), full.channel_count(), info.name()))
            self._epoch = max(time.time_ns(), self._epoch + 1) if info.uid() != self._uid else self._epoch
            stream = Stream(self._rig or info.name()[:128], self._epoch, rate, channels)
        except ValueError as problem:
            raise _RejectedError(str(problem)) from problem
        try:
            correction = inlet.time_correction(_OPEN_TIMEOUT)
        except RuntimeError:
            correction = 0.0
            self._reject("", "the offset of its clock cannot be measured: times are those of the sender's clock")
        inlet.open_stream(_OPEN_TIMEOUT)
        return _Opened(inlet, info.uid(), stream, correction)

    def close(self) -> None:
        """Disconnect; a second call does nothing."""
        self._stop.set()
        self._search.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT)
        self._opened = None
