"""Whose numbers stand on a tile, and what is said where other indicators contradict them."""

from __future__ import annotations

import math

import numpy as np

from gui.model.receiver import ReceivedMessages
from gui.model.severity import NO_LIMITS
from gui.wording.level import Level
from monitor.messages.blocks import ResultBlock
from tests.gui.panels.tile_rig import DELAY, RATE, RATIO, RECEIVING, VALUES, drawn, history_of, panel_of, read, tiles


def test_a_service_that_computes_some_measures_is_read_by_the_best_of_them(qtbot):
    values = {"paei_delay": -0.004, "paei_ratio": 0.9, "paei_phase": 0.02, "xcorr_delay": 0.001}
    fdb = {name: value for name, value in VALUES.items() if name.startswith("fdb")}
    for computed, source, delay, words in (
        ({**values, **fdb}, "PAEI", "-4.0 ms", "lead, overshoot"),
        (fdb, "FDB", "11.9 ms ± 0.1", "lag, undershoot"),
        ({"xcorr_delay": 0.004}, "correlation", "4.0 ms", "lag"),
    ):
        panel, _ = panel_of(qtbot, history_of(computed))
        content, numbers = read(panel, "north")
        assert (content.source, numbers["delay"], content.status.words) == (source, delay, words)
        assert not content.mark
    assert set(numbers) == {"delay"}
    # a phase that is the indicator's own has its uncertainty; without a frequency it says whose it is
    panel, _ = panel_of(qtbot, history_of(fdb))
    assert read(panel, "north")[1]["phase"] == "-8.6 ° ± <0.1"
    broadband = {name: value for name, value in VALUES.items() if name.startswith("broadband")}
    panel, _ = panel_of(qtbot, history_of(broadband))
    assert set(read(panel, "north")[1]) == {"delay", "amplitude"}
    panel, _ = panel_of(qtbot, history_of({**broadband, "paei_phase": -0.1}))
    assert read(panel, "north")[1]["phase"] == "-5.7 ° PAEI"


def rows_after(history, rows):
    """Append rows of results, each half a second of the same values."""
    stream = history.results.stream
    index = 512
    for row in rows:
        values = np.tile(list(row.values()), (512, 1))
        block = ResultBlock(stream, index, 10.0 + index / RATE, values)
        history.update(ReceivedMessages(health=RECEIVING, results=(block,)), silence=0.1, age=0.02)
        index += 512
        yield


def test_a_contradiction_is_marked_while_it_lasts_and_is_no_alarm(qtbot):
    values = {**VALUES, "paei_delay": DELAY, "paei_delay_sd": 0.0, "paei_ratio": RATIO, "paei_ratio_sd": 0.0}
    values |= {name.replace("paei", "paei_adaptive"): value for name, value in values.items() if "paei" in name}
    history = history_of(values)
    panel, view = panel_of(qtbot, history)
    tile = tiles(panel)[0]
    content, before = read(panel, "north")
    assert (content.mark, content.contradicting) == ("", ())
    # bands of 2 sd, 0.8 ms of the headline and 0.2 ms of FDB, and 0.2 ms that nobody minds
    steps = (
        ({**values, "fdb_delay": DELAY + 0.0013}, "≠ FDB", "FDB"),
        ({**values, "fdb_delay": DELAY + 0.0011}, "", ""),
        ({**values, "paei_ratio": RATIO + 0.02}, "≠ PAEI", "PAEI"),
        (
            {**values, "fdb_delay": 0.0, "paei_delay": 0.0, "paei_adaptive_delay": 0.0},
            "≠ FDB, PAEI",
            "FDB, PAEI, adaptive PAEI",
        ),
        ({**values, "paei_adaptive_delay": 0.0}, "≠ adaptive PAEI", "adaptive PAEI"),
        ({**values, "fdb_delay": math.nan}, "", ""),
    )
    for _, (_row, mark, named) in zip(rows_after(history, [row for row, *_ in steps]), steps, strict=True):
        view.extend(history.begin_x, history.end_x)
        panel.refresh(history)
        content, numbers = read(panel, "north")
        assert content.mark == mark
        assert (mark in drawn(tile)) == bool(mark)
        assert (f"≠ {named}: " in tile.toolTip()) == bool(mark)
        assert ("Believe the broadband" in tile.toolTip()) == bool(mark)
        assert (mark in tile.accessibleDescription()) if mark else ("≠" not in tile.accessibleDescription())
        # the number and its verdict stay those of the headline, and nothing is over a limit
        assert numbers == before
        assert (content.severity, content.level, content.status.words) == (NO_LIMITS, Level.NONE, "lag, undershoot")
    # who looks back sees the mark of then
    view.pin(0.75)
    panel.refresh(history)
    assert read(panel, "north")[0].mark == "≠ FDB"
    assert read(panel, "north")[0].origin == ("at 10.75 s", "broadband, 0.25 s")
