"""Views of a recording: saved and opened elsewhere, kept over a reload, undone and done again."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint

from gui.panels.histories import HistoriesPanel
from gui.widgets.menus import MenuPlace
from gui.window.saved_views import UNCLOSED, SavedView, read_view, write_view
from monitor.messages.blocks import Channel, EventKind, Role, SignalBlock, Stream
from monitor.recording import RunWriter


def write(path, gain, n=3000):
    t = np.arange(n) / 200.0
    table = np.column_stack([t, np.sin(7.0 * t), gain * np.sin(7.0 * (t - 0.02))])
    np.savetxt(path, table, delimiter=",", header="t [s],command [mm],measured [mm]", comments="", fmt="%.17g")
    return path


@pytest.fixture
def shown(begin, warm_kernels, tmp_path):
    """The window with a recording of 15 s, in a folder of its own."""
    (tmp_path / "here").mkdir()
    hands = begin(file=str(write(tmp_path / "here" / "test.csv", 0.9)))
    hands.until(lambda: hands.program.sessions.player is not None)
    hands.ticks(3)
    return hands


def histories(hands):
    return hands.window.dock_area.panel(HistoriesPanel)


def arrange(hands):
    """Zoom to 2 to 4 s, scale a row by hand, show one row, move the head, hide the events; return what is shown."""
    panel = histories(hands)
    first = next(choice.key for choice in panel.choices() if "error" in choice.text)
    panel.show_rows([first])
    panel.stack.zoom_values(0, 0.5, 0.0)
    hands.view.show(2.0, 4.0)
    hands.view.pin(3.0)
    hands.program.actions["panel.events"].trigger()
    hands.ticks()
    return seen(hands)


def seen(hands):
    panel = histories(hands)
    docks = {key: dock.isHidden() for key, dock in hands.window.dock_area.docks.items()}
    return hands.view.left, hands.view.right, hands.view.pinned, panel.shown, panel.stack.manual_scales, docks


def test_changes_of_the_view_are_undone_and_done_again(shown):
    hands = shown
    states = [seen(hands)]
    panel = histories(hands)
    for change in (
        lambda: hands.key("2"),
        lambda: panel.show_rows([choice.key for choice in panel.choices()]),
        lambda: panel.stack.zoom_values(0, 0.5, 0.0),
        lambda: hands.program.actions["panel.events"].trigger(),
        lambda: hands.key("Ctrl+2"),
        lambda: hands.view.show(1.0, 3.0),
        lambda: hands.key("Left"),
    ):
        change()
        hands.ticks()
        assert seen(hands) != states[-1]
        states.append(seen(hands))
    for state in reversed(states[:-1]):
        hands.key("Ctrl+Z")
        hands.ticks()
        assert seen(hands) == state
    for state in states[1:]:
        hands.key("Ctrl+Shift+Z")
        hands.ticks()
        assert seen(hands) == state


def test_a_file_that_was_written_again_is_offered_and_reloaded_as_it_was_shown(shown):
    hands = shown
    before = arrange(hands)
    path = hands.program.sources.source.path
    write(path, 0.5)
    bar = hands.window.notification_bar
    hands.until(lambda: bar._act.isVisible())
    assert bar.log.active[0].text == "test.csv was written again"
    first = hands.history
    hands.click(bar._act)
    hands.until(lambda: hands.history is not first and hands.program.sessions.player is not None)
    hands.ticks(4)
    assert seen(hands) == before
    assert np.nanmax(hands.history.signals.samples(0.0, 15.0, 10_000, [1])[1]) == pytest.approx(0.5, abs=1e-4)
    assert not bar._act.isVisible()
    # also without a change
    second = hands.history
    hands.key("F5")
    hands.until(lambda: hands.history is not second and hands.history.recording is not None)
    # until it is shown in full, the view is that which is to be shown
    hands.key("F5")
    hands.until(lambda: hands.program.views._wanted is None and hands.program.sessions.player is not None)
    hands.ticks(4)
    assert seen(hands) == before
    # panels that had nothing to show have rows once they do
    hands.program.comparison.opener.open_path(write(path.with_name("other.csv"), 0.7))
    hands.until(lambda: len(hands.history.compared) == 1)
    hands.ticks(3)
    assert hands.window.dock_area.panels["comparison"].shown


def write_run(path, *epochs, begin=0):
    """Write a run of 10 s at 100 Hz for each epoch, the first sample of which has the number `begin`."""
    channels = Channel("c", Role.COMMAND, "mm", "a"), Channel("m", Role.MEASURED, "mm", "a")
    writer = RunWriter(path, {"indicators": {"window": 1.0}})
    t = (begin + np.arange(1000)) / 100.0
    for epoch in epochs:
        block = np.column_stack([np.sin(7.0 * t), np.sin(7.0 * (t - 0.02))])
        writer.signals(SignalBlock(Stream("rig", epoch, 100.0, channels), begin, begin / 100.0, block))
    writer.close()
    return str(path)


def test_a_view_of_what_follows_a_restart_is_kept_over_a_reload(begin, warm_kernels, tmp_path):
    hands = begin(file=write_run(tmp_path / "run.h5", 1, 2))
    hands.until(lambda: hands.program.sessions.player is not None)
    hands.ticks(3)
    hands.view.show(14.0, 16.0)
    hands.view.pin(15.0)
    first = hands.history
    hands.key("F5")
    hands.until(lambda: hands.history is not first and hands.program.sessions.player is not None)
    hands.ticks(4)
    assert (hands.view.left, hands.view.right, hands.view.pinned) == (14.0, 16.0, 15.0)


def test_the_next_part_of_a_run_is_appended(begin, warm_kernels, tmp_path):
    write_run(tmp_path / "run-3.h5", 9)  # of another day
    hands = begin(file=write_run(tmp_path / "run.h5", 1))
    hands.until(lambda: hands.program.sessions.player is not None)
    hands.ticks(3)
    hands.view.show(4.0, 6.0)
    alone = hands.history
    second = write_run(tmp_path / "run-2.h5", 1, begin=1000)
    hands.until(lambda: "run-2.h5 was written: it may be the next part of this run" in "".join(hands.notices))
    hands.click(hands.window.notification_bar._act)
    hands.until(lambda: hands.history is not alone and hands.program.sessions.player is not None)
    hands.ticks(4)
    assert (hands.view.left, hands.view.right) == (4.0, 6.0)
    assert (alone.signals.end, hands.history.signals.end) == (1000, 2000)
    assert hands.program.sources.source.words == (second, "--join")
    _, written = hands.history.signals.samples(0.0, 20.0)
    np.testing.assert_allclose(written[:, 0], np.sin(0.07 * np.arange(2000)), atol=1e-12)


def test_all_parts_of_a_run_move_with_its_view(tmp_path):
    (tmp_path / "here").mkdir()
    parts = [write(tmp_path / "here" / name, 0.9, 20) for name in ("a.csv", "b.csv")]
    write_view(
        SavedView((*map(str, parts), "--join", "--window", "1"), (0.0, 1.0)), tmp_path / "here" / "v.view.json"
    )
    (tmp_path / "here").rename(tmp_path / "there")
    moved = [str(tmp_path / "there" / part.name) for part in parts]
    assert read_view(tmp_path / "there" / "v.view.json").recording == (*moved, "--join", "--window", "1")
    (tmp_path / "there" / "b.csv").unlink()
    with pytest.raises(ValueError, match=r"b\.csv is gone"):
        read_view(tmp_path / "there" / "v.view.json")


def test_a_view_is_saved_and_opened_elsewhere_with_what_is_compared(shown, begin, tmp_path):
    hands = shown
    other = write(tmp_path / "here" / "other.csv", 0.7)
    hands.program.comparison.opener.open_path(other)
    hands.until(lambda: len(hands.history.compared) == 1)
    hands.ticks(3)
    hands.window.dock_area.panels["comparison"].lags[0].lag.setValue(0.25)
    before = arrange(hands)
    hands.program.actions["file.save_view"].trigger()
    hands.name_file(tmp_path / "here" / "ours.view.json")
    assert any("view saved as " in line for line in hands.notices)
    hands.leave()
    (tmp_path / "here").rename(tmp_path / "there")
    colleague = begin()
    colleague.program.actions["file.open_view"].trigger()
    colleague.name_file(tmp_path / "there" / "ours.view.json")
    colleague.until(lambda: colleague.history.compared and colleague.program.views._wanted is None)
    colleague.ticks(3)
    assert seen(colleague) == before
    (run,) = colleague.history.compared
    assert (run.name, run.lag) == ("other.csv", 0.25)


def test_notes_on_a_recording_are_kept_with_its_view(shown, begin, tmp_path):
    hands = shown
    hands.program.actions["note.add"].trigger()
    hands.window.note_bar.written.emit("the specimen cracks", 2.5)
    hands.program._notes.ask(6.0, 8.0)
    hands.window.note_bar.written.emit("slips", 6.0)
    hands.ticks()
    texts = ["the specimen cracks", "slips (6 s to 8 s)"]

    def told(history):
        return [(placed.x, placed.event.detail) for placed in history.events if placed.event.kind is EventKind.NOTE]

    expected = [(pytest.approx(x, abs=0.006), text) for x, text in zip((2.5, 6.0), texts, strict=True)]
    assert told(hands.history) == expected
    hands.program.views.save(tmp_path / "noted.view.json")
    # over a reload too, once each
    first = hands.history
    hands.key("F5")
    hands.until(lambda: hands.history is not first and hands.program.views._wanted is None)
    assert told(hands.history) == expected
    other = begin(file=str(tmp_path / "noted.view.json"))
    other.until(lambda: other.program.views._wanted is None and other.program.sessions.player is not None)
    assert told(other.history) == expected


def test_the_view_of_a_window_that_was_not_closed_is_offered(shown, begin, store):
    before = arrange(shown)
    shown.program.views.keep()
    kept = store.value(UNCLOSED)
    shown.leave()
    assert not store.contains(UNCLOSED)
    # as it is after a power failure
    store.setValue(UNCLOSED, kept)
    hands = begin()
    bar = hands.window.notification_bar
    assert bar.log.active[0].text == "test.csv was shown when the window ended without being closed"
    hands.click(bar._act)
    hands.until(lambda: hands.program.views._wanted is None and hands.program.sessions.player is not None)
    hands.ticks(4)
    assert seen(hands) == before
    # a second window beside it neither keeps nor offers
    hands.program.views.keep()
    other = begin()
    assert not other.window.notification_bar.log.active


def test_cursors_are_added_by_key_and_the_span_between_two_is_exported(shown, tmp_path):
    hands = shown
    for x in (2.0, 3.0):
        hands.view.set_cursor(x)
        hands.key("M")
    assert hands.view.marks == (2.0, 3.0)
    entries = hands.program.exports._entries(histories(hands), MenuPlace(QPoint(), x=2.5))
    next(entry for entry in entries if "between the cursors" in entry.text).act()
    hands.name_file(tmp_path / "part.csv")
    hands.until(lambda: any("saved: " in line for line in hands.notices))
    written = np.loadtxt(tmp_path / "part.csv", delimiter=",", skiprows=1)
    t = np.arange(400, 601) / 200.0
    assert written[:, 0] == pytest.approx(t)
    assert written[:, 1] == pytest.approx(np.sin(7.0 * t))
    hands.program.actions["view.clear_cursors"].trigger()
    assert hands.view.marks == ()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("no JSON", "is no view that File > Save view as wrote"),
        ("[" * 100_000, "is no view that File > Save view as wrote"),
        (
            '{"synchroscope": "view 1", "recording": ["a.view.json"], "span": [0, 1], "arrangement": "é"}',
            "is no view that File > Save view as wrote",
        ),
        ('{"synchroscope": "view 1", "recording": [], "span": [0, 1]}', "is no view that File > Save view as wrote"),
        ('{"synchroscope": "view 1", "recording": ["gone.csv"], "span": [0, 1]}', "its recording gone.csv is gone"),
    ],
)
def test_what_is_no_view_or_has_no_recording_is_refused_in_one_line(begin, tmp_path, content, line):
    hands = begin()
    path = tmp_path / "a.view.json"
    path.write_text(content)
    hands.program.views.open(path)
    assert line in hands.notices[-1] and str(path) in hands.notices[-1]
    assert hands.first_page


def test_a_view_whose_recording_cannot_be_read_is_not_shown_with_a_later_one(shown, tmp_path):
    hands = shown
    path = tmp_path / "here" / "ours.view.json"
    hands.view.show(2.0, 4.0)
    hands.program.views.save(path)
    recording = hands.program.sources.source.path
    recording.write_text("no numbers\n")
    hands.program.views.open(path)
    hands.until(lambda: any("error" in line for line in hands.notices))
    write(recording, 0.9)
    first = hands.history
    hands.program.sources.opener.open_path(recording)
    hands.until(lambda: hands.history is not first and hands.program.sessions.player is not None)
    hands.ticks(4)
    assert (hands.view.left, hands.view.right) == pytest.approx((0.0, 15.0), abs=0.01)
