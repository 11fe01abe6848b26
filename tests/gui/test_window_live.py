"""The window on a live service, driven by keys and mouse."""

from __future__ import annotations

import pytest

from tests.gui.live_service import DELAY


@pytest.fixture
def live(begin, service, rig):
    """A window that has watched the rig for three seconds of its time."""
    hands = begin(connect=service.url)
    hands.until(lambda: hands.history.health is not None)
    rig.move(3.0)
    hands.until(lambda: hands.history.end_x > 2.9 and "delay" in hands.faces.get("south", ""))
    return hands


def test_values_appear(live):
    live.until(lambda: "window not full" not in live.faces["south"])
    assert not live.first_page
    for name, delay in DELAY.items():
        assert f"delay {1e3 * delay:.1f} ms" in live.faces[name]
    assert "● receiving" in live.strip
    assert "● live" in live.window.bar._state.text()
    assert live.modal is None


def test_space_pauses_the_picture_and_nothing_is_lost(live, rig):
    live.key("Space")
    live.ticks()
    right, end, picture = live.view.right, live.history.end_x, live.stack.grab().toImage()
    rig.move(2.0)
    live.until(lambda: live.history.end_x > end + 1.9)
    live.ticks(3)
    assert live.view.right == right
    assert live.stack.grab().toImage() == picture
    assert "paused" in live.window.bar._state.text()
    live.key("Home")
    live.ticks()
    assert live.view.following
