from __future__ import annotations

from monitor.messages import Sink
from monitor.messages.blocks import Event, EventKind
from monitor.messages.health import Health
from monitor.transport.base import MemorySink


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
