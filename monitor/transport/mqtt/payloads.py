"""Values as the JSON payloads of MQTT messages, and the summary of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from monitor import __version__
from monitor.catalogue import CODE_UNIT
from monitor.messages.alarms import Alarm, AlarmAction, Transition, alarm_counts
from monitor.messages.blocks import Event, ResultBlock, ResultStream, Samples, kind_text
from monitor.messages.headline import first_indicator, read_headline
from monitor.messages.health import Health


class HeadlineReader:
    """Read the headline of each actuator from a row of results; an actuator without a delay has none."""

    def __init__(self, stream: ResultStream) -> None:
        delays = {name: first_indicator(own.__contains__) + "_delay" for name, own in stream.places.items()}
        self._places = {name: own for name, own in stream.places.items() if delays[name] in own}
        self.names = tuple(self._places)
        self._paused: tuple[str, ...] | None = None
        self.set_paused(())

    def set_paused(self, paused: tuple[str, ...]) -> None:
        """Set what the service has shed: where that is the headline, another indicator speaks for it."""
        if paused != self._paused:
            self._paused = paused
            self._first = {name: first_indicator(own.__contains__, paused) for name, own in self._places.items()}
            columns = [self._places[name][f"{first}_delay"] for name, first in self._first.items()]
            self.delays: NDArray[np.intp] = np.array(columns, np.intp)
            """(n_actuators,) columns of their delays."""

    def read(self, actuator: str, row: Samples, window: float) -> dict[str, Any]:
        """Return the headline of an actuator in a row of results, (n_columns,); `window` [s] of the indicators."""
        first, own = self._first[actuator], self._places[actuator]
        found = read_headline(first, lambda name: float(row[own[name]]) if name in own else math.nan)
        return {
            "delay": _number_or_none(found.delay),
            "delay_sd": _number_or_none(found.delay_sd),
            "ratio": _number_or_none(found.ratio),
            "ratio_sd": _number_or_none(found.ratio_sd),
            "indicator": found.indicator,
            "window": window,
            "contradicting": found.contradicting,
        }


def _number_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


_RELIABILITY = ("reliability_", "model_")
_NOT_REFRESH, _REFRESH = b'"refresh":false}', b'"refresh":true}'
_ACTIVE = {AlarmAction.OCCUR: True, AlarmAction.RETURN_TO_NORMAL: False}


def now() -> str:
    """Return the time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode(content: dict[str, Any]) -> bytes:
    """Return JSON; non-finite numbers are null."""
    return msgspec.json.encode(content)


def is_reliability(name: str) -> bool:
    """Return whether a column belongs to the reliability of a model."""
    return name.startswith(_RELIABILITY)


class TelemetryEncoder:
    """Encode the newest row of results: of the indicators, with their headline, or of the reliabilities.

    Parameters
    ----------
    stream : of the results.
    reliability : encode the reliabilities.
    window : s, of the indicators.
    """

    def __init__(self, stream: ResultStream, *, reliability: bool, window: float = 0.0) -> None:
        self._step = stream.every / stream.sample_rate
        self._every, self._window = stream.every, window
        self._headlines = None if reliability else HeadlineReader(stream)
        wanted = {
            actuator: {name: place for name, place in own.items() if is_reliability(name) is reliability}
            for actuator, own in stream.places.items()
        }
        self._places = {actuator: own for actuator, own in wanted.items() if own}

    def message(self, block: ResultBlock, utc: str, paused: tuple[str, ...] = ()) -> bytes | None:
        """Return the payload; None if there is no such column, or no row. `paused` as of `HeadlineReader`."""
        rows = len(block) - 1
        if not self._places or rows < 0:
            return None
        row: list[float | None] = block.values[-1].astype(object).tolist()
        for place in np.flatnonzero(~np.isfinite(block.values[-1])).tolist():
            row[place] = None
        values = {
            actuator: {name: row[place] for name, place in places.items()}
            for actuator, places in self._places.items()
        }
        time, index = block.time + rows * self._step, block.index + rows * self._every
        content: dict[str, Any] = {"time": time, "index": index, "utc": utc}
        if self._headlines is not None:
            found, newest = self._headlines, block.values[-1]
            found.set_paused(paused)
            content["headline"] = {name: found.read(name, newest, self._window) for name in found.names}
        return encode({**content, "values": values})


def meta(stream: ResultStream, lab: str, window: float) -> bytes:
    """Return the description of a stream of results."""
    return encode(
        {
            "lab": lab,
            "rig": stream.rig,
            "epoch": stream.epoch,
            "sample_rate": stream.sample_rate,
            "every": stream.every,
            "window": window,
            "actuators": list(dict.fromkeys(column.actuator for column in stream.columns)),
            "columns": [asdict(column) for column in stream.columns],
            "version": __version__,
            "utc": now(),
        }
    )


def status(value: str, **more: str) -> bytes:
    """Return the status, ``online`` or ``offline``, with its reason or state."""
    return encode({"status": value, **more, "version": __version__, "utc": now()})


def will() -> bytes:
    """Return the last will, which the broker publishes when the connection is lost; its time is unknown."""
    return encode({"status": "offline", "reason": "lost", "version": __version__})


