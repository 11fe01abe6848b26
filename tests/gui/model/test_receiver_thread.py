"""The feed: nothing is lost between the thread and the window, little is kept, and a failure is told."""

from __future__ import annotations

import math
import threading
from queue import Empty, SimpleQueue

import numpy as np
import pytest

from gui.model.history import History
from gui.model.receiver import ReceivedMessages, ReceiverThread, ServiceSubscription
from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import (
    FREQUENCY,
    Channel,
    Column,
    Event,
    EventKind,
    ResultBlock,
    ResultStream,
    Role,
    SignalBlock,
    Stream,
    TransferBlock,
    TransferStream,
)
from monitor.messages.health import Health
from monitor.transport.base import TransportError
from monitor.transport.zeromq.results import ResultPublisher
from tests.waiting import until

STREAM = Stream("rig", 1, 1000.0, (Channel("count", Role.AUXILIARY),))
RESULTS = ResultStream("rig", 1, 1000.0, 1, (Column("x", "s", "a"),))


def signals(index, n=1):
    return SignalBlock(STREAM, index, index / 1000.0, np.arange(index, index + n, dtype=float)[:, None])


def results(index, n=1):
    return ResultBlock(RESULTS, index, index / 1000.0, np.arange(index, index + n, dtype=float)[:, None])


def note(index):
    return Event(EventKind.NOTE, index / 1000.0, index)


class Subscription:
    """What is put is received; an exception is raised."""

    def __init__(self):
        self.queue = SimpleQueue()
        self.threads = set()
        self.closed = 0

    def receive(self, timeout):
        self.threads.add(threading.current_thread())
        try:
            batch = self.queue.get(timeout=timeout)
        except Empty:
            return []
        if isinstance(batch, Exception):
            raise batch
        return batch

    def close(self):
        self.threads.add(threading.current_thread())
        self.closed += 1


@pytest.fixture(autouse=True)
def _no_threads_left():
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def subscription():
    return Subscription()


@pytest.fixture
def fed(subscription):
    """Make feeds of the subscription."""
    made = []

    def make(**options):
        made.append(ReceiverThread(lambda: ServiceSubscription(subscription), **options))
        return made[-1]

    yield make
    for feed in made:
        feed.close()


def is_systemd_credential(subscription):
    """Wait until the thread has put aside all that it was given: it asks for more."""
    until(subscription.queue.empty)
    asked = threading.Event()
    subscription.queue.put(_Telling(asked))
    until(asked.is_set)
    until(subscription.queue.empty)


class _Telling(list):
    """An empty batch that says when it was looked at."""

    def __init__(self, asked):
        super().__init__()
        self._asked = asked

    def __iter__(self):
        self._asked.set()
        return super().__iter__()


def test_what_comes_is_handed_over_once_and_in_order(subscription, fed):
    feed = fed()
    sent = []
    for i in range(0, 2000, 2):
        batch = [signals(i), results(i), *([note(i)] if i % 100 == 0 else []), signals(i + 1)]
        sent += batch
        subscription.queue.put(batch)
    taken: list[object] = []
    until(lambda: taken.extend(feed.drain().in_order) or len(taken) == len(sent))
    assert all(one is other for one, other in zip(taken, sent, strict=True))
    assert not feed.drain()
    assert (feed.dropped, feed.failed) == (0, "")


def test_the_newest_health_and_transfer_win(subscription, fed):
    feed = fed()
    transfers = [TransferBlock(TransferStream("rig", i, 1.0, (FREQUENCY,)), 0, 0.0, np.ones((1, 1))) for i in (1, 2)]
    subscription.queue.put([Health("a"), transfers[0]])
    subscription.queue.put([Health("b")])
    subscription.queue.put([transfers[1], note(0)])
    is_systemd_credential(subscription)
    assert feed.drain() == ReceivedMessages(Health("b"), (note(0),), transfer=transfers[1])
    report = AlarmReport()
    subscription.queue.put([report])
    # what comes after it without alarms does not take it away
    subscription.queue.put([note(1)])
    is_systemd_credential(subscription)
    assert feed.drain().alarms is report
    assert feed.drain() == ReceivedMessages()


