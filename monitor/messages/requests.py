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
"""Bytes that a note may have in UTF-8: what the run file keeps of it."""

_MAX_REASON = 240
_MOST_SHOWN = 60

Name = Annotated[str, msgspec.Meta(max_length=320)]
Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


class RequestError(ValueError):
    """A request is refused; the text is one line that says why, `number` the request's own, 0 if it has none."""

    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.number = number


class _Numbered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="request", forbid_unknown_fields=True
):
    id: Number = 0


class NoteRequest(_Numbered, frozen=True, tag="note"):
    """Keep a text beside the stream, where it is at this moment or at an instant that is named.

    Parameters
    ----------
    text : becomes one line without control characters.
    time : s, on the rig's clock; None: of the newest sample.
    index : of the sample; None: of the newest.
    id : chosen by the client, repeated in the answer.

    Raises
    ------
    ValueError : nothing is left of the text, it has more than `MAX_NOTE` bytes, or the time is not finite.
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
            raise ValueError(f"a note of {size} bytes: at most {MAX_NOTE} are kept, shorten it")
        if self.time is not None and not math.isfinite(self.time):
            raise ValueError(f"a note at {self.time} s: the time must be finite")
        msgspec.structs.force_setattr(self, "text", text)


class _OfAlarm(_Numbered, frozen=True, kw_only=True):
    alarm: Name
    by: Name = ""

    def __post_init__(self) -> None:
        for text in (self.alarm, self.by):
            if not text.isprintable():
                raise ValueError(f"a name that cannot be printed: {ascii(text)[:_MOST_SHOWN]}")


class AcknowledgeRequest(_OfAlarm, frozen=True, kw_only=True, tag="acknowledge"):
    """Take note of an alarm, by its name; of all of them without one. ``by`` is who says so."""

    alarm: Name = ""


class ResetRequest(_OfAlarm, frozen=True, kw_only=True, tag="reset"):
    """Let a latched alarm go whose condition has gone, by its name; all of them without one."""

    alarm: Name = ""


class ShelveRequest(_OfAlarm, frozen=True, kw_only=True, tag="shelve"):
    """Put an alarm aside for so many seconds; 0 takes it out again."""

    seconds: Annotated[float, msgspec.Meta(ge=0.0, le=86400.0)]


AlarmRequest = AcknowledgeRequest | ResetRequest | ShelveRequest

_Positive = Annotated[float, msgspec.Meta(gt=0.0)]
_NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]


class PauseRequest(_Numbered, frozen=True, tag="pause"):
    """Pause a replay."""


class ResumeRequest(_Numbered, frozen=True, tag="resume"):
    """Resume a replay that is paused."""


class StepRequest(_Numbered, frozen=True, kw_only=True, tag="step"):
    """Send the samples of the next so many seconds, then pause."""

    seconds: _Positive


class SeekRequest(_Numbered, frozen=True, kw_only=True, tag="seek"):
    """Go to a position, s after the recording's first sample; the `lead` s before it are sent at once."""

    seconds: _NotNegative
    lead: _NotNegative = 0.0


class SpeedRequest(_Numbered, frozen=True, kw_only=True, tag="speed"):
    """Play so many times as fast as it was recorded, or as fast as possible."""

    speed: _Positive | Literal["max"]


class FaultsRequest(_Numbered, frozen=True, kw_only=True, tag="faults"):
    """Inject these faults from now on, written as for ``replay --faults``; their times count from now."""

    text: str


class LoopRequest(_Numbered, frozen=True, kw_only=True, tag="loop"):
    """Begin again at the end, or stop there."""

    loop: bool


class StateRequest(_Numbered, frozen=True, tag="state"):
    """Ask where a replay is; every answer of a replay says so."""


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
Request = NoteRequest | AlarmRequest | ReplayRequest


class PlayerState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a replay.

    Parameters
    ----------
    position, duration : s after the recording's first sample.
    sample_rate : Hz.
    playing : time runs.
    ended : the last sample is sent; a seek goes on from there.
    speed : times real time, or as fast as possible.
    loop : it begins again at the end.
    faults : those that are injected, as they were written.
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
    """Return what a client asks; raises `RequestError` for anything that is not as docs/wire-format.md says."""
    number = 0
    if len(payload) > MAX_REQUEST:
        raise RequestError(f"a request of {len(payload)} bytes; the limit is {MAX_REQUEST}")
    try:
        # by itself, so that a request of a later version is refused under its number
        number = _envelopes.decode(payload).id
        return _requests.decode(payload)
    except _UNREADABLE as problem:
        # what a struct itself refuses says enough, what the decoder says needs an introduction
        said = problem.__cause__ or f"the request cannot be read: {problem}"
        raise RequestError(_one_line(str(said))[:_MAX_REASON], number) from problem


def decode_answer(payload: bytes) -> Answer:
    """Return what a service or a replay answers; raises `RequestError` for anything else."""
    try:
        return _answers.decode(payload)
    except _UNREADABLE as problem:
        raise RequestError("the answer cannot be read") from problem


def _one_line(text: str) -> str:
    seen = (c if c.isprintable() else " " if c.isspace() else "" for c in text)
    return " ".join("".join(seen).split())
