"""What the health strip says: short pieces of text, and which of them stay where there is little room."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gui.model.alarms import AlarmSummary
from gui.model.history import History
from gui.model.service_state import ServiceState
from gui.wording.level import Level
from gui.wording.numbers import bytes_text, count, duration_text
from monitor.messages.health import LONGEST_UNWRITTEN, Health

_SHORT, _VERY_SHORT = 3600.0, 600.0  # s of disk left
_LITTLE = 1 << 30  # bytes left, where it is not known how long they last
_TIMES = 24  # bytes of time, epoch and index that go with a row of a run file


@dataclass(frozen=True, slots=True)
class HealthItem:
    """One piece of the strip.

    Parameters
    ----------
    key : what it is of.
    text : where there is room.
    tip : all of it.
    level : what is no trouble has none.
    rank : those with the largest give way first; 0 never does.
    brief : where there is less room; by default the same.
    """

    key: str
    text: str
    tip: str
    level: Level = Level.NONE
    rank: int = 1
    brief: str = ""


LEFT_OUT = {"viewers": "feeds of other programs", "results": "a part of what is published"}


def health_items(history: History, dropped: int = 0) -> tuple[HealthItem, ...]:
    """Return what there is to say of a service and of this window, in the order of the strip.

    Parameters
    ----------
    history : of the service.
    dropped : samples that this window was too late to take.
    """
    health = history.health
    if health is None:
        return (_state(history.state, Health()),)
    return tuple(_items(history, health, history.state, dropped))


def _items(history: History, health: Health, state: ServiceState, dropped: int) -> Iterator[HealthItem]:
    yield _state(state, health)
    if history.alarms:
        yield _alarms(history.summary)
    if health.rig:
        yield HealthItem("rig", f"rig {health.rig}", f"the rig calls itself {health.rig}", rank=6)
    if health.sample_rate:
        said, measured = f"{health.sample_rate:.5g} Hz", f"{health.measured_rate:.5g} Hz actual"
        tip = f"the rig says {said}; {health.measured_rate:.5g} samples a second came lately"
        yield HealthItem("rate", f"{said} nominal, {measured}", tip, rank=5, brief=measured)
        if state.key not in ("ended", "halted"):
            # the service tells its age now and then, the results theirs by coming
            age = min(health.age + history.silence, history.age)
            yield HealthItem("age", f"data {age:.1f} s old", "since samples or results last came", rank=3)
    yield from _troubles(health)
    if dropped:
        tip = f"{count(dropped)} samples came while this window was busy: its curves have gaps, the recording has not"
        yield HealthItem("dropped", f"▲ window dropped {count(dropped)}", tip, Level.WARN, 2)
    if health.shed:
        left_out = ", ".join(LEFT_OUT.get(each, each) for each in health.shed)
        tip = f"the service cannot follow the rig, and leaves out {left_out}; everything is recorded"
        yield HealthItem("overload", f"▲ overloaded, {health.lag:.1f} s behind", tip, Level.WARN, 1)
    if health.latency:
        tip = "the longest that results took lately, from the arrival of their samples to the way out"
        yield HealthItem("latency", f"latency {1e3 * health.latency:.1f} ms", tip, rank=7)
    yield from _recording(history, health)


def _state(state: ServiceState, health: Health) -> HealthItem:
    counts = health.counts
    told = (
        f"received {count(counts.received)} samples",
        f"{count(counts.gaps)} gaps",
        f"{count(counts.clock_jumps)} jumps of the clock",
        f"{count(counts.reconnects)} new connections",
    )
    words = f"{state.shape} {state.words}"
    return HealthItem("state", words, f"{state.words}: {', '.join(told)}", state.level, 0)


def _alarms(found: AlarmSummary) -> HealthItem:
    tip = f"{found.watched} alarms, {found.unacknowledged} unacknowledged, {found.shelved} shelved; no interlock"
    if not found.stands:
        return HealthItem("alarms", "no alarm", tip, rank=6)
    return HealthItem("alarms", found.words, tip, found.level, 0)


def _troubles(health: Health) -> Iterator[HealthItem]:
    counts = health.counts
    for key, number, meaning, rank in (
        ("lost", counts.lost, "samples that never came", 8),
        ("duplicates", counts.duplicates, "samples that came twice; left out", 9),
        ("out of order", counts.reordered, "samples out of order; left out", 10),
        ("restarts", counts.restarts, "times that the rig started again", 9),
        ("rejected", counts.rejected, "malformed messages", 9),
    ):
        if number:
            yield HealthItem(key, f"▲ {key} {count(number)}", f"{count(number)} {meaning}", Level.WARN, 2)
        else:
            yield HealthItem(key, f"{key} 0", f"no {meaning}", rank=rank)


def _recording(history: History, health: Health) -> Iterator[HealthItem]:
    if not health.recording:
        yield HealthItem("recording", "○ not recording", "the service keeps nothing of this run", Level.WARN, 1)
        return
    name = health.recording.replace("\\", "/").rpartition("/")[2]
    if history.state.key == "silent":
        # of a service that says nothing nobody knows whether it still records
        tip = f"{health.recording} was being recorded when the service was last heard"
        yield HealthItem("recording", f"▲ recording {name}: not known", tip, Level.BAD, 1, "▲ recording not known")
        return
    safe = f"{count(health.recorded)} samples safe"
    lasted = duration_text(health.recorded / health.sample_rate) if health.sample_rate else safe
    yield HealthItem(
        "recording",
        f"● recording {name}: {lasted}, {safe}" if lasted != safe else f"● recording {name}: {safe}",
        f"{health.recording}: {safe} on disk",
        Level.GOOD,
        1,
        f"● recording {lasted}",
    )
    if health.unwritten_age > LONGEST_UNWRITTEN:
        late = duration_text(health.unwritten_age)
        yield HealthItem("late", f"▲ disk {late} behind", "that much waits for the disk", Level.WARN, 0)
    if health.unrecorded:
        lost = count(health.unrecorded)
        yield HealthItem("unrecorded", f"■ not recorded {lost}", f"{lost} samples are not in the file", Level.BAD, 0)
    if health.disk_free >= 0:
        yield _disk(history, health)


def _disk(history: History, health: Health) -> HealthItem:
    left = disk_seconds(history, health)
    free = bytes_text(health.disk_free)
    short = left < _SHORT if math.isfinite(left) else health.disk_free < _LITTLE
    grave = left < _VERY_SHORT or health.disk_free == 0
    level = Level.BAD if grave else Level.WARN if short else Level.NONE
    shape = {Level.BAD: "■ ", Level.WARN: "▲ "}.get(level, "")
    lasts = f"{duration_text(left)} left" if math.isfinite(left) else ""
    text = f"{shape}disk {free}" + (f", {lasts}" if lasts else " left")
    tip = f"{free} left on the disk of the recording" + (f": {duration_text(left)} at this rate" if lasts else "")
    return HealthItem("disk", text, tip, level, 1 if short or grave else 4, f"{shape}disk {lasts or free}")


def disk_seconds(history: History, health: Health) -> float:
    """Return how long the disk lasts, s; infinite where it is not known what is written."""
    if history.signals is None or not health.sample_rate:
        return math.inf
    rate = health.sample_rate * (8 * len(history.signals.channels) + _TIMES)
    if history.results is not None:
        stream = history.results.stream
        rate += health.sample_rate / stream.every * (8 * len(stream.columns) + _TIMES)
    return health.disk_free / rate


def fit(
    items: Sequence[HealthItem], width: float, measure: Callable[[str], float], gap: float
) -> tuple[tuple[HealthItem, str], ...]:
    """Return the items that have room in `width`, each with the text that has.

    First all are short and those with the largest rank go; then those with the smallest rank are told in full.
    """
    shown = list(items)
    texts = {item.key: item.brief or item.text for item in items}

    def needed() -> float:
        return sum(measure(texts[item.key]) for item in shown) + gap * max(0, len(shown) - 1)

    while needed() > width and any(item.rank for item in shown):
        # of those that are worth the same, the last
        shown.remove(max(reversed(shown), key=lambda item: item.rank))
    for item in sorted(shown, key=lambda item: item.rank):
        texts[item.key] = item.text
        if needed() > width:
            texts[item.key] = item.brief or item.text
    return tuple((item, texts[item.key]) for item in shown)
