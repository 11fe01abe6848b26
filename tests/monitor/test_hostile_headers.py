"""What a header may ask for: a wild one costs a note, not the memory."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.config import IndicatorSettings
from monitor.engine.monitor import Monitor, UnfitSettingsError
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.recording import RunWriter
from monitor.service.service import Service
from monitor.wire.native import MAX_COLUMNS
from tests.monitor.in_memory import MemorySink, MemorySource


def stream(pairs: int, rate: float, epoch: int = 1) -> Stream:
    roles = (Role.COMMAND, Role.MEASURED)
    channels = [Channel(f"{a}.{role}", role, "m", f"a{a}") for a in range(pairs) for role in roles]
    return Stream("rig", epoch, rate, tuple(channels))


def block(of: Stream, index: int = 0, rows: int = 1) -> SignalBlock:
    return SignalBlock(of, index, 0.0, np.zeros((rows, len(of.channels))))


@pytest.mark.parametrize(("pairs", "rate"), [(2048, 1000.0), (1, 1e9), (2048, 1e9), (8, 1e6)])
def test_a_wild_header_makes_no_indicators(pairs, rate):
    monitor = Monitor(IndicatorSettings(window=2.0))
    with pytest.raises(UnfitSettingsError, match="too many") as caught:
        monitor.update(block(stream(pairs, rate)))
    # the samples are kept all the same
    assert len(caught.value.update.signals) == 1
    assert caught.value.update.results is None


def test_more_columns_than_can_be_published_are_refused(warm_kernels):
    settings = IndicatorSettings(window=2.0)
    few = Monitor(settings).update(block(stream(2, 20.0))).results
    n_pairs = MAX_COLUMNS // (len(few.stream.columns) // 2)
    most = Monitor(settings).update(block(stream(n_pairs, 20.0))).results
    assert len(most.stream.columns) <= MAX_COLUMNS
    with pytest.raises(UnfitSettingsError, match=f"at most {MAX_COLUMNS} are published"):
        Monitor(settings).update(block(stream(n_pairs + 1, 20.0)))


def test_a_rig_that_begins_anew_in_every_message_is_refused_after_a_while(tmp_path):
    blocks = [block(stream(1, 100.0 + number, epoch=number)) for number in range(1, 200)]
    sink = MemorySink()
    now = [0.0]
    service = Service(MemorySource(blocks), Monitor(), [sink], clock=lambda: now[0])
    service.run(lambda: False)
    begun = [event for event in sink.events_seen if event.kind in (EventKind.STARTED, EventKind.RESTART)]
    # the first, and with other channels or another rate 20 times
    assert len(begun) == 1 + 20
    refused = [event for event in sink.events_seen if event.kind is EventKind.REJECTED]
    assert refused and all("restarts too frequently" in event.detail for event in refused)
    # all of them are counted, also those that nothing followed
    assert sum(event.count for event in refused) == len(blocks) - len(begun)


def test_what_waits_for_the_disk_is_bounded_whatever_the_rate(tmp_path, monkeypatch):
    with monkeypatch.context() as disk:
        # one that takes nothing
        disk.setattr(RunWriter, "_drain", lambda _: None)
        writer = RunWriter(tmp_path / "run.h5", {}, queue_bytes=1 << 20)
        wild = stream(1, 1e9)
        for index in range(0, 1_000_000, 10_000):
            writer.signals(block(wild, index, 10_000))
    # of 16 bytes each, and 512 for a block, the seventh block fills a megabyte
    assert writer.unrecorded == 1_000_000 - 70_000
    writer.close()
    assert writer.recorded == 70_000


def test_an_authenticator_that_has_died_is_noted_once():
    sink = MemorySink()
    service = Service(
        MemorySource([block(stream(1, 100.0))]), Monitor(), [sink], fault=lambda: "nobody new is let in"
    )
    service.run(lambda: False)
    assert [event.detail for event in sink.events_seen].count("nobody new is let in") == 1


def test_what_was_dropped_at_the_end_and_no_gap_shows_is_counted_at_a_stop() -> None:
    class Dropping(MemorySource):
        dropped_at_end = 3

    sink = MemorySink()
    service = Service(Dropping([block(stream(1, 100.0))], ends=False), Monitor(), [sink])
    service.run(lambda: service.counts.received > 0)
    assert service.dropped == service.counts.lost == 3 * service.counts.received > 0