def test_what_is_not_taken_is_dropped_from_the_oldest_and_counted(subscription, fed):
    feed = fed(max_bytes=200_000)
    for i in range(0, 400_000, 1000):
        subscription.queue.put([signals(i, 1000), note(i)])
    is_systemd_credential(subscription)
    arrivals = feed.drain()
    kept = sum(len(block) for block in arrivals.signals)
    assert 0 < 8 * kept <= 200_000
    assert feed.dropped == 400_000 - kept
    # the newest without a hole, and every event
    assert [block.index for block in arrivals.signals] == list(range(400_000 - kept, 400_000, 1000))
    assert [event.index for event in arrivals.events] == list(range(0, 400_000, 1000))
    indices = [item.index for item in arrivals.in_order]
    assert indices == sorted(indices)
    subscription.queue.put([signals(400_000)])
    is_systemd_credential(subscription)
    assert len(feed.drain().signals) == 1 and feed.dropped == 400_000 - kept


def test_small_blocks_count_by_what_they_really_take(subscription, fed):
    feed = fed(max_bytes=100_000)
    for i in range(0, 10_000, 100):
        subscription.queue.put([results(k) for k in range(i, i + 100)])
    is_systemd_credential(subscription)
    assert len(feed.drain().results) < 250


def test_a_flood_of_events_is_bounded(subscription, fed):
    feed = fed()
    for i in range(0, 30_000, 1000):
        subscription.queue.put([*(note(k) for k in range(i, i + 1000)), signals(i)])
    is_systemd_credential(subscription)
    arrivals = feed.drain()
    assert [event.index for event in arrivals.events] == list(range(20_000, 30_000))
    assert len(arrivals.signals) == 30 and feed.dropped == 0


@pytest.mark.parametrize(
    ("problem", "said"), [(RuntimeError("it broke\nin two lines"), "it broke in two lines"), (KeyError(), "KeyError")]
)
def test_a_failure_is_told_and_ends_the_thread(subscription, fed, problem, said):
    feed = fed()
    subscription.queue.put([signals(0)])
    subscription.queue.put(problem)
    until(lambda: feed.failed)
    assert feed.failed == said
    assert [block.index for block in feed.drain().signals] == [0]
    until(lambda: subscription.closed)
    assert not feed.drain()


def test_a_link_that_cannot_be_made_is_told():
    def connect():
        raise TransportError("cannot connect to nowhere: say host and port")

    feed = ReceiverThread(connect)
    until(lambda: feed.failed)
    assert feed.failed == "cannot connect to nowhere: say host and port"
    assert (feed.silence, feed.age) == (0.0, math.inf)
    assert not feed.drain()
    feed.close()


def test_an_endpoint_that_is_none_is_told():
    feed = ReceiverThread(lambda: ServiceSubscription.connect("nonsense"))
    until(lambda: feed.failed)
    assert "nonsense" in feed.failed and "\n" not in feed.failed
    feed.close()


def test_all_of_the_link_happens_in_one_thread(subscription, fed):
    feed = fed()
    subscription.queue.put([signals(0)])
    until(lambda: feed.drain().signals)
    feed.close()
    feed.close()
    assert subscription.closed == 1
    (thread,) = subscription.threads
    assert thread is not threading.current_thread() and not thread.is_alive()


def test_silence_and_age_are_those_of_the_link(subscription):
    now = [10.0]
    feed = ReceiverThread(lambda: ServiceSubscription(subscription, lambda: now[0]))
    until(lambda: feed.age < math.inf)
    for _ in range(4):
        now[0] += 0.5
        assert feed.silence == now[0] - 10.0
    assert feed.age == 2.0
    # a pause of this program is no silence of the service, but what is shown is that old
    now[0] += 60.0
    assert (feed.silence, feed.age) == (2.0, 62.0)
    subscription.queue.put([Health()])
    until(lambda: feed.drain().health)
    assert (feed.silence, feed.age) == (0.0, 62.0)
    feed.close()


def test_a_real_service_is_heard_without_loss():
    sink = ResultPublisher("tcp://127.0.0.1:*")
    feed = ReceiverThread(lambda: ServiceSubscription.connect(sink.endpoint, signals=True))
    history = History(1 << 22)
    try:

        def subscribed():
            sink.health(Health("rig"))
            return feed.drain().health

        until(subscribed)
        for i in range(0, 3000, 10):
            sink.signals(signals(i, 10))
            sink.results(results(i, 10))
        sink.event(note(3000))

        def complete():
            history.update(feed.drain(), silence=feed.silence, age=feed.age)
            return history.events

        until(complete)
        assert (feed.dropped, feed.failed) == (0, "")
        np.testing.assert_array_equal(history.signals.samples(0.0, 10.0)[1][:, 0], np.arange(3000.0))
        assert history.results.value("a", "x") == 2999.0
        assert history.age < 20.0
    finally:
        feed.close()
        sink.close()
