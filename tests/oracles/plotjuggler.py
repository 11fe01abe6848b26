"""What PlotJuggler makes of messages: its ZeroMQ subscriber and JSON parser (3.10 and later), rule by rule.

DataStreamZMQ::receiveLoop: an empty frame is skipped, wherever it stands; a frame that more follow is the topic,
the next the payload, the third the time, by std::stod and outside of any try, so that a bad one ends the program.
NlohmannParser::parseMessageImpl: empty values (null, {}, []) are passed over, keys are joined by slashes, booleans
and numbers become points, texts nothing; what nlohmann::json::parse throws drops the message without a word. With a
number as `timestamp` at the top, and where the user ticks that, it takes the place of the time.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

# the longest beginning that strtod reads; nan and inf belong to it
_STOD = re.compile(r"\s*[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE)


class EndedError(Exception):
    """PlotJuggler itself is over: an exception that nobody catches."""


class DroppedError(Exception):
    """The message is lost, and nobody is told."""


class PlotJuggler:
    """Curves by name, each a list of (time, value)."""

    def __init__(self) -> None:
        self.curves: dict[str, list[tuple[float, float]]] = {}
        self.types: dict[str, type] = {}

    def take(self, frames: Sequence[bytes]) -> None:
        """Take a message; raises `DroppedError` or `EndedError`."""
        if not all(frames):
            raise EndedError("an empty frame shifts what follows by one")
        if len(frames) != 3:
            raise DroppedError(f"{len(frames)} frames: the time would be that of the arrival")
        topic, payload, when = frames
        value = _parse(payload)
        if isinstance(value, dict) and isinstance(value.get("timestamp"), int | float):
            raise DroppedError("a number called timestamp may be taken for the time")
        self._flatten(topic.decode(), value, _stod(when))

    def _flatten(self, prefix: str, value: object, when: float) -> None:
        if value is None or value == {} or value == []:
            return
        if isinstance(value, dict):
            for key, within in value.items():
                self._flatten(f"{prefix}/{key}", within, when)
        elif isinstance(value, list):
            for position, within in enumerate(value):
                self._flatten(f"{prefix}[{position}]", within, when)
        elif isinstance(value, bool | int | float):
            kind = self.types.setdefault(prefix, type(value))
            if kind is not type(value):
                raise DroppedError(f"{prefix} was {kind.__name__}, now {type(value).__name__}")
            self.curves.setdefault(prefix, []).append((when, float(value)))


def _stod(text: bytes) -> float:
    found = _STOD.match(text.decode("latin-1"))
    if found is None:
        raise EndedError(f"std::stod: {text!r}")
    value = float(found[0])
    if math.isinf(value) and "inf" not in found[0].lower():
        raise EndedError(f"std::stod: {text!r} is out of range")
    return value


def _parse(payload: bytes) -> object:
    """Read as nlohmann does: UTF-8 without mistake, no NaN, no infinity, no surrogate alone."""
    try:
        value = json.loads(
            payload.decode("utf-8"), parse_constant=_refuse, parse_float=_float, object_pairs_hook=_map
        )
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        raise DroppedError(str(problem)) from problem
    return value


def _map(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; of a key that comes twice nlohmann keeps one, and the other value is lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is out of range")
    return value


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no JSON")
