"""Everything that can be asked of the window, in one table: menus, keys, the palette and the list of keys read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

PANELS = (
    ("histories", "Time histories"),
    ("indicators", "Tracking indicators"),
    ("tiles", "Tiles"),
    ("subspace", "Synchronization subspace"),
    ("reliability", "Reliability"),
    ("transfer", "Transfer function"),
    ("hysteresis", "Hysteresis"),
    ("events", "Events"),
)
"""Key and title of every panel, in the order of Alt+1, Alt+2 and so on."""
N_LAYOUTS = 9
"""Layouts that have a key of their own."""


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that can be asked.

    Parameters
    ----------
    key : unique, such as ``view.pause``.
    text : as in a menu, with ``&`` before its letter; without it elsewhere.
    group : its menu.
    shortcuts : as `QKeySequence` reads them; the first is shown in the menu.
    tip : what it does, a sentence.
    checkable : it is on or off.
    choice : of the commands with the same word one is on.
    modifies : the read-only operator mode does not offer it.
    separator_before : a line is drawn above it in the menu.
    submenu : a menu within the group's; empty for none.
    """

    key: str
    text: str
    group: str
    shortcuts: tuple[str, ...] = ()
    tip: str = ""
    checkable: bool = False
    choice: str = ""
    modifies: bool = True
    separator_before: bool = False
    submenu: str = ""

    @property
    def plain_text(self) -> str:
        """The text without the marks of a menu."""
        return self.text.replace("&&", "\0").replace("&", "").replace("\0", "&").rstrip("…")


class Offered(Protocol):
    """A simulation that can be played, as `gui.sources` hands it on."""

    @property
    def name(self) -> str:
        """What `synchroscope replay` calls it."""
        ...

    @property
    def summary(self) -> str:
        """A few words for a menu."""
        ...

    @property
    def group(self) -> str:
        """The menu that it belongs to."""
        ...


def simulation_commands(offers: Iterable[Offered]) -> tuple[Command, ...]:
    """Return a command for every simulation: ``source.simulate.NAME``."""
    return tuple(
        Command(
            f"source.simulate.{offer.name}",
            f"{offer.name}: {offer.summary}".replace("&", "&&"),
            "Simulations",
            tip=f"Play the simulation {offer.name}: {offer.summary}.",
            submenu=offer.group,
        )
        for offer in offers
    )


