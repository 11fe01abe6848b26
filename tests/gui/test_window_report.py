"""File > Report: written by a process, opened in the browser; a failure is one line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

pytest.importorskip("jinja2")


@pytest.fixture
def opened(monkeypatch):
    """What a browser is asked to open."""
    pages = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: pages.append(url.toLocalFile()) or True)
    return pages


@pytest.fixture
def shown(begin, warm_kernels, tmp_path):
    """The window with a table."""
    t = np.arange(3000) / 200.0
    table = np.column_stack([t, np.sin(7.0 * t), 0.9 * np.sin(7.0 * (t - 0.02))])
    path = tmp_path / "test.csv"
    np.savetxt(path, table, delimiter=",", header="t [s],command [mm],measured [mm]", comments="")
    hands = begin(file=str(path))
    hands.until(lambda: hands.program.actions["file.report"].isEnabled())
    return hands


def test_a_report_is_written_and_opened(shown, opened, tmp_path):
    page = tmp_path / "page.html"
    shown.program.actions["file.report"].trigger()
    shown.name_file(page)
    shown.until(lambda: opened)
    assert opened == [str(page)]
    # of the table: 20 ms late, 10 % too small
    text = page.read_text("utf-8")
    assert "20.0 ± &lt;0.1 ms late" in text or "20.000 ± &lt;0.001 ms late" in text
    assert "undershoots by 10.0 %" in text
    assert any(f"report saved as {page}" in line for line in shown.notices)


def test_a_failure_is_one_line(shown, opened, tmp_path):
    path = shown.program.sources.source.path
    shown.program.reports.write(tmp_path / "nowhere" / "page.html", path)
    shown.program.reports.write(tmp_path / "second.html", path)
    assert any("still being written" in line for line in shown.notices)
    shown.until(lambda: any("no report: " in line and "cannot be written" in line for line in shown.notices))
    assert opened == []
    assert not list(tmp_path.glob("*.html"))


def test_there_is_no_report_without_a_recording(begin):
    assert not begin().program.actions["file.report"].isEnabled()


def test_a_live_run_is_reported_as_far_as_it_is_recorded(begin, service, rig, opened, tmp_path):
    live = begin(connect=service.url)
    live.until(lambda: live.program.actions["file.report"].isEnabled())
    rig.move(6.0)
    live.until(lambda: live.history.health is not None and live.history.health.recorded >= 1000)
    page = tmp_path / "page.html"
    live.program.actions["file.report"].trigger()
    live.name_file(page)
    live.until(lambda: opened)
    assert opened == [str(page)]
    assert "ms late" in page.read_text("utf-8")
    # the run continues
    rig.move(1.0)
    live.until(lambda: live.history.health.recorded >= 1400)


@pytest.mark.parametrize(
    ("recording", "line"),
    [
        ("", "nothing is recorded, so there is nothing to report on: "),
        ("/elsewhere/run.h5", "/elsewhere/run.h5 is on the service's machine: run synchroscope report there"),
    ],
)
def test_a_live_run_without_a_file_here_is_one_line(fed, hybrid_arrivals, recording, line):
    live = fed()
    first = hybrid_arrivals[0]
    live.played.say(replace(first, health=replace(first.health, recording=recording)))
    live.until(lambda: live.history.health is not None)
    live.program.actions["file.report"].trigger()
    assert any(line in notice for notice in live.notices)
    assert live.window.findChild(QFileDialog) is None
