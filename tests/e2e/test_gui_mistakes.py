"""Mistakes before the window is there: one line, exit code 2, and nothing of Qt's own complaints."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.e2e.desktop import until
from tests.needs import needs

NOWHERE = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
OFFSCREEN = {**NOWHERE, "QT_QPA_PLATFORM": "offscreen"}


def on_x11(environment, said):
    return pytest.param(environment, said, marks=needs("Qt on X11"))


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "there is no display"),
        on_x11({"DISPLAY": ":4321"}, "the display :4321 does not answer"),
        on_x11({"WAYLAND_DISPLAY": "wayland-77"}, "the display wayland-77 does not answer"),
        on_x11({"WAYLAND_DISPLAY": "wayland-77", "DISPLAY": ":4321"}, "the display wayland-77 or :4321 does not"),
        on_x11({"QT_QPA_PLATFORM": "xcb"}, "DISPLAY is empty"),
        pytest.param({"QT_QPA_PLATFORM": "nonsense"}, "Qt cannot open a window .*nonsense", marks=needs("Qt")),
    ],
)
def test_where_there_is_no_display_a_line_says_what_to_do(start, environment, said):
    told = one_line(start("gui", **NOWHERE | environment))
    assert re.search(f"gui: {said}.*: synchroscope watch shows the same in a terminal", told)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(
            ("--simulation", "warp"), "there is no simulation 'warp': choose from hybrid, ", marks=needs("Qt")
        ),
        (
            ("--simulation", "hybrid", "--connect", "tcp://127.0.0.1:5"),
            "--connect, --simulation: give only one of them",
        ),
        (("README.md", "--serve", "tcp://127.0.0.1:5"), "FILE, --serve: give only one of them"),
        (("no-such-run.h5",), "no-such-run.h5: no such file"),
        (("docs",), "docs: is a folder, give a file"),
        (("--config", "none.toml"), "none.toml: no such file"),
        (("--connect", "nowhere"), "'nowhere' is not an endpoint: write tcp://HOST:PORT"),
        (("--serve", "tcp://127.0.0.1"), "'tcp://127.0.0.1' is not an endpoint"),
        (("--serve", "tcp://127.0.0.1:5", "--alarm", "fdb_delay"), "--alarm fdb_delay: write for example"),
        (("--alarm", "fdb_delay=1"), "--alarm requires --serve"),
        (("--stream",), "--stream requires a FILE"),
        (("a.view.json", "--stream"), "a.view.json: a saved view has its own columns and comparison: give it alone"),
        (("README.md", "--record", "x.h5"), "--record requires --stream"),
        (("--connect", "tcp://127.0.0.1:99999"), "ports end at 65535"),
        (("--theme", "green"), "argument --theme: invalid choice: 'green'"),
    ],
)
def test_a_word_that_means_nothing_is_told_before_there_is_a_window(start, words, said):
    assert re.search(said, one_line(start("gui", *words, **OFFSCREEN)))


@pytest.mark.parametrize("kept", [None, b"\x00\xffnothing\n[[", b"[window]\nsettings=nonsense\n"])
def test_damaged_settings_are_told_in_the_window_and_cost_nothing_else(desktop, kept):
    desktop.settings.parent.mkdir()
    if kept is not None:
        desktop.settings.write_bytes(kept)
    window = desktop.open("gui", "--theme", "light")
    desktop.stands()
    first = desktop.screen.picture()
    # what was told goes
    desktop.press("Escape")
    if kept is None:
        desktop.stands()
        assert np.array_equal(first, desktop.screen.picture())
    else:
        until(lambda: not np.array_equal(first, desktop.screen.picture()), "no message any more")
    desktop.press("ctrl+q")
    window.wait()
    assert window.err == ""
    # a file that is none is not lost: somebody may have written it by hand
    copies = [path.read_bytes() for path in desktop.settings.parent.glob("*.damaged")]
    assert copies == ([kept] if kept and kept.startswith(b"\x00") else [])
    assert b"[window]" in desktop.settings.read_bytes()


def one_line(running) -> str:
    running.wait(2)
    assert running.out == ""
    assert re.fullmatch(r"synchroscope gui: [^\n]*\n", running.err), running.err
    return running.err
