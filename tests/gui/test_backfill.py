"""A window that joins late shows what the service has recorded, as if it had been there from the beginning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gui.model.backfill import Backfill, FirstBlocks
from gui.model.derived import DerivedChannel, to_text
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor
from monitor.messages.blocks import Event, EventKind
from monitor.messages.health import Health, StreamCounts
from monitor.recording import RunWriter
from replay.simulations import simulation
from tests.gui.live_service import RATE, LiveService, samples_of

EARLY = 6.0  # s before the window is there


def stored(history):
    """All samples in memory, by their numbers."""
    x, rows = history.signals.samples(history.begin_x, history.end_x)
    return {history.timeline.sample_at(each)[1]: row for each, row in zip(x, rows, strict=True)}


def results_of(history):
    x, rows = history.results.rows(history.begin_x, history.end_x)
    return {history.timeline.sample_at(each)[1]: row for each, row in zip(x, rows, strict=True)}


def loaded(hands):
    hands.until(lambda: hands.connection._received is None)
    hands.ticks(2)


@pytest.fixture
def joined(begin, service, rig):
    """A window that joins a service that has recorded six seconds, and the next second."""
    rig.move(EARLY)
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(1.0)
    loaded(hands)
    return hands


def test_it_does_not_begin_empty(joined, rig):
    hands = joined
    history = hands.history
    assert history.end_x - history.begin_x == pytest.approx(EARLY + 1.0, abs=0.2)
    found = stored(history)
    assert min(found) == 0
    # without a gap, and each sample is what the rig has sent
    assert sorted(found) == list(range(max(found) + 1))
    expected = samples_of(rig.actuators, np.arange(max(found) + 1))
    assert np.array_equal(np.stack([found[n] for n in sorted(found)]), expected)
    # results too
    steps = np.diff(sorted(results_of(history)))
    assert min(results_of(history)) < RATE and np.all(steps == steps[0])
    # on one axis without a break
    assert len(history.timeline.segments) == 1
    # the plots have it
    hands.view.show_all()
    hands.ticks(2)
    assert hands.view.left == pytest.approx(history.begin_x)
    # no message, and no progress any more
    assert not [line for line in hands.notices if "earlier samples" in line]
    assert "loading" not in hands.strip


def test_it_continues_live(joined, rig):
    before = joined.history
    rig.move(1.0)
    joined.until(lambda: joined.history.end_x - joined.history.begin_x > EARLY + 1.8)
    assert joined.history is before
    found = stored(before)
    assert sorted(found) == list(range(max(found) + 1))
    assert "● live" in joined.window.view_bar._state.text()


def test_derived_channels_are_computed_for_what_was_before_too(begin, service, rig, store):
    rig.move(EARLY)
    definition = DerivedChannel("twice", "mm", "2e3 * north.measured")
    store.setValue("channels/derived", to_text([definition]))
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(1.0)
    loaded(hands)
    signals = hands.history.signals
    assert signals.derived == (definition,)
    columns = [signals.named[name].column for name in ("twice", "north.measured")]
    _, samples = signals.samples(0.0, 1e3, columns=columns)
    assert len(samples) > EARLY * RATE
    np.testing.assert_array_equal(samples[:, 0], 2e3 * samples[:, 1])


def test_events_are_there_once(begin, service, rig):
    first = begin(connect=service.url)
    rig.move(3.0)
    first.until(lambda: first.history.end_x > 2.5 and first.history.health is not None)
    first.window.activateWindow()
    first.until(first.window.isActiveWindow)
    first.key("N")
    assert first.window.note_bar.isVisible()
    first.type("before the other window")
    first.key("Return")
    first.until(lambda: any("before the other window" in text for text in first.events))
    rig.move(3.0)
    second = begin(connect=service.url)
    second.until(lambda: second.history.health is not None)
    rig.move(1.0)
    loaded(second)
    assert len([text for text in second.events if "before the other window" in text]) == 1
    kinds = [placed.event.kind for placed in second.history.events]
    assert kinds.count(EventKind.STARTED) == 1
    (note,) = [placed for placed in second.history.events if placed.event.kind is EventKind.NOTE]
    assert second.history.timeline.time_at(note.x) == pytest.approx(note.event.time, abs=0.02)


def test_a_view_that_was_paused_stays_where_it_was(begin, service, rig):
    rig.move(EARLY)
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    hands.connection._begin_backfill = lambda _batches: None
    rig.move(1.0)
    hands.until(lambda: hands.history.end_x - hands.history.begin_x > 0.5)
    hands.key("Space")
    hands.view.pin(hands.view.right)
    instant = hands.history.timeline.time_at(hands.view.right)
    del hands.connection._begin_backfill
    loaded(hands)
    assert not hands.view.following
    assert hands.history.timeline.time_at(hands.view.right) == pytest.approx(instant, abs=0.02)
    assert hands.history.timeline.time_at(hands.view.pinned) == pytest.approx(instant, abs=0.02)


def test_a_rig_that_sends_nothing_now(begin, service, rig):
    """What was recorded is shown at once, and what comes later continues it."""
    rig.move(EARLY)
    hands = begin(connect=service.url)
    loaded(hands)
    assert sorted(stored(hands.history)) == list(range(round(EARLY * RATE)))
    assert len(results_of(hands.history)) > 100
    rig.move(1.0)
    hands.until(lambda: hands.history.end_x - hands.history.begin_x > EARLY + 0.8)
    found = stored(hands.history)
    assert sorted(found) == list(range(max(found) + 1))
    assert len(hands.history.timeline.segments) == 1


def test_a_restart_of_the_rig_before(begin, service, rig):
    rig.move(3.0)
    rig.restart(rig.actuators, 2)
    rig.move(3.0)
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(1.0)
    loaded(hands)
    segments = hands.history.timeline.segments
    assert [segment.epoch for segment in segments] == [1, 2]
    assert segments[0].x_end < segments[1].x_begin
    assert [segment.index for segment in segments] == [0, 0]
    restart = [placed for placed in hands.history.events if placed.event.kind is EventKind.RESTART]
    assert len(restart) == 1
    assert restart[0].x >= segments[1].x_begin


def test_nothing_is_read_where_nothing_was_missed(begin, service, rig):
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    history = hands.history
    rig.move(1.0)
    loaded(hands)
    assert hands.history is history
    assert not [line for line in hands.notices if "earlier samples" in line]


def told(hands):
    return [line for line in hands.notices if "earlier samples are not shown" in line]


def test_a_service_that_does_not_record(begin, warm_kernels, rig):
    service = LiveService(rig)
    try:
        rig.move(EARLY)
        hands = begin(connect=service.url)
        hands.until(lambda: hands.history.health is not None)
        rig.move(1.0)
        loaded(hands)
        assert told(hands) == ["● info: earlier samples are not shown: the service does not record"]
        # what comes is shown all the same
        assert hands.history.end_x - hands.history.begin_x > 0.5
    finally:
        service.die()


def health(rows, path):
    return Health(
        "hybrid", "receiving", StreamCounts(received=rows), sample_rate=1024.0, measured_rate=1024.0, recording=path
    )


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/nowhere/run.h5", "run.h5 is not on this computer"),
        ("D:\\runs\\run.h5", "run.h5 is not on this computer"),
        ("{damaged}", "damaged.h5"),
        ("{other}", "other.h5 is of another rig"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(fed, hybrid_arrivals, tmp_path, path, reason):
    damaged, other = tmp_path / "damaged.h5", tmp_path / "other.h5"
    damaged.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    writer = RunWriter(other, {})
    recording = simulation("beam-bad", duration=1.0)
    for block in recording.blocks(100):
        writer.signals(block)
    writer.close()
    hands = fed()
    name = path.format(damaged=damaged, other=other)
    hands.played.say(*(replace(each, health=health(50_000, name)) for each in hybrid_arrivals[50:60]))
    loaded(hands)
    (line,) = told(hands)
    assert reason in line and "\n" not in line
    assert hands.history.end_x > hands.history.begin_x


def test_progress_is_shown_and_another_source_ends_it(fed, hybrid_arrivals, tmp_path, monkeypatch):
    hands = fed()
    # a file that does not have what was received is waited for
    writer = RunWriter(tmp_path / "run.h5", {})
    for arrived in hybrid_arrivals[:10]:
        for block in arrived.signals:
            writer.signals(block)
    writer.close()
    hands.played.say(*(replace(each, health=health(50_000, str(writer.path))) for each in hybrid_arrivals[50:60]))
    hands.until(lambda: hands.connection.backfill_progress is not None)
    hands.ticks(2)
    assert "loading earlier samples 0 %" in hands.strip
    backfill = hands.connection._backfill
    hands.program.sources.disconnect_source()
    assert hands.connection.backfill_progress is None
    assert backfill.done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, warm_kernels):
    """Eight seconds with a gap and results, as a file and as messages."""
    path, messages = tmp_path_factory.mktemp("runs") / "run.h5", []
    monitor, writer = Monitor(IndicatorSettings(window=1.0), max_rows=200.0), RunWriter(path, {})
    for n, block in enumerate(simulation("hybrid", duration=8.0).blocks(64)):
        if n == 40:
            continue
        update = monitor.update(block)
        writer.signals(update.signals)
        if update.results is not None:
            writer.results(update.results)
        for event in update.events:
            writer.event(event)
        messages.append(
            ReceivedMessages(
                signals=(update.signals,),
                results=() if update.results is None else (update.results,),
                events=tuple(update.events),
            )
        )
    writer.close()
    return path, messages


@pytest.mark.parametrize("join", [30, 41, 60, 100])
def test_it_is_the_same_as_having_been_there(recorded, join):
    path, messages = recorded
    whole, late = History(64 << 20), History(64 << 20)
    for each in messages:
        whole.update(each)
    first = FirstBlocks("hybrid", messages[join].signals[0], messages[join].results[0])
    backfill = Backfill(str(path), first, late)
    backfill._thread.join()
    assert (backfill.failed, backfill.progress) == ("", 1.0)
    late.remove_events([event for each in messages[join:] for event in each.events])
    for each in messages[join:]:
        late.update(each)
    assert np.array_equal(*(history.signals.samples(0.0, 99.0)[1] for history in (whole, late)), equal_nan=True)
    assert np.array_equal(*(history.signals.samples(0.0, 99.0)[0] for history in (whole, late)))
    assert np.array_equal(*(history.results.rows(0.0, 99.0)[1] for history in (whole, late)), equal_nan=True)
    assert np.array_equal(*(history.results.rows(0.0, 99.0)[0] for history in (whole, late)))
    assert [placed.event for placed in late.events] == [placed.event for placed in whole.events]


def test_results_that_came_before_their_signals_are_not_doubled(recorded):
    """A subscription to results may be earlier than that to signals."""
    path, messages = recorded
    late = History(64 << 20)
    first = FirstBlocks("hybrid", messages[61].signals[0], messages[60].results[0])
    backfill = Backfill(str(path), first, late)
    backfill._thread.join()
    late.update(replace(messages[60], signals=(), order=()))
    for each in messages[61:]:
        late.update(each)
    assert len(late.timeline.segments) == 1
    index = [late.timeline.sample_at(x)[1] for x in late.results.rows(0.0, 99.0)[0]]
    assert index == sorted(set(index))


def test_events_that_are_received_again_are_removed():
    history = History(1 << 20)
    events = tuple(Event(EventKind.NOTE, float(n), n, 0, f"{n}") for n in range(5))
    history.update(ReceivedMessages(events=events))
    history.remove_events(events[3:])
    assert [placed.event for placed in history.events] == list(events[:3])
