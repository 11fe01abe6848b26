"""A long file in the window: drawn by some of its rows, until all are read."""

import numpy as np
import pytest

from gui.sources.processes import recording as loading
from gui.sources.processes.recording import OpenRecording
from replay.formats import base, text
from replay.playback.description import open_described
from tests.gui.test_window_recording import RATE, load


@pytest.fixture
def coarse(monkeypatch, tmp_path):
    """A recording that is described by some of its rows, and what computes it waits until it is told to go on."""
    monkeypatch.setattr(text, "LONG", 1 << 18)
    monkeypatch.setattr(base, "_SPANS", 64)
    time = np.arange(20_000) / RATE
    path = tmp_path / "long.csv"
    table = np.column_stack((time, 10.0 * np.sin(2.0 * time), 9.0 * np.sin(2.0 * time - 0.04)))
    np.savetxt(path, table, "%.9g", ",", header="t [s],cmd [mm],meas [mm]", comments="")
    started, start = [], loading.start_python

    def wait(words, **options):
        script = "import sys; sys.stdin.readline(); from monitor.__main__ import main; sys.exit(main(sys.argv[1:]))"
        started.append(start(("-c", script, *words[2:]), **options))
        return started[-1]

    def go_on():
        started[-1].stdin.write(b"\n")
        started[-1].stdin.flush()

    monkeypatch.setattr(loading, "start_python", wait)
    return OpenRecording(path, (), open_described(path, n_columns=100, coarse=True)[0]), go_on


def test_a_long_file_is_drawn_by_some_of_its_rows_until_it_is_read(begin, warm_kernels, coarse):
    (source, go_on), hands = coarse, begin()
    hands.program.sources.open(source)
    hands.until(lambda: hands.history.recording is not None and hands.window.is_configured)
    hands.ticks(3)
    bar, view = hands.window.loading_bar, hands.view
    assert bar.isVisible() and "coarse" in bar.text and "reading the file" in bar.text
    assert "coarse" in hands.strip
    assert (view.left, view.right) == pytest.approx((0.0, 20_000 / RATE), abs=0.02)
    low, high = hands.stack.limits(hands.stack.rows[0].key)
    assert -12.0 <= low < -9.0 and 9.0 < high <= 12.0
    # nothing that is computed of samples is shown of these
    assert np.isnan(hands.history.signals.rows(0, 100)).all()
    assert not hands.program.actions["file.export_csv"].isEnabled()
    view.show(50.0, 60.0)
    go_on()
    load(hands)
    assert not bar.isVisible() and "coarse" not in hands.strip
    assert (view.left, view.right) == (50.0, 60.0)
    assert hands.history.signals.end == 20_000
    told = hands.program.sessions.player.description
    assert (told.share, told.n_samples, told.duration) == (1.0, 20_000, 20_000 / RATE)
    np.testing.assert_allclose(max(told.overview.high["cmd"]), 10.0, atol=1e-4)


def test_a_coarse_picture_can_be_cancelled(begin, coarse):
    hands = begin()
    hands.program.sources.open(coarse[0])
    hands.until(hands.window.loading_bar.isVisible)
    hands.click(hands.window.loading_bar.cancel)
    hands.ticks(2)
    assert hands.first_page and not hands.window.loading_bar.isVisible()
    assert hands.history.recording is None


def test_what_only_all_rows_tell_is_asked_after_all(begin, coarse):
    source, go_on = coarse
    lines = source.path.read_text().splitlines()
    source.path.write_text("\n".join([*lines[:9000], "no,number,here", "1,2,3", *lines[9000:]]) + "\n")
    hands = begin()
    hands.program.sources.open(source)
    hands.until(lambda: hands.window.loading_bar.isVisible() and "reading" in hands.strip)
    hands.ticks(3)
    go_on()
    hands.until(lambda: hands.program.sources.opener.chooser is not None or "error" in "".join(hands.notices))
    assert hands.history.recording is None and not hands.window.loading_bar.isVisible()
