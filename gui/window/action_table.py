"""Table of all actions: menus, shortcuts, the command palette and the list of shortcuts are made from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from gui.panels.base import Panel
from gui.panels.catalogue import PANELS
from gui.sources.processes.catalogue import SimulationEntry

SIMULATIONS = "Source/&Simulations"
"""The submenu of simulations."""
N_LAYOUTS = 30
"""Layouts in the menu; the first nine have shortcuts."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """What an action is made from.

    Parameters
    ----------
    key : unique, such as ``view.pause``.
    text : in the menu, with ``&`` before its mnemonic; without it elsewhere.
    menu : the menu it is in.
    shortcuts : as `QKeySequence` reads them; the first is shown in the menu.
    tip : what it does, a sentence.
    checkable : it is on or off.
    exclusive_group : of the actions with the same word one is on.
    modifies : not available in the read-only operator mode.
    separator_before : the menu has a separator before it.
    submenu : submenus of the menu, divided by slashes; empty for none.
    """

    key: str
    text: str
    menu: str
    shortcuts: tuple[str, ...] = ()
    tip: str = ""
    checkable: bool = False
    exclusive_group: str = ""
    modifies: bool = True
    separator_before: bool = False
    submenu: str = ""

    @property
    def plain_text(self) -> str:
        """The text without mnemonic and ellipsis."""
        return plain_text(self.text)


def plain_text(text: str) -> str:
    """Return the text of a menu entry without mnemonic and ellipsis."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")


def simulation_actions(simulations: Iterable[SimulationEntry]) -> tuple[ActionSpec, ...]:
    """Return an action for every simulation: ``source.simulate.NAME``."""
    return tuple(
        ActionSpec(
            f"source.simulate.{simulation.name}",
            f"{simulation.name}: {simulation.summary}".replace("&", "&&"),
            "Source",
            tip=f"Play the simulation {simulation.name}: {simulation.summary}.",
            submenu=f"{SIMULATIONS.partition('/')[2]}/{simulation.group}",
        )
        for simulation in simulations
    )


def panel_actions(panels: Iterable[type[Panel]]) -> tuple[ActionSpec, ...]:
    """Return an action for every panel, ``panel.KEY``, with Alt+1 to Alt+9 and Alt+0 as shortcuts."""
    return tuple(
        _read_only(
            f"panel.{panel.key}",
            panel.title,
            "Panels",
            (f"Alt+{n % 10}",) if n <= 10 else (),
            "Show or hide this panel.",
            checkable=True,
        )
        for n, panel in enumerate(panels, 1)
    )


_read_only = partial(ActionSpec, modifies=False)


def _zoom(key: str, text: str, shortcuts: tuple[str, ...], tip: str) -> ActionSpec:
    return _read_only(f"view.{key}", text, "Replay", shortcuts, tip, submenu="&Zoom")


