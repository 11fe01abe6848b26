"""MQTT sink, and the handler of the commands that clients of the broker send."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from time import monotonic

from monitor.config import MqttSettings
from monitor.messages import Sink
from monitor.messages.alarms import Alarm, AlarmReport
from monitor.messages.blocks import Event, ResultBlock, ResultStream, SignalBlock
from monitor.messages.health import BrokerStatus, Health
from monitor.messages.requests import MAX_NOTE, Answer, NoteRequest, Request, RequestError, encode
from monitor.transport.mqtt import payloads
from monitor.transport.mqtt.client import ConnectionTasks, MqttClient
from monitor.transport.mqtt.connection import url_of
from monitor.transport.mqtt.credentials import password, tls_context
from monitor.transport.mqtt.discovery import Discovery, StateEncoder
from monitor.transport.mqtt.outbox import (
    DISCOVERED,
    INDICATORS,
    META,
    RELIABILITY,
    STATUS,
    SUMMARY,
    Message,
    Outbox,
    RigTopics,
)
from monitor.transport.mqtt.payloads import RecordingResult, Summary
from monitor.transport.rate_limit import Backoff, RequestLimiter

_STATUS_INTERVAL = 30.0
_SUMMARY_INTERVAL = 10.0
_LINGER = 2.0

_Description = tuple[object, ...]
_Telemetry = tuple[ResultStream | None, tuple[tuple[str, payloads.TelemetryEncoder], ...], StateEncoder | None]


class MqttSink(Sink):
    """Sink that publishes to an MQTT broker, without blocking.

    Parameters
    ----------
    settings : of the broker, and what is published.
    rig : name of the rig; empty: that of the first block.
    recorded : returns the result of the recording, when the sink is closed.
    backoff : waits between attempts to connect.
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
        recorded: Callable[[], RecordingResult | None] = lambda: None,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        # here and not in the thread, so that an error ends the start of the service
        password(settings)
        tls_context(settings)
        self._settings, self._recorded, self._clock = settings, recorded, clock
        self._topics = RigTopics(settings.lab, rig, settings.plain_topics)
        self._discovery = self._make_discovery() if rig else None
        self._stream: ResultStream | None = None
        self._telemetry: _Telemetry = (None, (), None)
        self._states_due = 0.0
        self._health = Health()
        self._descriptions: dict[str, _Description] = {}
        self._alarms: tuple[Alarm, ...] = ()
        self._sensors: dict[str, Message] = {}
        self._summary = Summary()
        self._status: tuple[str, float] | None = None
        self._summary_time: float | None = None
        self._closed = False
        self.outbox = Outbox()
        self.command_handler = MqttCommandHandler(self.outbox.add_answer)
        handler = self.command_handler
        tasks = ConnectionTasks(settings, self.outbox, lambda: self._topics, self._rows, handler.put, handler.note)
        self._client = MqttClient(tasks, backoff)
        self._publish_status(Health())
        self._client.start()

    @property
    def url(self) -> str:
        """URL of the broker."""
        return url_of(self._settings)

    @property
    def broker(self) -> BrokerStatus:
        """State of the connection."""
        state = "connected" if self._client.connected else "away"
        return BrokerStatus(state, self.outbox.waiting, self.outbox.dropped, self.outbox.denied)

    def signals(self, block: SignalBlock) -> None:
        """Set the rig; signals are not published."""
        self._set_rig(block.stream.rig)

    def results(self, block: ResultBlock) -> None:
        """Publish the last row, at the rate of the settings."""
        if block.stream is not self._stream:
            self._begin(block.stream)
        self._summary.update(block, self._health.paused)
        if len(block):
            self.outbox.set_row(block)

    def event(self, event: Event) -> None:
        """Publish an event."""
        self.outbox.add_event(payloads.event(event))

    def alarms(self, report: AlarmReport) -> None:
        """Publish transitions, and alarms that are new, changed or removed."""
        self._alarms = report.alarms
        known = {alarm.name: alarm for alarm in report.alarms}
        for transition in report.transitions:
            # an alarm that no longer exists is described by its transition
            alarm = known.get(transition.name) or Alarm(transition.name, "", "", transition.unit, transition.severity)
            payload = payloads.alarm(alarm, transition)
            self.outbox.add_transition(Message(self._topics.alarm(alarm.name), payload, retain=True))
        published = {transition.name for transition in report.transitions}
        described = {name: _description(alarm) for name, alarm in known.items()}
        if described == self._descriptions and published <= known.keys():
            return
        for name, alarm in known.items():
            if name not in published and self._descriptions.get(name) != described[name]:
                self.outbox.set_retained(Message(self._topics.alarm(name), payloads.alarm(alarm), retain=True))
        for name in (self._descriptions.keys() | published) - known.keys():
            self.outbox.set_retained(Message(self._topics.alarm(name), b"", retain=True))
        self._descriptions = described
        self._publish_discovery()

    def health(self, health: Health) -> None:
        """Publish the status when it changes, and the summary periodically."""
        ended = health.state == "ended" != self._health.state
        self._health = health
        if health.rig:
            self._set_rig(health.rig)
        self._publish_status(health)
        # at once for a new rig: the retained summary may be that of a service that was killed
        due = self._summary_time is None or self._clock() - self._summary_time >= _SUMMARY_INTERVAL
        if ended or (due and self._topics.rig):
            self._publish_summary()

    def close(self, linger: float = _LINGER) -> None:
        """Publish the end of the service, for at most `linger` s. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._publish_summary(self._recorded())
        reason = "ended" if self._health.state == "ended" else "stopped"
        self._set_retained(STATUS, payloads.status("offline", reason=reason))
        self._client.close(linger)

    def _set_rig(self, rig: str) -> None:
        if rig != self._topics.rig:
            self._topics = replace(self._topics, rig=rig)
            self._discovery = self._make_discovery()
            self._summary_time = None

    def _begin(self, stream: ResultStream) -> None:
        self._stream = stream
        kinds = ((INDICATORS, False), (RELIABILITY, True))
        window = self._health.window
        encoders = tuple(
            (topic, payloads.TelemetryEncoder(stream, reliability=which, window=window)) for topic, which in kinds
        )
        states = None
        if self._settings.discovery:
            states = StateEncoder(stream, all_values=self._settings.discovery_values == "all", window=window)
        # assigned in one step: the client's thread reads it
        self._telemetry = stream, encoders, states
        self._set_retained(META, payloads.meta(stream, self._settings.lab, window))
        self._publish_discovery()

    def _rows(self, block: ResultBlock) -> tuple[tuple[str, bytes], ...]:
        stream, kinds, states = self._telemetry
        # a block of the former stream, which another will replace
        if block.stream is not stream:
            return ()
        utc, paused = payloads.now(), self._health.paused
        messages = ((topic, telemetry.message(block, utc, paused)) for topic, telemetry in kinds)
        found = tuple((topic, payload) for topic, payload in messages if payload is not None)
        if states is None or self._clock() < self._states_due:
            return found
        self._states_due = self._clock() + 1.0 / self._settings.discovery_rate
        return (*found, (DISCOVERED, states.message(block, utc, paused)))

    def _publish_status(self, health: Health) -> None:
        now = self._clock()
        # repeated: a last will may have been published after it
        if self._status is None or self._status[0] != health.state or now - self._status[1] >= _STATUS_INTERVAL:
            self._status = health.state, now
            self._set_retained(STATUS, payloads.status("online", state=health.state))

    def _publish_summary(self, recorded: RecordingResult | None = None) -> None:
        self._summary_time = self._clock()
        self._set_retained(SUMMARY, self._summary.message(self._health, self._alarms, recorded))

    def _set_retained(self, topic: str, payload: bytes) -> None:
        self.outbox.set_retained(Message(topic, payload, retain=True))

    def _make_discovery(self) -> Discovery | None:
        given = self._settings
        if not given.discovery:
            return None
        all_values = given.discovery_values == "all"
        return Discovery(given.discovery_prefix, self._topics, all_values=all_values, commands=given.commands)

    def _publish_discovery(self) -> None:
        if self._discovery is None:
            return
        sensors = self._discovery.sensors(self._stream) if self._stream is not None else ()
        wanted = {message.topic: message for message in (*sensors, *self._discovery.alarms(self._alarms))}
        for topic in self._sensors.keys() - wanted.keys():
            self.outbox.set_retained(Message(topic, b"", retain=True, absolute=True))
        for message in wanted.values():
            self.outbox.set_retained(message)
        self._sensors = wanted


def _description(alarm: Alarm) -> _Description:
    """Return the fields of an alarm that may change without a transition, as by its first value."""
    judged = alarm.state, alarm.not_judged, alarm.source
    return (alarm.value, alarm.actuator, alarm.unit, alarm.severity, alarm.low, alarm.high, alarm.advice, *judged)


_QUEUE = 64
_NOTES = 16


class MqttCommandHandler:
    """Queue requests of the broker's clients, to be carried out in the service's loop.

    Lines about the connection are carried out as notes, so that they are recorded with the run. At most 20 requests a
    second are carried out, 50 at once; 64 may wait, more are dropped and counted.

    Parameters
    ----------
    answer : called with the JSON of each answer.
    clock : s, monotonic.
    """

    endpoint = ""
    """None for ZeroMQ clients."""

    trusted = False
    """The broker knows its clients, the service does not."""

    def __init__(self, answer: Callable[[bytes], None], clock: Callable[[], float] = monotonic) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[bytes, bool]] = deque()
        self._notes: deque[str] = deque(maxlen=_NOTES)
        self._limiter = RequestLimiter(clock=clock)
        self._send_answer = answer
        self.refused = 0

    def put(self, payload: bytes, retained: bool) -> None:
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
        """Carry out and answer queued requests without waiting. A ValueError from `carry_out` refuses a request."""
        with self._lock:
            waiting, notes = tuple(self._waiting), tuple(self._notes)
            self._waiting.clear()
            self._notes.clear()
        for text in notes:
            carry_out(NoteRequest(text=text.encode(errors="replace")[:MAX_NOTE].decode(errors="ignore")))
        for payload, retained in waiting:
            self._send_answer(encode(self._answer(payload, retained, carry_out)))

    def _answer(self, payload: bytes, retained: bool, carry_out: Callable[[Request], None]) -> Answer:
        number = 0
        try:
            if retained:
                raise RequestError("a retained request is not carried out: publish it without retain")
            request = self._limiter.decode(payload)
            number = request.id
            carry_out(request)
        except ValueError as problem:
            self.refused += 1
            number = problem.number if isinstance(problem, RequestError) else number
            return Answer(ok=False, reason=str(problem), id=number)
        return Answer(ok=True, id=number)

    def close(self) -> None:
        """Do nothing: the connection is the sink's."""
