"""Messages with lists of numbers: consecutive samples, as in the plain form of the wire, or one number a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.attributes import read_sampling
from replay.formats.base import RecordingError
from replay.formats.columns import TableColumn, words

_BOOKKEEPING = words("index epoch last sequence seq")
_EVEN = 0.02  # of a message's length
Flat = dict[str, float | list[float]]


@dataclass(frozen=True, eq=False)
class Expanded:
    """Samples of messages.

    Parameters
    ----------
    columns : by name, each (n_samples,).
    times : (n_samples,), s; None where the messages have none.
    rate : Hz, where the messages give one.
    notes : what was taken for granted.
    """

    columns: dict[str, Samples]
    times: Samples | None
    rate: float | None
    notes: tuple[str, ...] = field(default=())


def flattened(message: Mapping[str, Any]) -> Flat:
    """Return the numbers, and the lists of numbers, of a message by their paths; null is a missing one."""
    found: Flat = {}

    def walk(name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                walk(f"{name}.{key}" if name else key, item)
        elif isinstance(value, list) and all(each is None or isinstance(each, int | float) for each in value):
            found[name] = [float("nan") if each is None else float(each) for each in value]
        elif isinstance(value, list) and all(isinstance(each, list) and len(each) == len(value[0]) for each in value):
            # rows of samples
            for number, cells in enumerate(zip(*value, strict=True), 1):
                walk(f"{name}_{number}", list(cells))
        elif isinstance(value, int | float):
            found[name] = float(value)

    walk("", message)
    return found


def expanded(messages: Sequence[Flat], stamps: Sequence[float] | None = None) -> Expanded | None:
    """Return the samples of messages whose lists are blocks of samples; None where they are channels, or none.

    They are samples where their lengths differ, where the command and the measured signal are lists, or a time for
    each is, or where the messages follow at the time that a list of samples takes at the rate that they give.

    Parameters
    ----------
    messages : flattened.
    stamps : s, of each message, where it has no time in it.

    Raises
    ------
    RecordingError : lists of a message are not equally long; one line without the file's name.
    """
    names = dict.fromkeys(name for message in messages for name, value in message.items() if isinstance(value, list))
    if not names:
        return None
    sizes = [max((len(value) for value in m.values() if isinstance(value, list)), default=0) for m in messages]
    first = next((message for message in messages if message), {})
    clock = next((n for m in messages for n in m if TableColumn(0, n.rsplit(".", 1)[-1], "", "").is_time), None)
    numbers = {n: v for m in reversed(messages) for n, v in m.items() if not isinstance(v, list) and n != clock}
    rate = read_sampling({n.replace(".", "/"): v for n, v in numbers.items()}).rate
    at = [message.get(clock, float("nan")) for message in messages] if clock else list(stamps or ())
    if not _are_samples(names, sizes, clock, at, rate):
        return None
    for number, message in enumerate(messages, 1):
        lengths = {len(value) for value in message.values() if isinstance(value, list)} - {0}
        if len(lengths) > 1:
            raise RecordingError(f"the lists of message {number} have {min(lengths)} to {max(lengths)} numbers")
    columns = {}
    others = dict.fromkeys(n for m in messages for n in m if n not in names and n not in _BOOKKEEPING and n != clock)
    held = [name for name in others if read_sampling({name: 1.0}).rate is None]
    for name in (*(n for n in names if n != clock), *held):
        parts = [_part(message.get(name), size) for message, size in zip(messages, sizes, strict=True)]
        columns[name] = np.concatenate([np.empty(0), *parts])
    notes = [
        f"lists of up to {max(sizes)} numbers are consecutive samples: {', '.join(n for n in names if n != clock)}"
    ]
    if held:
        notes.append(f"one number for all samples of a message: {', '.join(held)}")
    times, estimated = _times(first, messages, sizes, at, rate)
    if estimated:
        notes.append(estimated)
    return Expanded(columns, times, rate, tuple(notes))


def _are_samples(
    names: Mapping[str, None], sizes: Sequence[int], clock: str | None, at: Sequence[Any], rate: float | None
) -> bool:
    lengths = set(sizes) - {0}
    tops = {name.partition(".")[0] for name in names}
    if len(lengths) > 1 or clock in names or {"command", "measured"} <= tops:
        return True
    if rate is None or not lengths or len(at) < 2:
        return False
    step = float(np.median(np.diff(np.array(at, dtype=float))))
    usual = float(np.median([size for size in sizes if size]))
    return usual > 1 and abs(step * rate - usual) <= _EVEN * usual


def _part(value: float | list[float] | None, size: int) -> Samples:
    if isinstance(value, list):
        return np.array(value or [np.nan] * size, dtype=np.float64)
    return np.full(size, np.nan if value is None else value)


def _times(
    first: Flat, messages: Sequence[Flat], sizes: Sequence[int], at: Sequence[Any], rate: float | None
) -> tuple[Samples | None, str]:
    """Return the time of each sample, s, and a note on what was estimated."""
    index = [message.get("index") for message in messages]
    if not at and rate is not None and isinstance(first.get("index"), float) and all(i is not None for i in index):
        numbers = [float(i) + np.arange(size) for i, size in zip(index, sizes, strict=True) if isinstance(i, float)]
        return np.concatenate(numbers) / rate, ""
    if not at:
        return None, ""
    if any(isinstance(each, list) for each in at):
        return np.concatenate([np.atleast_1d(np.array(each, dtype=float)) for each in at]), ""
    starts = np.array(at, dtype=float)
    note = ""
    if rate is None:
        rate = sum(sizes[:-1]) / float(starts[-1] - starts[0]) if starts[-1] > starts[0] else 1.0
        note = f"the messages give no rate: {rate:.6g} Hz by their times and lengths"
    return np.concatenate([begin + np.arange(size) / rate for begin, size in zip(starts, sizes, strict=True)]), note