_FILE = (
    Command("file.open", "&Open…", "File", ("Ctrl+O",), "Open a recorded run or a text file and play it."),
    Command("file.columns", "C&hoose columns…", "File", (), "Choose anew what the columns of this file mean."),
    Command(
        "file.export_png",
        "Export panel as &PNG…",
        "File",
        ("Ctrl+Shift+P",),
        "A picture in pixels.",
        separator_before=True,
    ),
    Command("file.export_svg", "Export panel as S&VG…", "File", ("Ctrl+Shift+V",), "A picture in lines and text."),
    Command("file.export_csv", "Export span as &CSV…", "File", ("Ctrl+E",), "The samples and results in view."),
    Command("file.quit", "&Quit", "File", ("Ctrl+Q",), "Quit.", modifies=False, separator_before=True),
)
_SOURCE = (
    Command("source.connect", "&Watch a service…", "Source", ("Ctrl+L",), "Connect to a service that runs."),
    Command("source.serve", "&Start a service for a rig…", "Source", ("Ctrl+R",), "Listen to a rig, and record it."),
    Command(
        "source.disconnect", "&Disconnect", "Source", ("Ctrl+D",), "Leave what is watched, end what was started."
    ),
    Command(
        "note.add",
        "Add a &note…",
        "Source",
        ("N",),
        "Write a note at this instant into the run.",
        separator_before=True,
    ),
)
_ALARMS = (
    Command(
        "alarm.list",
        "&List of alarms",
        "Alarms",
        ("Ctrl+Shift+A",),
        "Show the list of alarms, and focus it.",
        modifies=False,
    ),
    Command(
        "alarm.acknowledge_all",
        "&Acknowledge all",
        "Alarms",
        ("Shift+A",),
        "Acknowledge all active alarms.",
        separator_before=True,
    ),
)
_TIME = (
    Command(
        "view.pause",
        "&Pause",
        "Time",
        ("Space",),
        "Freeze the display (acquisition continues).",
        checkable=True,
        modifies=False,
    ),
    Command("view.live", "&Live", "Time", ("Home",), "Go to the newest sample and stay there.", modifies=False),
    Command(
        "view.back", "&Back", "Time", ("Left",), "A tenth of the span earlier.", modifies=False, separator_before=True
    ),
    Command("view.forward", "&Forward", "Time", ("Right",), "A tenth of the span later.", modifies=False),
    Command("view.back_span", "Back a whole span", "Time", ("Shift+Left",), "One span earlier.", modifies=False),
    Command("view.forward_span", "Forward a whole span", "Time", ("Shift+Right",), "One span later.", modifies=False),
    Command(
        "view.zoom_in",
        "Zoom &in",
        "Time",
        ("Ctrl++", "+", "Ctrl+="),
        "Half the span.",
        modifies=False,
        separator_before=True,
    ),
    Command("view.zoom_out", "Zoom &out", "Time", ("Ctrl+-", "-"), "Twice the span.", modifies=False),
    Command("view.span_5", "Show 5 s", "Time", ("1",), "A span of 5 s.", modifies=False, separator_before=True),
    Command("view.span_30", "Show 30 s", "Time", ("2",), "A span of 30 s.", modifies=False),
    Command("view.span_60", "Show 60 s", "Time", ("3",), "A span of 60 s.", modifies=False),
    Command("view.span_600", "Show 10 min", "Time", ("4",), "A span of 10 minutes.", modifies=False),
    Command("view.span_all", "Show the &whole run", "Time", ("0",), "All that is remembered.", modifies=False),
)
_REPLAY = (
    Command("replay.play", "&Play or pause", "Replay", ("P",), "Let the recording run, or halt it."),
    Command("replay.step", "&Step", "Replay", (".",), "Play a little further, then pause."),
    Command("replay.slower", "S&lower", "Replay", ("[",), "Play at the next lower speed."),
    Command("replay.faster", "&Faster", "Replay", ("]",), "Play at the next higher speed."),
    Command("replay.seek", "&Go to…", "Replay", ("Ctrl+G",), "Play from another instant.", separator_before=True),
    Command("replay.restart", "From the &beginning", "Replay", ("Ctrl+Home",), "Play from the first sample."),
    Command("replay.loop", "L&oop", "Replay", ("Ctrl+Shift+L",), "Begin again at the end.", checkable=True),
    Command(
        "replay.faults",
        "Fa&ults",
        "Replay",
        ("Ctrl+Shift+F",),
        "Faults to switch on by hand.",
        True,
        separator_before=True,
    ),
)
_PANELS = (
    *(
        Command(f"panel.{key}", title, "Panels", (f"Alt+{n}",), "Show or hide this panel.", True, modifies=False)
        for n, (key, title) in enumerate(PANELS, 1)
    ),
    Command("actuator.next", "&Next actuator", "Panels", ("Ctrl+Down", ","), modifies=False, separator_before=True),
    Command("actuator.previous", "&Previous actuator", "Panels", ("Ctrl+Up",), modifies=False),
    Command(
        "panel.next", "Next pane&l", "Panels", ("F6",), "Focus the next panel.", modifies=False, separator_before=True
    ),
    Command("panel.previous", "Previous panel", "Panels", ("Shift+F6",), "Focus the previous panel.", modifies=False),
)
_LAYOUTS = (
    *(
        Command(
            f"layout.{n}", f"Layout {n}", "Layouts", (f"Ctrl+{n}",), "Arrange the panels like this.", modifies=False
        )
        for n in range(1, N_LAYOUTS + 1)
    ),
    Command(
        "layout.save",
        "&Save layout as…",
        "Layouts",
        ("Ctrl+Shift+S",),
        "Keep this arrangement.",
        separator_before=True,
    ),
    Command("layout.delete", "&Delete this layout", "Layouts", tip="Forget a layout that was saved."),
    Command("layout.reset", "&Reset layout", "Layouts", ("Ctrl+0",), "Restore the default layout.", modifies=False),
)
_WINDOW = (
    Command("window.settings", "&Settings…", "Window", ("Ctrl+,",), "Limits, theme, and the service's own."),
    *(
        Command(f"theme.{name}", text, "Window", (), tip, True, "theme", modifies=False, submenu="&Theme")
        for name, text, tip in (
            ("system", "As the &desktop", "Light or dark as the desktop is."),
            ("light", "&Light", "Dark on light."),
            ("dark", "Dar&k", "Light on dark, for a dim room."),
        )
    ),
    Command("window.operator", "&Operator mode", "Window", ("F11",), "Full screen, read-only.", True, modifies=False),
)
_HELP = (
    Command("help.palette", "&Find a command…", "Help", ("Ctrl+K",), "Type what is wanted.", modifies=False),
    Command("help.keys", "&Shortcuts", "Help", ("F1",), "All shortcuts and mouse gestures.", modifies=False),
    Command("help.documentation", "&Documentation", "Help", tip="What to do and what it means.", modifies=False),
    Command("help.about", "&About Synchroscope", "Help", tip="Version and licence."),
)
COMMANDS = (*_FILE, *_SOURCE, *_ALARMS, *_TIME, *_REPLAY, *_PANELS, *_LAYOUTS, *_WINDOW, *_HELP)
GROUPS = ("File", "Source", "Simulations", "Alarms", "Time", "Replay", "Panels", "Layouts", "Window", "Help")
"""The menus, from left to right."""
