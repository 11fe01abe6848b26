"""The setting that lets curves be smooth while the view stands still."""

from __future__ import annotations

import pytest

from gui.panels.over_time import TimePanel
from gui.settings.storage import WindowSettings


@pytest.mark.parametrize("chosen", [True, False])
def test_it_reaches_every_plot_over_time(begin, store, chosen):
    store.setValue("window/settings", WindowSettings(antialias_when_paused=chosen).model_dump_json())
    hands = begin()
    stacks = [panel.stack for panel in hands.window.dock_area.panels.values() if isinstance(panel, TimePanel)]
    assert len(stacks) == 4
    assert not any(stack.scene.smooth for stack in stacks)
    hands.key("Space")
    assert all(stack.scene.smooth is chosen for stack in stacks)
