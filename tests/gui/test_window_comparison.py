"""Recordings over each other: opened, aligned, edited and removed in the window."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from gui.panels.comparison import ComparisonPanel
from gui.sources.processes import recording as loading

RATE, N, LAG = 200.0, 4000, 0.35


def command(t):
    return 10.0 * np.sin(2.0 * np.pi * 1.1 * t) * np.exp(-(((t - 9.0) / 3.0) ** 2))


def write(path, lag, gain, names=("command", "measured")):
    time = np.arange(N) / RATE
    columns = time, command(time - lag), gain * command(time - lag - 0.02)
    header = f"t [s],{names[0]} [mm],{names[1]} [mm]"
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=header, comments="", fmt="%.17g")
    return path, columns[1:]


@pytest.fixture
def pair(tmp_path):
    """Two recordings of one motion, the second 0.35 s later and with another gain."""
    return write(tmp_path / "before.csv", 0.0, 0.9), write(tmp_path / "after.csv", LAG, 0.98)


@pytest.fixture
def compared(begin, warm_kernels, pair):
    """The window with both."""
    (before, _), (after, _) = pair
    hands = begin(file=str(before), compare=(str(after),))
    hands.until(lambda: len(hands.history.compared) == 1)
    hands.ticks(3)
    return hands


def panel_of(hands):
    return hands.window.dock_area.panel(ComparisonPanel)


def values(panel, key, x):
    """What the readouts of a row show at x."""
    history = panel._history
    rows = [row.key for row in panel.stack.rows]
    return [interval.low for interval in panel.reader(history)(x)[rows.index(key)]]


def test_two_recordings_are_aligned_and_their_difference_is_a_row(compared, pair):
    (_, (_, one)), (_, (_, two)) = pair
    hands, panel = compared, panel_of(compared)
    assert panel.isVisible()
    (run,) = hands.history.compared
    assert run.lag == LAG
    assert panel.lags[0].lag.value() == LAG
    hands.until(lambda: panel.lags[0].quality.text() == "correlation 1.000")
    assert "overlay:measured" in panel.shown
    assert "difference:measured" in panel.shown
    # every sample of the reference, bit for bit
    shift = round(LAG * RATE)
    assert all(
        values(panel, "overlay:measured", i / RATE) == [one[i], two[i + shift]]
        and values(panel, "difference:measured", i / RATE) == [two[i + shift] - one[i]]
        for i in range(0, N - shift, 97)
    )
    assert np.isnan(values(panel, "difference:measured", (N - 10) / RATE)).all()
    # results are compared too: both lag by 20 ms
    assert "difference:actuator.delay" in panel.shown
    assert values(panel, "difference:actuator.delay", 9.0) == pytest.approx([0.0], abs=0.05)
    labels = {row.key: [curve.label for curve in row.curves] for row in panel.stack.rows}
    assert labels["overlay:measured"] == ["before.csv", "after.csv"]
    assert labels["difference:measured"] == ["after.csv − before.csv"]


def test_a_lag_is_edited_and_estimated_again(compared, pair):
    (_, (_, one)), (_, (_, two)) = pair
    hands, panel = compared, panel_of(compared)
    (row,) = panel.lags
    row.lag.setFocus()
    row.lag.selectAll()
    QTest.keyClicks(row.lag, "0.1")
    QTest.keyClick(row.lag, Qt.Key.Key_Return)
    hands.ticks()
    assert hands.history.compared[0].lag == 0.1
    assert row.quality.text() == "comparing …"
    assert values(panel, "difference:measured", 9.0) == [two[1800 + 20] - one[1800]]
    hands.click(row.button)
    hands.ticks()
    assert hands.history.compared[0].lag == LAG
    assert row.lag.value() == LAG


def verdicts(panel):
    """Reference, run, difference, tolerance and verdict of each quantity that is listed."""
    return {name: cells for name, *cells in panel.differences.model.texts}


def enter_tolerance(hands, panel, quantity, text):
    """Type a tolerance into the list, as its user does."""
    view = panel.differences.table
    row = [cells[0] for cells in panel.differences.model.texts].index(quantity)
    view.setFocus()
    view.setCurrentIndex(view.model().index(row, 4))
    QTest.keyClick(view, Qt.Key.Key_F2)
    editor = QApplication.focusWidget()
    assert isinstance(editor, QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    hands.until(lambda: QApplication.focusWidget() is not editor)
    hands.until(lambda: all(run.judged for run in hands.history.compared))
    hands.ticks()


def test_differences_are_judged_by_tolerances_and_reported(compared, monkeypatch, tmp_path):
    """The gains are 0.9 and 0.98, so that the ratio falls from 1.1111 to 1.0204, by 0.0907 or 8.2 %."""
    hands, panel = compared, panel_of(compared)
    hands.until(lambda: hands.history.compared[0].judged)
    assert not panel.differences.isVisible()
    hands.click(panel.differences_button)
    hands.ticks()
    assert panel.stack.width() > 0.95 * panel.width(), "the plots keep their width"
    numbers = [float(cell.partition(" ")[0]) for cell in verdicts(panel)["ratio"][:3]]
    assert numbers == pytest.approx([1 / 0.9, 1 / 0.98, 1 / 0.98 - 1 / 0.9], abs=1e-3)
    assert verdicts(panel)["delay [ms]"][3:] == ["", ""]
    enter_tolerance(hands, panel, "ratio", "5%")
    assert verdicts(panel)["ratio"][3:] == ["5 %", "■ fail"]
    enter_tolerance(hands, panel, "delay [ms]", "0.5")
    enter_tolerance(hands, panel, "ratio", "10 %")
    assert verdicts(panel)["ratio"][3:] == ["10 %", "● pass"]
    assert panel.differences.heading.text() == "2 of 2 within tolerance"
    # no number, and one that the command refuses
    enter_tolerance(hands, panel, "ratio", "many")
    assert verdicts(panel)["ratio"][3] == "10 %"
    enter_tolerance(hands, panel, "commands apart, rms [%]", "3%")
    hands.until(lambda: any("leave % out" in line for line in hands.notices))
    hands.until(lambda: hands.history.compared[0].judged)
    # by the lag that is drawn
    panel.lags[0].lag.setValue(0.1)
    hands.until(lambda: hands.history.compared[0].judged)
    hands.ticks()
    assert panel.lags[0].quality.text() != "correlation 1.000"
    pages = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: pages.append(url.toLocalFile()) or True)
    hands.click(panel.report)
    hands.name_file(tmp_path / "page.html")
    hands.until(lambda: pages)
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "after.csv is within all 2 tolerances" in text
    assert "0.1 s later, as given" in text


def test_a_third_one_is_added_and_each_can_be_removed(compared, tmp_path):
    hands, panel = compared, panel_of(compared)
    third, _ = write(tmp_path / "third.csv", -0.1, 1.1)
    hands.click(panel.add)
    hands.name_file(third)
    hands.until(lambda: len(hands.history.compared) == 2)
    hands.ticks(3)
    assert [run.name for run in hands.history.compared] == ["after.csv", "third.csv"]
    assert hands.history.compared[1].lag == pytest.approx(-0.1)
    assert len(values(panel, "overlay:measured", 9.0)) == 3
    assert len(values(panel, "difference:measured", 9.0)) == 2
    hands.click(panel.lags[0].close_button)
    hands.ticks(3)
    assert [run.name for run in hands.history.compared] == ["third.csv"]
    assert len(panel.lags) == 1
    assert "third.csv" in panel.lags[0].name.text()
    hands.click(panel.lags[0].close_button)
    hands.ticks(3)
    assert not panel.stack.rows
    # the recording itself is as it was
    assert hands.history.end_x == pytest.approx((N - 1) / RATE)


def test_what_cannot_be_compared_is_one_line(compared, tmp_path):
    hands = compared
    other = tmp_path / "other.csv"
    np.savetxt(
        other, np.random.default_rng(0).normal(size=(500, 2)), delimiter=",", header="p [V],q [V]", comments=""
    )
    hands.program.comparison.opener.open_path(other, ("--auxiliary", "--rate", "100"))
    hands.until(lambda: any("other.csv has no channel" in line for line in hands.notices))
    assert len(hands.history.compared) == 1
    gone = tmp_path / "gone.csv"
    hands.program.comparison.opener.open_path(gone)
    hands.until(lambda: any("gone.csv" in line for line in hands.notices))
    assert len(hands.history.compared) == 1


def test_loading_can_be_cancelled_and_ends_with_the_recording(compared, monkeypatch, tmp_path):
    hands, panel = compared, panel_of(compared)
    started = []

    def start(_words, **options):
        script = "import sys; sys.stdin.read()"
        started.append(subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, **options))
        return started[-1]

    monkeypatch.setattr(loading, "start_python", start)
    third, _ = write(tmp_path / "third.csv", 0.0, 1.0)
    for number, end in enumerate((lambda: hands.click(panel._cancel), lambda: hands.key("Ctrl+D")), 1):
        hands.program.comparison.opener.open_path(third)
        # the text is that of the first one at first
        hands.until(lambda n=number: len(started) == n and "third.csv: reading the file" in panel._loading.text())
        end()
        hands.until(lambda: started[-1].poll() is not None)
        assert not panel._loading.isVisible()
    assert len(started) == 2
    assert hands.first_page


def test_nothing_is_compared_without_a_recording(begin):
    hands = begin()
    assert not hands.program.actions["file.compare"].isEnabled()
