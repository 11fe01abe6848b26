"""MQTT sink, and the handler of the commands that clients of the broker send."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

from monitor.config import MqttSettings
from monitor.messages.alarms import Alarm, AlarmReport
from monitor.messages.blocks import Event, ResultBlock, ResultStream, SignalBlock
from monitor.messages.health import Broker, Health
from monitor.messages.requests import MAX_NOTE, Answer, NoteRequest, Request, RequestError, decode_request, encode
from monitor.messages.transfer import TransferBlock
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.client import Session
from monitor.transport.mqtt.connection import password, tls_context, url_of
from monitor.transport.mqtt.discovery import Discovery
from monitor.transport.mqtt.outbox import (
    INDICATORS,
    META,
    RELIABILITY,
    STATUS,
    SUMMARY,
    Message,
    Outbox,
    Place,
    alarm_topic,
)
from monitor.transport.mqtt.payloads import Ending, Summary
from monitor.transport.rate_limit import Backoff, TokenBucket

_STATUS_INTERVAL = 30.0
_SUMMARY_INTERVAL = 10.0
_LINGER = 2.0

_Description = tuple[object, ...]


class MqttSink:
    """Tell a broker what the service finds; never wait.

    Parameters
    ----------
    settings : which broker, and what it is told.
    rig : whose results they are; empty: that of the first block.
    ending : asked at the end how the recording came out.
    backoff : how long to wait between attempts to connect.
    clock : s, monotonic.

    Raises
    ------
    CredentialError : a password, key or certificate cannot be used.
    """

    def __init__(
        self,
        settings: MqttSettings,
        rig: str = "",
        *,
        ending: Callable[[], Ending | None] = lambda: None,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        # here and not in the thread: whoever starts the service is to see it
        password(settings)
        tls_context(settings)
        self._settings, self._ending, self._clock = settings, ending, clock
        self._place = Place(settings.lab, rig)
        self._discovery = self._discover() if rig else None
        self._stream: ResultStream | None = None
        self._telemetry: tuple[ResultStream | None, tuple[tuple[str, payloads.Telemetry], ...]] = (None, ())
        self._health = Health()
        self._alarms: dict[str, _Description] = {}
        self._all: tuple[Alarm, ...] = ()
        self._sensors: dict[str, Message] = {}
        self._summary = Summary()
        self._status: tuple[str, float] | None = None
        self._summed: float | None = None
        self._closed = False
        self.outbox = Outbox()
        self.inlet = MqttCommandHandler(self.outbox.answer)
        self._session = Session(
            settings, self.outbox, lambda: self._place, self._rows, self.inlet.take, self.inlet.note, backoff
        )
        self._publish_status(Health())
        self._session.start()

    @property
    def url(self) -> str:
        """How the broker is called."""
        return url_of(self._settings)

    @property
    def broker(self) -> Broker:
        """How the connection is doing."""
        state = "connected" if self._session.connected else "away"
        return Broker(state, self.outbox.waiting, self.outbox.dropped)

    def signals(self, block: SignalBlock) -> None:
        """Learn whose they are; signals are not told."""
        self._set_rig(block.stream.rig)

    def results(self, block: ResultBlock) -> None:
        """Tell the last row, at the rate that is set."""
        if block.stream is not self._stream:
            self._begin(block.stream)
        self._summary.follow(block)
        if len(block):
            self.outbox.row(block)

    def transfer(self, block: TransferBlock) -> None:
        """Tell nothing."""

    def event(self, event: Event) -> None:
        """Tell an event."""
        self.outbox.event(payloads.event(event))

    def alarms(self, report: AlarmReport) -> None:
        """Tell transitions, and the alarms that there are."""
        self._all = report.alarms
        known = {alarm.name: alarm for alarm in report.alarms}
        for transition in report.transitions:
            # one that is no more is told by what the transition itself knows
            alarm = known.get(transition.name) or Alarm(transition.name, "", "", transition.unit, transition.severity)
            payload = payloads.alarm(alarm, transition)
            self.outbox.transition(Message(alarm_topic(alarm.name), payload, retain=True))
        told = {transition.name for transition in report.transitions}
        described = {name: _description(alarm) for name, alarm in known.items()}
        if described == self._alarms and told <= known.keys():
            return
        for name, alarm in known.items():
            if name not in told and self._alarms.get(name) != described[name]:
                self.outbox.set_retained(Message(alarm_topic(name), payloads.alarm(alarm), retain=True))
        for name in (self._alarms.keys() | told) - known.keys():
            self.outbox.set_retained(Message(alarm_topic(name), b"", retain=True))
        self._alarms = described
        self._publish_discovery()

    def health(self, health: Health) -> None:
        """Tell the status where it changes, and now and then what became of the run so far."""
        ended = health.state == "ended" != self._health.state
        self._health = health
        if health.rig:
            self._set_rig(health.rig)
        self._publish_status(health)
        # at once under a new name: what is kept there may be that of a service that was killed
        late = self._summed is None or self._clock() - self._summed >= _SUMMARY_INTERVAL
        if ended or (late and self._place.rig):
            self._publish_summary()

    def close(self, linger: float = _LINGER) -> None:
        """Say that the service ends, and wait at most `linger` s for it to be heard. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._publish_summary(self._ending())
        reason = "ended" if self._health.state == "ended" else "stopped"
        self._set_retained(STATUS, payloads.status("offline", reason=reason))
        self._session.close(linger)

    def _set_rig(self, rig: str) -> None:
        if rig != self._place.rig:
            self._place = Place(self._settings.lab, rig)
            self._discovery = self._discover()
            self._summed = None

    def _begin(self, stream: ResultStream) -> None:
        self._stream = stream
        kinds = ((INDICATORS, False), (RELIABILITY, True))
        window = self._health.window
        # in one piece: the session's thread reads it
        made = tuple((topic, payloads.Telemetry(stream, reliability=which, window=window)) for topic, which in kinds)
        self._telemetry = stream, made
        self._set_retained(META, payloads.meta(stream, self._settings.lab, window))
        self._publish_discovery()

    def _rows(self, block: ResultBlock) -> tuple[tuple[str, bytes], ...]:
        stream, kinds = self._telemetry
        # of the stream before, and there is one to come
        if block.stream is not stream:
            return ()
        utc = payloads.now()
        made = ((topic, telemetry.message(block, utc)) for topic, telemetry in kinds)
        return tuple((topic, payload) for topic, payload in made if payload is not None)

    def _publish_status(self, health: Health) -> None:
        now = self._clock()
        # told again now and then: another's will may have come after it
        if self._status is None or self._status[0] != health.state or now - self._status[1] >= _STATUS_INTERVAL:
            self._status = health.state, now
            self._set_retained(STATUS, payloads.status("online", state=health.state))

    def _publish_summary(self, ending: Ending | None = None) -> None:
        self._summed = self._clock()
        self._set_retained(SUMMARY, self._summary.message(self._health, self._all, ending))

    def _set_retained(self, topic: str, payload: bytes) -> None:
        self.outbox.set_retained(Message(topic, payload, retain=True))

    def _discover(self) -> Discovery | None:
        return Discovery(self._settings.discovery_prefix, self._place) if self._settings.discovery else None

    def _publish_discovery(self) -> None:
        if self._discovery is None:
            return
        sensors = self._discovery.sensors(self._stream) if self._stream is not None else ()
        wanted = {message.topic: message for message in (*sensors, *self._discovery.alarms(self._all))}
        for topic in self._sensors.keys() - wanted.keys():
            self.outbox.set_retained(Message(topic, b"", retain=True, absolute=True))
        for message in wanted.values():
            self.outbox.set_retained(message)
        self._sensors = wanted