def event(event: Event) -> bytes:
    """Return an event, with the time of publication; an empty detail is replaced by the text of its kind."""
    content = {**asdict(event), "detail": event.detail or kind_text(event), "utc": now()}
    return encode({name: value for name, value in content.items() if value is not None})


def alarm(alarm: Alarm, transition: Transition | None = None) -> bytes:
    """Return an alarm after `transition`; without one, a refresh of its state."""
    if transition is not None:
        # of several transitions at once each is published with the state that it led to
        active = _ACTIVE.get(transition.action, alarm.active)
        state, at, index = transition.state, transition.time, transition.index
        alarm = structs.replace(alarm, state=state, active=active, time=at, index=index)
        if transition.action in (AlarmAction.LOSE_VALUE, AlarmAction.REGAIN_VALUE):
            reason = transition.not_judged
            alarm = structs.replace(alarm, not_judged=reason, last=None if reason else alarm.last)
    derived = {"standing": alarm.is_annunciated, "needs_acknowledgement": alarm.needs_acknowledgement}
    step = None if transition is None else asdict(transition)
    told = {"transition": step, "utc": now(), "refresh": transition is None}
    return encode({**structs.asdict(alarm), **derived, **told})


def as_refresh(payload: bytes) -> bytes:
    """Return an alarm's message as a refresh: nothing has happened since."""
    return payload.removesuffix(_NOT_REFRESH) + _REFRESH if payload.endswith(_NOT_REFRESH) else payload


_EMPTY = np.empty(0)


@dataclass(frozen=True, slots=True)
class RecordingResult:
    """Outcome of a recording, ``clean``, ``lossy`` or ``truncated``, and its samples recorded and not recorded."""

    outcome: str
    recorded: int
    unrecorded: int


class Summary:
    """Summary of a run: newest headline, and largest absolute values without the reliabilities of models."""

    def __init__(self) -> None:
        self._stream: ResultStream | None = None
        self._columns = np.empty(0, dtype=np.intp)
        self._worst, self._when = _EMPTY, _EMPTY
        self._headlines: HeadlineReader | None = None
        self._last: dict[str, tuple[Samples, float]] = {}

    def update(self, block: ResultBlock, paused: tuple[str, ...] = ()) -> None:
        """Update with a block of results; `paused` as of `HeadlineReader`."""
        if block.stream is not self._stream:
            self._begin(block.stream)
        if self._headlines is not None:
            self._headlines.set_paused(paused)
        if not len(block) or not len(self._columns):
            return
        self._update_last(block)
        sizes = np.abs(block.values[:, self._columns])
        peaks = np.fmax.reduce(sizes, axis=0)
        # a comparison with NaN is False
        larger = np.flatnonzero(peaks > self._worst)
        if len(larger):
            self._worst[larger] = peaks[larger]
            at = np.nanargmax(sizes[:, larger], axis=0)
            self._when[larger] = block.time + at * (block.stream.every / block.stream.sample_rate)

    def _update_last(self, block: ResultBlock) -> None:
        """Store the newest row with a delay, of each actuator."""
        if self._headlines is None:
            return
        known = np.isfinite(block.values[:, self._headlines.delays])
        newest = len(block) - 1 - np.argmax(known[::-1], axis=0)
        step = block.stream.every / block.stream.sample_rate
        for place in np.flatnonzero(np.any(known, axis=0)).tolist():
            row = int(newest[place])
            self._last[self._headlines.names[place]] = block.values[row], block.time + row * step

    def _begin(self, stream: ResultStream) -> None:
        self._stream = stream
        self._headlines, self._last = HeadlineReader(stream), {}
        columns = [
            place
            for place, column in enumerate(stream.columns)
            if not is_reliability(column.name) and column.unit != CODE_UNIT
        ]
        self._columns = np.array(columns, dtype=np.intp)
        self._worst, self._when = np.full(len(columns), -1.0), np.zeros(len(columns))

    def message(self, health: Health, alarms: Sequence[Alarm], recorded: RecordingResult | None = None) -> bytes:
        """Return the payload; the outcome is empty until the recording has ended."""
        result = recorded or RecordingResult("", health.recorded, health.unrecorded)
        return encode(
            {
                "state": health.state,
                "headline": self._newest(health.window),
                "counts": asdict(health.counts),
                "worst": self._worst_values(),
                "alarms": alarm_counts(alarms),
                "recording": {"path": health.recording, **asdict(result)} if health.recording else None,
                "utc": now(),
            }
        )

    def _newest(self, window: float) -> dict[str, Any]:
        if self._headlines is None:
            return {}
        read = self._headlines.read
        return {name: {**read(name, row, window), "time": time} for name, (row, time) in self._last.items()}

    def _worst_values(self) -> list[dict[str, Any]]:
        if self._stream is None:
            return []
        columns = [self._stream.columns[place] for place in self._columns]
        known = zip(columns, self._worst.tolist(), self._when.tolist(), strict=True)
        return [
            {"name": column.name, "actuator": column.actuator, "unit": column.unit, "value": value, "time": time}
            for column, value, time in known
            if value >= 0.0
        ]
