"""What a window shows when the service or the rig is not what it was: silent, dead, another one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.gui.live_service import RATE, samples_of

DASHES = "delay — ms; phase — °; amplitude — %"


def is_dashed(content: str) -> bool:
    """Whether a tile of an actuator or of its specimen has no number."""
    return DASHES in content or "stiffness — N/m; damping — %" in content


@pytest.fixture
def watched(begin, service, rig):
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(3.0)
    hands.until(lambda: "delay 25.0 ms" in hands.tile_texts.get("south", ""))
    return hands


def test_a_service_that_falls_silent_leaves_no_number_on_the_tiles(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(
        lambda: hands.tile_texts and "ms" in hands.tile_texts["north"] and DASHES not in hands.tile_texts["north"]
    )
    end = hands.history.end_x
    hands.silence(10.0)
    hands.until(lambda: all(is_dashed(content) for content in hands.tile_texts.values()))
    assert all("no data" in content for content in hands.tile_texts.values())
    assert "▲ no data from the service" in hands.strip
    # what has been stays to be looked at
    hands.key("Space")
    hands.until(lambda: all(DASHES not in content for content in hands.tile_texts.values()))
    assert all("at " in content for content in hands.tile_texts.values())
    hands.key("Home")
    hands.until(lambda: all(is_dashed(content) for content in hands.tile_texts.values()))
    hands.played.say(*hybrid_arrivals[100:200])
    hands.until(lambda: hands.history.end_x > end + 1.0)
    hands.until(lambda: all(DASHES not in content for content in hands.tile_texts.values()))


def test_results_that_stop_while_the_service_speaks_are_stale(fed, hybrid_arrivals):
    hands = fed()
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: hands.tile_texts and DASHES not in hands.tile_texts["north"])
    hands.played.now += 10.0
    alone = replace(hybrid_arrivals[99], signals=(), results=(), events=(), transfer=None, order=())
    hands.played.say(alone)
    hands.until(lambda: all(is_dashed(content) and "stale" in content for content in hands.tile_texts.values()))
    hands.until(lambda: "▲ stale" in hands.strip)


def test_dead_transducers_show_no_number_and_a_gap_in_the_curve(watched, rig):
    rig.move(1.5, invalid=True)
    watched.until(lambda: DASHES in watched.tile_texts["north"])
    assert "delay 25.0 ms" in watched.tile_texts["south"]
    signals = watched.history.signals
    index = np.arange(rig.sent)
    expected = samples_of(("north", "south"), index)
    expected[index >= 3 * RATE, 1] = np.nan
    watched.until(lambda: signals.end_x > rig.sent / RATE - 1.5 / RATE)
    np.testing.assert_array_equal(signals.samples(0.0, 10.0)[1], expected)
    rig.move(1.5)
    watched.until(lambda: "delay 10.0 ms" in watched.tile_texts["north"])


def test_a_service_that_dies_and_comes_back_with_other_channels(watched, service, rig):
    service.die()
    # the window goes on looking, and its keys work
    watched.ticks(5)
    watched.key("Space")
    assert not watched.view.following
    watched.key("Space")
    rig.restart(("south",), epoch=2)
    service.start()
    watched.until(lambda: watched.history.health.counts.received == 0)
    rig.move(2.0)

    def known() -> bool:
        # a rig moves on: what comes before the window has subscribed again is not for it
        rig.move(0.1)
        return list(watched.tile_texts) == ["south"] and "delay 25.0 ms" in watched.tile_texts["south"]

    watched.until(known)
    watched.until(lambda: [row.name for row in watched.stack.rows] == ["south"])
    assert watched.window.view_bar._actuators.count() == 1
    assert watched.view.actuator == "south"
    assert watched.modal is None
    assert not [line for line in watched.notices if "error" in line]


def test_a_rig_that_starts_again_goes_on_on_the_same_axis(watched, rig):
    end, generation = watched.history.end_x, watched.history.generation
    rig.restart(("north", "south"), epoch=2)
    rig.move(3.0)
    watched.until(lambda: watched.history.end_x > end + 2.9)
    watched.until(lambda: any("restart" in text for text in watched.events))
    assert watched.history.generation == generation
    watched.until(lambda: "delay 10.0 ms" in watched.tile_texts["north"])
    assert [segment.epoch for segment in watched.history.timeline.segments] == [1, 2]
    # in the break there is nothing to read
    first, second = watched.history.timeline.segments
    assert second.x_begin > first.x_end
    watched.view.pin(0.5 * (first.x_end + second.x_begin))
    watched.until(lambda: "in a break" in watched.tile_texts["north"])
    assert DASHES in watched.tile_texts["north"]


def test_no_tick_waits(fed, hybrid_arrivals, monkeypatch):
    """Whatever a tick does, it sleeps for nothing, joins nothing and polls nothing with a time-out."""
    import threading
    import time

    import zmq

    hands = fed()
    hands.played.say(*hybrid_arrivals[:100])
    hands.until(lambda: hands.history.end_x > 3.5)
    waited = []
    here = threading.get_ident()

    def watch(owner, name, bound):
        real = getattr(owner, name)

        def told(*args, **kwargs):
            if threading.get_ident() == here:
                limit = kwargs.get("timeout", args[bound] if len(args) > bound else None)
                waited.append((name, limit)) if limit != 0 else None
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, told)

    watch(time, "sleep", 0)
    watch(threading.Thread, "join", 1)
    watch(threading.Condition, "wait", 1)
    watch(zmq.Socket, "poll", 1)
    for arrived in hybrid_arrivals[100:130]:
        hands.played.say(arrived)
        hands.window.tick()
    hands.played.now += 10.0
    hands.window.tick()
    monkeypatch.undo()
    assert waited == []
