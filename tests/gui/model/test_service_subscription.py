"""The link: what comes is sorted, nothing is lost, and silence is measured."""

import numpy as np
import pytest

from gui.model.receiver import ReceivedMessages, ServiceSubscription
from monitor.messages.blocks import (
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
)
from monitor.messages.health import Health
from monitor.transport.zeromq.results import ResultPublisher

RESULTS = ResultBlock(ResultStream("rig", 1, 100.0, 1, (Column("x", "s", "a"),)), 0, 0.0, np.ones((2, 1)))
CHANNELS = (Channel("c", Role.COMMAND, "m", "a"), Channel("m", Role.MEASURED, "m", "a"))
SIGNALS = SignalBlock(Stream("rig", 1, 100.0, CHANNELS), 0, 0.0, np.ones((2, 2)))
EVENT = Event(EventKind.GAP, 1.0, 100, 5)


class Subscription:
    def __init__(self, *batches):
        self.batches = list(batches)
        self.closed = False

    def receive(self, timeout):
        return self.batches.pop(0) if self.batches else []

    def close(self):
        self.closed = True


def test_arrivals_are_sorted_in_order():
    other = Event(EventKind.NOTE, 2.0, 200)
    subscription = Subscription([Health("old"), EVENT, RESULTS, SIGNALS, other, RESULTS, Health("new")])
    link = ServiceSubscription(subscription)
    arrivals = ReceivedMessages.sort(link.receive(0.0))
    assert arrivals == ReceivedMessages(Health("new"), (EVENT, other), (RESULTS, RESULTS), signals=(SIGNALS,))
    assert arrivals.in_order == (EVENT, RESULTS, SIGNALS, other, RESULTS)
    assert arrivals
    nothing = ReceivedMessages.sort(link.receive(0.0))
    assert nothing == ReceivedMessages() and not nothing
    link.close()
    assert subscription.closed


def test_what_was_put_together_by_hand_has_an_order_too():
    by_hand = ReceivedMessages(events=(EVENT,), results=(RESULTS,), signals=(SIGNALS,))
    assert by_hand.in_order == (SIGNALS, RESULTS, EVENT)
    assert ReceivedMessages.sort(by_hand.in_order) == by_hand
    assert ReceivedMessages(health=Health()) and ReceivedMessages(events=(EVENT,))


def test_silence_is_that_of_the_service_and_age_that_of_the_results():
    now = 10.0
    link = ServiceSubscription(Subscription([Health()], [RESULTS], [EVENT]), lambda: now)
    now = 11.0
    assert (link.silence, link.age) == (1.0, 1.0)
    link.receive(0.0)
    assert (link.silence, link.age) == (0.0, 1.0)
    for now in (12.0, 13.0):
        assert link.silence == now - 11.0
    link.receive(0.0)
    assert (link.silence, link.age) == (2.0, 0.0)
    link.receive(0.0)
    assert (link.silence, link.age) == (2.0, 0.0)


@pytest.mark.parametrize("signals", [False, True])
def test_a_real_service_is_heard(signals):
    sink = ResultPublisher("tcp://127.0.0.1:*")
    link = ServiceSubscription.connect(sink.endpoint, signals=signals)
    try:
        arrivals = ReceivedMessages()
        for _ in range(500):
            sink.signals(SIGNALS)
            sink.results(RESULTS)
            sink.event(EVENT)
            sink.health(Health("rig"))
            arrivals = ReceivedMessages.sort(link.receive(0.02))
            if arrivals.health and arrivals.events and arrivals.results and bool(arrivals.signals) == signals:
                break
        assert arrivals.health == Health("rig")
        assert arrivals.events[0] == EVENT
        np.testing.assert_array_equal(arrivals.results[0].values, RESULTS.values)
        assert bool(arrivals.signals) == signals
        for block in arrivals.signals:
            np.testing.assert_array_equal(block.samples, SIGNALS.samples)
    finally:
        link.close()
        sink.close()