def _description(alarm: Alarm) -> _Description:
    """Return what of an alarm is not changed by its transitions."""
    return (alarm.value, alarm.actuator, alarm.unit, alarm.severity, alarm.low, alarm.high, alarm.advice)


_QUEUE = 64
_NOTES = 16
_RATE, _BURST = 20.0, 50


class MqttCommandHandler:
    """Take what clients of the broker ask, carried out in the service's loop and answered by the broker.

    What the session has to say of the connection is carried out as a note: it stands in the run with everything else.
    At most 20 requests a second are carried out, 50 at once; 64 may wait, more are lost and counted.

    Parameters
    ----------
    answer : takes the JSON of an answer.
    clock : s, monotonic.
    """

    endpoint = ""
    """None that a ZeroMQ client could connect to."""

    def __init__(self, answer: Callable[[bytes], None], clock: Callable[[], float] = monotonic) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._rate_limit = TokenBucket(_BURST, _RATE, clock)
        self._send = answer
        self.refused = 0

    def take(self, payload: bytes, retained: bool) -> None:
        """Queue a request; from any thread."""
        with self._lock:
            if len(self._waiting) < _QUEUE:
                self._waiting.append((payload, retained))
            else:
                self.refused += 1

    def note(self, text: str) -> None:
        """Queue a line about the connection; from any thread."""
        with self._lock:
            self._notes.append(text)

    def serve(self, carry_out: Callable[[Request], None]) -> None:
        """Carry out and answer what has come; never wait. A ValueError from `carry_out` refuses the request."""
        with self._lock:
            waiting, notes = tuple(self._waiting), tuple(self._notes)
            self._waiting.clear()
            self._notes.clear()
        for text in notes:
            carry_out(NoteRequest(text=text.encode(errors="replace")[:MAX_NOTE].decode(errors="ignore")))
        for payload, retained in waiting:
            self._send(encode(self._answered(payload, retained, carry_out)))

    def _answered(self, payload: bytes, retained: bool, carry_out: Callable[[Request], None]) -> Answer:
        number = 0
        try:
            if retained:
                raise RequestError("a retained request is not carried out: publish it without retain")
            request = decode_request(payload)
            number = request.id
            if not self._rate_limit.allow():
                raise RequestError(f"more than {_RATE:g} requests a second: wait, then send it again", number)
            carry_out(request)
        except ValueError as problem:
            self.refused += 1
            number = problem.number if isinstance(problem, RequestError) else number
            return Answer(ok=False, reason=str(problem), id=number)
        return Answer(ok=True, id=number)

    def close(self) -> None:
        """Do nothing: the connection is the sink's."""
