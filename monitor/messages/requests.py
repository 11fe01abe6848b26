"""Requests to a running service or to a replay, and their answers: values and their JSON form.

docs/wire-format.md is the contract. Every request is a struct with a tag of its own, in the union `Request`.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec

MAX_REQUEST = 1 << 14
"""Bytes that a request may have."""

MAX_NOTE = 200
"""Bytes that a note may have in UTF-8: what the run file stores."""

MAX_NEW_LIMITS = 128
"""Alarms whose limits one request may change."""

_MAX_REASON = 240
_MOST_SHOWN = 60

MAX_NAME = 320
"""Characters of a name."""

Name = Annotated[str, msgspec.Meta(max_length=MAX_NAME)]
Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class RequestError(ValueError):
    """A request is refused; the text is the reason in one line, `number` the request's id, 0 if it has none."""

    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.number = number


class _Numbered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="request", forbid_unknown_fields=True
):
    id: Number = 0


class NoteRequest(_Numbered, frozen=True, tag="note"):
    """Add a note to the stream, at the newest sample or at a given instant.

    Parameters
    ----------
    text : becomes one line without control characters.
    time : s, on the rig's clock; None: of the newest sample.
    index : of the sample; None: of the newest.
    id : chosen by the client, repeated in the answer.

    Raises
    ------
    ValueError : the text is empty or has more than `MAX_NOTE` bytes, or the time is not finite.
    """

    text: str
    time: float | None = None
    index: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)] | None = None

    def __post_init__(self) -> None:
        text = _one_line(self.text)
        size = len(text.encode())
        if not text:
            raise ValueError("a note needs a text")
        if size > MAX_NOTE:
            raise ValueError(f"a note of {size} bytes: at most {MAX_NOTE} are stored, shorten it")
        if self.time is not None and not math.isfinite(self.time):
            raise ValueError(f"a note at {self.time} s: the time must be finite")
        msgspec.structs.force_setattr(self, "text", text)


class _OfAlarm(_Numbered, frozen=True, kw_only=True):
    alarm: Name
    by: Name = ""

    def __post_init__(self) -> None:
        for text in (self.alarm, self.by):
            _check_printable(text)


class AcknowledgeRequest(_OfAlarm, frozen=True, kw_only=True, tag="acknowledge"):
    """Acknowledge an alarm, by its name; all of them without one. ``by`` is the operator."""

    alarm: Name = ""


class ResetRequest(_OfAlarm, frozen=True, kw_only=True, tag="reset"):
    """Reset a latched alarm whose condition has cleared, by its name; all of them without one."""

    alarm: Name = ""


class ShelveRequest(_OfAlarm, frozen=True, kw_only=True, tag="shelve"):
    """Shelve an alarm for a number of seconds; 0 unshelves it."""

    seconds: Annotated[float, msgspec.Meta(ge=0.0, le=86400.0)]


AlarmRequest = AcknowledgeRequest | ResetRequest | ShelveRequest


class NewLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """New normal range of an alarm, in its unit; None: open to that side.

    Raises
    ------
    ValueError : the name is not printable, a limit is not finite, there is none, or the range is empty.
    """

    alarm: Name
    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        _check_printable(self.alarm)
        given = [limit for limit in (self.low, self.high) if limit is not None]
        if not given:
            raise ValueError(f"{self.alarm}: it needs a limit, low or high")
        if not all(map(math.isfinite, given)):
            raise ValueError(f"{self.alarm}: limits must be finite")
        if given != sorted(given):
            raise ValueError(f"{self.alarm}: low {self.low:g} is above high {self.high:g}")


class SetLimitsRequest(_Numbered, frozen=True, kw_only=True, tag="set_limits"):
    """Change the limits of alarms, all of them or none; ``by`` is the operator."""

    limits: Annotated[tuple[NewLimits, ...], msgspec.Meta(min_length=1, max_length=MAX_NEW_LIMITS)]
    by: Name = ""

    def __post_init__(self) -> None:
        _check_printable(self.by)
        names = [each.alarm for each in self.limits]
        if len(set(names)) < len(names):
            raise ValueError("limits: an alarm is listed twice")


