from __future__ import annotations

import threading

from monitor.messages.blocks import Event, EventKind
from monitor.messages.health import Health
from monitor.transport.base import BlockSource, MemorySink, MemorySource, Sink


def test_a_list_is_handed_out_one_at_a_time_in_order(counting):
    items = [counting(0), Event(EventKind.NOTE, 0.0, 1), counting(1)]
    source: BlockSource = MemorySource(items)
    seen = []
    while not source.ended:
        received = source.receive(0.0)
        assert len(received) <= 1
        seen += received
    assert seen == items
    assert source.receive(10.0) == ()


def test_an_empty_list_has_ended_at_the_first_look():
    source = MemorySource([])
    assert source.receive(10.0) == ()
    assert source.ended


def test_it_is_fed_from_another_thread_and_ends_when_told(counting):
    source = MemorySource()
    assert source.receive(0.0) == ()
    assert not source.ended

    def feed():
        for index in range(100):
            source.put(counting(index))
        source.finish()

    feeder = threading.Thread(target=feed)
    feeder.start()
    seen = []
    while not source.ended:
        seen += source.receive(5.0)
    feeder.join()
    assert [block.index for block in seen] == list(range(100))


def test_closing_ends_it_twice_without_harm(counting):
    source = MemorySource([counting(0)])
    source.close()
    source.close()
    assert source.ended
    assert source.receive(1.0) == ()


def test_the_sink_keeps_everything(counting):
    memory = MemorySink()
    sink: Sink = memory
    block, event = counting(0, 3), Event(EventKind.GAP, 0.0, 3, 2)
    sink.signals(block)
    sink.event(event)
    memory.health(Health(rig="north"))
    sink.close()
    sink.close()
    assert (memory.signals_seen, memory.events_seen, memory.results_seen) == ([block], [event], [])
    assert memory.health_seen == [Health(rig="north")]
    assert memory.closed