_FILE = (
    ActionSpec("file.open", "&Open…", "File", ("Ctrl+O",), "Open a recorded run or a file of another program."),
    ActionSpec(
        "file.compare",
        "Co&mpare with a recording…",
        "File",
        ("Ctrl+Shift+O",),
        "Draw another recording over the one that is shown, with their difference.",
    ),
    ActionSpec("file.reload", "Re&load", "File", ("F5",), "Read this file again, and show it as it is shown now."),
    ActionSpec("file.open_view", "Open &view…", "File", (), "Show recordings as they were saved."),
    ActionSpec(
        "file.save_view", "S&ave view as…", "File", (), "Save recordings, rows, zoom, cursors and layout as a file."
    ),
    ActionSpec("file.runs", "Ru&ns…", "File", (), "The run files of a folder: open, compare or report them."),
    ActionSpec("file.columns", "C&hoose columns…", "File", (), "Choose again which column of this file is what."),
    ActionSpec(
        "file.export_figure",
        "Export &figure…",
        "File",
        ("Ctrl+Shift+P",),
        "Save a panel as a figure for a paper: PDF, SVG or PNG.",
        separator_before=True,
    ),
    _read_only(
        "file.copy_figure", "Cop&y figure", "File", ("Ctrl+C",), "Copy the panel with the focus to the clipboard."
    ),
    ActionSpec("file.export_csv", "Export span as &CSV…", "File", ("Ctrl+E",), "Save samples and results in view."),
    ActionSpec(
        "file.report", "&Report…", "File", (), "Write a page on what is recorded, so far if live, and open it."
    ),
    _read_only("file.quit", "&Quit", "File", ("Ctrl+Q",), "Quit Synchroscope.", separator_before=True),
)
_SOURCE = (
    ActionSpec("source.connect", "&Connect to a service…", "Source", ("Ctrl+L",), "Connect to a running service."),
    ActionSpec(
        "source.serve",
        "&Start a service for a rig…",
        "Source",
        ("Ctrl+R",),
        "Start a service that receives and records the signals of a rig.",
    ),
    ActionSpec(
        "source.disconnect",
        "&Disconnect",
        "Source",
        ("Ctrl+D",),
        "Close the connection, and stop processes that this window has started.",
    ),
    ActionSpec(
        "note.add", "Add a &note…", "Source", ("N",), "Add a note to the run at this instant.", separator_before=True
    ),
)
_ALARMS = (
    _read_only("alarm.list", "&List of alarms", "Alarms", ("Ctrl+Shift+A",), "Show and focus the list of alarms."),
    ActionSpec(
        "alarm.acknowledge_all",
        "&Acknowledge all",
        "Alarms",
        ("Shift+A",),
        "Acknowledge all active alarms.",
        separator_before=True,
    ),
)
_TIME = (
    _read_only(
        "view.pause", "&Pause", "Replay", ("Space",), "Freeze the display (acquisition continues).", checkable=True
    ),
    _read_only("view.live", "&Live", "Replay", ("Home",), "Follow the newest sample."),
    _read_only("view.back", "&Back", "Replay", ("Left",), "Move back by a tenth of the span.", separator_before=True),
    _read_only("view.forward", "&Forward", "Replay", ("Right",), "Move forward by a tenth of the span."),
    _read_only("view.back_span", "Back by a span", "Replay", ("Shift+Left",), "Move back by a whole span."),
    _read_only("view.forward_span", "Forward by a span", "Replay", ("Shift+Right",), "Move forward by a whole span."),
    _read_only("view.add_cursor", "Add a &cursor", "Replay", ("M",), "Add a numbered cursor at the moving one."),
    _read_only("view.clear_cursors", "Remove cursors", "Replay", ("Shift+M",), "Remove the numbered cursors."),
    _zoom("zoom_in", "Zoom &in", ("Ctrl++", "+", "Ctrl+="), "Halve the span."),
    _zoom("zoom_out", "Zoom &out", ("Ctrl+-", "-"), "Double the span."),
    _zoom("undo", "&Undo", ("Ctrl+Z", "Alt+Left"), "Undo the last change of the view: span, scale, rows or layout."),
    _zoom("redo", "&Redo", ("Ctrl+Shift+Z", "Alt+Right"), "Do again what was undone last."),
    _zoom("span_5", "Show 5 s", ("1",), "Show a span of 5 s."),
    _zoom("span_30", "Show 30 s", ("2",), "Show a span of 30 s."),
    _zoom("span_60", "Show 60 s", ("3",), "Show a span of 60 s."),
    _zoom("span_600", "Show 10 min", ("4",), "Show a span of 10 minutes."),
    _zoom("span_all", "Show the &whole run", ("0",), "Show the whole history."),
)
_REPLAY = (
    ActionSpec(
        "replay.play", "Pla&y or pause", "Replay", ("P",), "Play or pause the recording.", separator_before=True
    ),
    ActionSpec("replay.step", "&Step", "Replay", (".",), "Play a short step, then pause."),
    ActionSpec("replay.slower", "Slo&wer", "Replay", ("[",), "Play at the next lower speed."),
    ActionSpec("replay.faster", "Fas&ter", "Replay", ("]",), "Play at the next higher speed."),
    ActionSpec("replay.seek", "&Go to…", "Replay", ("Ctrl+G",), "Play from another instant.", separator_before=True),
    ActionSpec("replay.restart", "From t&he beginning", "Replay", ("Ctrl+Home",), "Play from the first sample."),
    ActionSpec("replay.loop", "L&oop", "Replay", ("Ctrl+Shift+L",), "Restart at the end.", checkable=True),
    ActionSpec(
        "replay.stream",
        "Stream as if li&ve",
        "Replay",
        ("Ctrl+Shift+T",),
        "Send this file through a service, as a rig would; for example to try alarms.",
        separator_before=True,
    ),
    ActionSpec(
        "replay.faults",
        "Fa&ults",
        "Replay",
        ("Ctrl+Shift+F",),
        "Show the bar of faults to inject into a stream.",
        checkable=True,
    ),
)
_PANELS = (
    *panel_actions(PANELS),
    _read_only(
        "actuator.next",
        "&Next actuator",
        "Panels",
        ("Ctrl+Down", ","),
        "Show the next actuator.",
        separator_before=True,
    ),
    _read_only("actuator.previous", "&Previous actuator", "Panels", ("Ctrl+Up",), "Show the previous actuator."),
    _read_only("panel.next", "Next pane&l", "Panels", ("F6",), "Focus the next panel.", separator_before=True),
    _read_only("panel.previous", "Previous panel", "Panels", ("Shift+F6",), "Focus the previous panel."),
)
_LAYOUTS = (
    *(
        _read_only(f"layout.{n}", f"Layout {n}", "Layouts", (f"Ctrl+{n}",) if n <= 9 else (), "Apply this layout.")
        for n in range(1, N_LAYOUTS + 1)
    ),
    ActionSpec(
        "layout.save",
        "&Save layout as…",
        "Layouts",
        ("Ctrl+Shift+S",),
        "Save this arrangement of the panels under a name.",
        separator_before=True,
    ),
    ActionSpec("layout.delete", "&Delete this layout", "Layouts", tip="Delete a saved layout."),
    _read_only("layout.reset", "&Reset layout", "Layouts", ("Ctrl+0",), "Restore this layout as it was saved."),
)
_WINDOW = (
    ActionSpec("window.settings", "&Settings…", "Window", ("Ctrl+,",), "Settings of the window and of the service."),
    ActionSpec(
        "window.derived",
        "Derived &channels…",
        "Window",
        ("Ctrl+Shift+D",),
        "Define channels by formulas, and drag channels onto plots.",
    ),
    *(
        _read_only(f"theme.{name}", text, "Window", (), tip, True, "theme", submenu="&Theme")
        for name, text, tip in (
            ("system", "As the &desktop", "Light or dark as the desktop."),
            ("light", "&Light", "Dark text on a light background."),
            ("dark", "Dar&k", "Light text on a dark background, for a dim room."),
        )
    ),
    _read_only("window.operator", "&Operator mode", "Window", ("F11",), "Full screen, read-only.", checkable=True),
)
_HELP = (
    _read_only("help.palette", "&Find a command…", "Help", ("Ctrl+K",), "Find a command by name, or go to a time."),
    _read_only("help.keys", "&Shortcuts", "Help", ("F1",), "List all shortcuts and mouse gestures."),
    _read_only("help.documentation", "&Documentation", "Help", tip="Open the documentation."),
    ActionSpec("help.about", "&About Synchroscope", "Help", tip="Show version and licence."),
)
ACTIONS = (*_FILE, *_SOURCE, *_ALARMS, *_TIME, *_REPLAY, *_PANELS, *_LAYOUTS, *_WINDOW, *_HELP)
MENUS = ("File", "Source", "Alarms", "Replay", "Panels", "Layouts", "Window", "Help")
"""The menus, from left to right."""
