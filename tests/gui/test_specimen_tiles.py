"""Tiles of specimens: stiffness and damping of the newest loop, where a force is measured."""

import numpy as np
import pytest

from gui.panels.tiles import TilesPanel
from gui.panels.wall import WallPanel
from tests.gui.shown import show_panel


@pytest.mark.parametrize("x", [None, 6.0])
def test_a_specimen_has_a_tile_beside_that_of_its_actuator(qtbot, watched, x):
    panel = show_panel(qtbot, TilesPanel, watched)
    panel.view.pin(x)
    panel.refresh(watched)
    contents = {tile.content.name: tile.content for tile in panel._grid.tiles}
    actuators = watched.results.actuators
    assert list(contents) == [*actuators, *(f"{name} specimen" for name in actuators)]
    for actuator in actuators:
        stiffness, damping = contents[f"{actuator} specimen"].values
        of_loop = {
            name: watched.results.value(actuator, f"specimen_loop_{name}", x)
            for name in ("stiffness", "stiffness_sd", "damping", "damping_sd")
        }
        assert (stiffness.label, damping.label, damping.unit) == ("stiffness", "damping", "%")
        for shown, factor, name in ((stiffness, 1.0, "stiffness"), (damping, 100.0, "damping")):
            value, deviation = factor * of_loop[name], factor * of_loop[f"{name}_sd"]
            if np.isnan(value):
                assert shown.text == "–" and not shown.spread
            else:
                assert float(shown.text.replace("−", "-")) == pytest.approx(value, rel=1e-2, abs=0.006)
                assert shown.spread.startswith("± ") and np.isfinite(deviation)


def test_the_wall_has_actuators_only(qtbot, watched):
    panel = show_panel(qtbot, WallPanel, watched)
    assert {tile.content.name for tile in panel._grid.tiles} == set(watched.results.actuators)
