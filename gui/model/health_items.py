"""Health of a service as short texts with priorities, for the health strip of the window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gui.model.alarms import AlarmSummary
from gui.model.history import History
from gui.model.loaded_recording import LoadedRecording
from gui.model.service_state import RECORDED, ServiceState
from gui.wording.event_text import NOT_JUDGED_SHAPE
from gui.wording.level import Level
from monitor.messages.health import LONGEST_UNWRITTEN, Health
from monitor.text.numbers import bytes_text, count, duration_text, instant_text, percent

_LOW, _VERY_LOW = 3600.0, 600.0  # s of disk space left
_LOW_BYTES = 1 << 30  # where it is not known how long they last
_MINUTES = 600.0  # s from which a length is in minutes
_RATE_TOLERANCE = 0.1  # of the nominal rate
_LATENCY = 0.1  # s that nobody notices
_ROW_OVERHEAD = 24  # bytes of time, epoch and index of a row in a run file


@dataclass(frozen=True, slots=True)
class HealthItem:
    """One item of the health strip.

    Parameters
    ----------
    key : unique.
    text : shown.
    tip : details.
    level : importance; none for what is normal.
    rank : items with the largest are hidden first; 0 is always shown.
    brief : shorter text; by default the same.
    """

    key: str
    text: str
    tip: str
    level: Level = Level.NONE
    rank: int = 1
    brief: str = ""


_SHED = {"viewers": "feeds of third-party viewers", "results": "some rows of results"}


def health_items(history: History, dropped: int = 0, loading: float | None = None) -> tuple[HealthItem, ...]:
    """Return the items for a service and this window, from left to right.

    Parameters
    ----------
    history : of the service.
    dropped : samples that this window has dropped.
    loading : share of the samples from before this window connected that are read; None: none are being read.
    """
    if history.recording is not None:
        return tuple(_recording_items(history, history.recording))
    health = history.health
    if health is None:
        return (_state(history.state, Health()),)
    items = list(_items(history, health, history.state, dropped))
    if loading is not None:
        tip = "samples from before this window connected are read from the run file"
        items.insert(1, HealthItem("loading", f"loading earlier samples {percent(loading)}", tip, Level.INFO, 2))
    return tuple(items)


def _recording_items(history: History, recording: LoadedRecording) -> Iterator[HealthItem]:
    header, signals = recording.header, history.signals
    seconds = header.duration
    length = f"{seconds:.4g} s" if seconds < _MINUTES else duration_text(seconds)
    words = ", ".join(filter(None, (f"{RECORDED.shape} Recording {recording.name}", length, recording.coarse)))
    yield HealthItem("state", words, f"recording {recording.path}", RECORDED.level, 0, f"{RECORDED.shape} Recording")
    if history.computed is not None:
        task, share = history.computed
        text = task if math.isnan(share) else f"{task} {percent(share)}"
        yield HealthItem("loading", text, "indicators are computed while the signals are shown", Level.INFO, 2)
    if signals is not None:
        yield HealthItem("rate", f"{signals.sample_rate:.5g} Hz", "sample rate", rank=4)
        if signals.stream.rig not in recording.name:
            yield HealthItem("rig", f"rig {signals.stream.rig}", f"name of the rig: {signals.stream.rig}", rank=6)
    yield HealthItem("samples", f"{count(header.n_samples)} samples", "samples in the file", rank=5)
    if history.results is not None:
        yield HealthItem("window", f"window {header.window:.4g} s", "window of the indicators", rank=3)
    if header.notes:
        n = len(header.notes)
        yield HealthItem("notes", f"{n} {'remark' if n == 1 else 'remarks'}", "; ".join(header.notes), rank=7)


def _items(history: History, health: Health, state: ServiceState, dropped: int) -> Iterator[HealthItem]:
    yield _state(state, health)
    if history.alarms:
        yield _alarms(history.summary)
    if health.rig:
        yield HealthItem("rig", f"rig {health.rig}", f"name of the rig: {health.rig}", rank=6)
    if health.sample_rate:
        nominal, actual = f"{health.sample_rate:.5g} Hz", f"{health.measured_rate:.5g} Hz actual"
        # the measured rate is shown where it is another one
        off = health.measured_rate > 0.0 and abs(health.measured_rate / health.sample_rate - 1.0) > _RATE_TOLERANCE
        shown, brief = (f"{nominal} nominal, {actual}", actual) if off else (nominal, "")
        yield HealthItem("rate", shown, f"sample rate: {nominal} nominal, {actual}", rank=5, brief=brief)
        if state.key not in ("ended", "halted"):
            # the service reports the age at intervals; results show theirs by arriving
            age = min(health.age + history.silence, history.age)
            yield HealthItem("age", f"data {age:.1f} s old", "time since the last samples or results", rank=3)
    yield from _counts(health)
    if dropped:
        tip = f"{count(dropped)} samples dropped while this window was busy: gaps in its curves, not in the recording"
        yield HealthItem("dropped", f"▲ window dropped {count(dropped)}", tip, Level.WARN, 2)
    if health.shed and state.key not in ("silent", "overloaded"):
        tip = f"the service has been slower than the rig, and omits {_shed(health)}; everything is recorded"
        yield HealthItem("shed", "▲ output reduced", tip, Level.WARN, 2)
    if health.compilation.measures:
        left, share = ", ".join(health.compilation.measures), percent(health.compilation.share)
        tip = f"a first start: {left} are computed once their kernels are compiled; everything is recorded"
        yield HealthItem("compiling", f"compiling {share}", tip, Level.INFO, 2)
    if health.latency > _LATENCY:
        tip = "maximum of the last half second, from the arrival of samples to the publication of their results"
        yield HealthItem("latency", f"latency {1e3 * health.latency:.1f} ms", tip, rank=7)
    yield from _recording(history, health)


def _state(state: ServiceState, health: Health) -> HealthItem:
    counts = health.counts
    details = (
        f"received {count(counts.received)} samples",
        f"{count(counts.gaps)} gaps",
        f"{count(counts.clock_jumps)} clock jumps",
        f"{count(counts.reconnects)} reconnections",
    )
    words = f"{state.shape} {state.words}"
    tip = f"{state.words}: {', '.join(details)}"
    if state.key == "overloaded":
        omits = f", and omits {_shed(health)}" if health.shed else ""
        tip += f"\nthe service is slower than the rig{omits}; everything is recorded"
    return HealthItem("state", words, tip, state.level, 0)


def _shed(health: Health) -> str:
    return ", ".join(_SHED.get(each, each) for each in health.shed)


def _alarms(found: AlarmSummary) -> HealthItem:
    tip = f"{found.configured} alarms configured, {found.unacknowledged} unacknowledged"
    tip += f", {found.not_judged} not judged, {found.shelved} shelved"
    missing = f"{NOT_JUDGED_SHAPE} {found.not_judged} not judged" if found.not_judged else ""
    if not found.any_active:
        return HealthItem("alarms", missing or "no active alarms", tip, rank=0 if missing else 6)
    return HealthItem("alarms", " · ".join(filter(None, (found.words, missing))), tip, found.level, 0)


def _counts(health: Health) -> Iterator[HealthItem]:
    counts = health.counts
    for key, number, meaning in (
        ("lost", counts.lost, "samples lost"),
        ("duplicates", counts.duplicates, "duplicate samples, ignored"),
        ("out of order", counts.reordered, "samples out of order, ignored"),
        ("restarts", counts.restarts, "restarts of the rig"),
        ("rejected", counts.rejected, "malformed messages rejected"),
    ):
        if number:
            one = meaning.replace("samples", "sample").replace("restarts", "restart").replace("messages", "message")
            tip = f"{count(number)} {one if number == 1 else meaning}"
            yield HealthItem(key, f"▲ {key} {count(number)}", tip, Level.WARN, 2)


def _recording(history: History, health: Health) -> Iterator[HealthItem]:
    if not health.recording:
        yield HealthItem("recording", "○ not recording", "this run is not recorded", Level.WARN, 1)
        return
    name = health.recording.replace("\\", "/").rpartition("/")[2]
    safe = f"{count(health.recorded)} samples on disk"
    lasted = duration_text(health.recorded / health.sample_rate) if health.sample_rate else safe
    if history.state.key == "silent":
        # without messages from the service its recording is unknown
        tip = f"{health.recording}: {safe} at the last message from the service; nothing is known of later ones"
        brief = f"▲ last known {lasted} on disk" if lasted != safe else f"▲ last known {safe}"
        yield HealthItem("recording", f"▲ {name}: {brief[2:]}", tip, Level.BAD, 1, brief)
        return
    if history.progress.stopped_since is not None:
        yield from _stopped(history, health, instant_text(history.progress.stopped_since))
        return
    yield HealthItem(
        "recording",
        f"● recording {name}: {lasted}, {safe}" if lasted != safe else f"● recording {name}: {safe}",
        f"{health.recording}: {safe}",
        Level.GOOD,
        1,
        f"● recording {lasted}",
    )
    if health.unwritten_age > LONGEST_UNWRITTEN:
        late = duration_text(health.unwritten_age)
        yield HealthItem(
            "late", f"▲ disk {late} behind", "samples of this duration are not yet written", Level.WARN, 0
        )
    if health.unrecorded:
        lost = count(health.unrecorded)
        yield HealthItem("unrecorded", f"■ not recorded {lost}", f"{lost} samples missing in the file", Level.BAD, 0)
    if health.disk_free >= 0:
        yield _disk(history, health)


def _stopped(history: History, health: Health, since: str) -> Iterator[HealthItem]:
    lost, waiting = count(health.unrecorded), max(0, health.counts.received - health.recorded - health.unrecorded)
    text = f"■ recording stopped {since}, {lost} samples lost"
    tip = (
        f"{health.recording}: nothing written since {since}; {lost} samples are lost, {count(waiting)} wait in memory"
        "\nMake space on the disk, or start a service that records elsewhere."
    )
    yield HealthItem("recording", text + (f", {count(waiting)} waiting" if waiting else ""), tip, Level.BAD, 0, text)
    if health.disk_free >= 0:
        yield _disk(history, health)


def _disk(history: History, health: Health) -> HealthItem:
    left = disk_seconds(history, health)
    free = bytes_text(health.disk_free)
    low = left < _LOW if math.isfinite(left) else health.disk_free < _LOW_BYTES
    short = left < _VERY_LOW or health.disk_free == 0
    level = Level.BAD if short else Level.WARN if low else Level.NONE
    shape = {Level.BAD: "■ ", Level.WARN: "▲ "}.get(level, "")
    lasts = f"{duration_text(left)} left" if math.isfinite(left) else ""
    text = f"{shape}disk {free}" + (f", {lasts}" if lasts else " free")
    tip = f"{free} free on the disk of the recording" + (f": {duration_text(left)} at this rate" if lasts else "")
    return HealthItem("disk", text, tip, level, 1 if low or short else 4, f"{shape}disk {lasts or free}")


def disk_seconds(history: History, health: Health) -> float:
    """Return how long the disk space lasts, s; infinite where the data rate is unknown."""
    if history.signals is None or not health.sample_rate:
        return math.inf
    rate = health.sample_rate * (8 * len(history.signals.channels) + _ROW_OVERHEAD)
    if history.results is not None:
        stream = history.results.stream
        rate += health.sample_rate / stream.every * (8 * len(stream.columns) + _ROW_OVERHEAD)
    return health.disk_free / rate


def fit(
    items: Sequence[HealthItem], width: float, measure: Callable[[str], float], gap: float
) -> tuple[tuple[HealthItem, str], ...]:
    """Return the items that fit in `width`, each with its full or brief text.

    Items of the largest rank are removed until all brief texts fit; then texts are full, from the smallest rank on.
    """
    shown = list(items)
    texts = {item.key: item.brief or item.text for item in items}

    def needed() -> float:
        return sum(measure(texts[item.key]) for item in shown) + gap * max(0, len(shown) - 1)

    while needed() > width and any(item.rank for item in shown):
        # of the same rank, the last
        shown.remove(max(reversed(shown), key=lambda item: item.rank))
    for item in sorted(shown, key=lambda item: item.rank):
        texts[item.key] = item.text
        if needed() > width:
            texts[item.key] = item.brief or item.text
    return tuple((item, texts[item.key]) for item in shown)