_Positive = Annotated[float, msgspec.Meta(gt=0.0)]
_NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]


class PauseRequest(_Numbered, frozen=True, tag="pause"):
    """Pause a replay."""


class ResumeRequest(_Numbered, frozen=True, tag="resume"):
    """Resume a replay that is paused."""


class StepRequest(_Numbered, frozen=True, kw_only=True, tag="step"):
    """Send the samples of the next `seconds`, then pause."""

    seconds: _Positive


class SeekRequest(_Numbered, frozen=True, kw_only=True, tag="seek"):
    """Seek to a position, s after the recording's first sample; the `lead` s before it are sent at once."""

    seconds: _NotNegative
    lead: _NotNegative = 0.0


class SpeedRequest(_Numbered, frozen=True, kw_only=True, tag="speed"):
    """Play at a multiple of real time, or as fast as possible."""

    speed: _Positive | Literal["max"]


class FaultsRequest(_Numbered, frozen=True, kw_only=True, tag="faults"):
    """Inject faults from now on, in the syntax of ``replay --faults``; their times count from now."""

    text: str


class LoopRequest(_Numbered, frozen=True, kw_only=True, tag="loop"):
    """Repeat from the start at the end, or stop there."""

    loop: bool


class StateRequest(_Numbered, frozen=True, tag="state"):
    """Ask for the state of a replay, which every answer of a replay contains."""


ReplayRequest = (
    PauseRequest
    | ResumeRequest
    | StepRequest
    | SeekRequest
    | SpeedRequest
    | FaultsRequest
    | LoopRequest
    | StateRequest
)
Request = NoteRequest | AlarmRequest | SetLimitsRequest | ReplayRequest


class PlayerState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a replay.

    Parameters
    ----------
    position, duration : s after the recording's first sample.
    sample_rate : Hz.
    playing : time runs.
    ended : the last sample is sent; a seek continues.
    speed : times real time, or as fast as possible.
    loop : it repeats.
    faults : injected faults, as requested.
    epoch : of the stream that is sent.
    sent : samples so far.
    subscribed : a monitor is connected.
    """

    position: float = 0.0
    duration: float = 0.0
    sample_rate: float = 0.0
    playing: bool = False
    ended: bool = False
    speed: float | Literal["max"] = 1.0
    loop: bool = False
    faults: str = ""
    epoch: int = 0
    sent: int = 0
    subscribed: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a request: carried out, or refused for a reason that is one line; `state` is that of a replay."""

    ok: bool
    reason: str = ""
    id: Number = 0
    state: PlayerState | None = None


class _Envelope(msgspec.Struct, frozen=True):
    request: str
    id: Number = 0


_envelopes = msgspec.json.Decoder(_Envelope)
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_answers = msgspec.json.Decoder(Answer)
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def encode(message: Request | Answer) -> bytes:
    """Return the JSON form."""
    return msgspec.json.encode(message)


def decode_request(payload: bytes) -> Request:
    """Return the decoded request; raises `RequestError` for anything that docs/wire-format.md does not define."""
    number = 0
    if len(payload) > MAX_REQUEST:
        raise RequestError(f"a request of {len(payload)} bytes; the limit is {MAX_REQUEST}")
    try:
        # decoded separately, so that a request of a later version is refused with its id
        number = _envelopes.decode(payload).id
        return _requests.decode(payload)
    except _UNREADABLE as problem:
        # errors of a struct are complete sentences, those of the decoder are not
        reason = problem.__cause__ or f"the request cannot be read: {problem}"
        raise RequestError(_one_line(str(reason))[:_MAX_REASON], number) from problem


def decode_answer(payload: bytes) -> Answer:
    """Return the decoded answer of a service or a replay; raises `RequestError` for anything else."""
    try:
        return _answers.decode(payload)
    except _UNREADABLE as problem:
        raise RequestError("the answer cannot be read") from problem


def _check_printable(name: str) -> None:
    if not name.isprintable():
        raise ValueError(f"a name that cannot be printed: {ascii(name)[:_MOST_SHOWN]}")


def _one_line(text: str) -> str:
    printable = (c if c.isprintable() else " " if c.isspace() else "" for c in text)
    return " ".join("".join(printable).split())
