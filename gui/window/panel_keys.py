"""What hands do in the panels beside the commands: keys that go where the focus is, and the mouse."""

from __future__ import annotations

GESTURES = (
    ("wheel", "zoom in time, around the mouse"),
    ("Ctrl+wheel", "zoom the values of the row under the mouse"),
    ("drag", "scrub back and forth"),
    ("point", "values under the cursor, in all panels"),
    ("click", "pin the cursor; again: let it go"),
    ("double click", "fit the values again"),
    ("click on a tile", "choose its actuator"),
    ("click on an event", "look at its instant"),
    ("double click on an alarm", "look at the instant of its last change"),
    ("drop a file", "open it"),
)
"""What the mouse does in the panels."""
PLOT_KEYS = (
    ("Ctrl+Left, Ctrl+Right", "move the cursor"),
    ("Enter", "pin the cursor; again: let it go"),
    ("Shift+Up, Shift+Down", "zoom the values of all rows in or out"),
    ("Shift+Home", "let the scales follow the values again"),
    ("PgUp, PgDown", "scroll the rows"),
)
"""Of the plot of a panel over time."""
TILE_KEYS = (
    ("Left, Right, Up, Down", "choose the actuator beside, above or below"),
    ("Home, End", "choose the first or the last actuator"),
)
"""Of the tiles."""
EVENT_KEYS = (
    ("Up, Down", "go through the events"),
    ("Enter", "look at its instant"),
)
"""Of the list of events."""
ALARM_KEYS = (
    ("Up, Down", "go through the alarms"),
    ("A, Enter", "acknowledge the one that is chosen"),
    ("Shift+S", "shelve it, then 1, 2, 3 for how long; or take it off the shelf"),
    ("R", "reset it, where it is latched and its condition has gone"),
)
"""Of the list of alarms."""
TIMELINE_KEYS = (
    ("Left, Right", "play from 1 s earlier or later"),
    ("PgUp, PgDown", "play from 10 s earlier or later"),
    ("Home, End", "play from the beginning, or go to the end"),
    ("Up, Down", "show the curve of another channel"),
)
"""Of the timeline of a replay."""
ESCAPE = (("Esc", "dismiss a message; leave a note or a menu"),)
"""Wherever the focus is."""
SECTIONS = (
    ("Mouse in the panels", GESTURES),
    ("A plot over time that has the focus", PLOT_KEYS),
    ("Tiles that have the focus", TILE_KEYS),
    ("Alarms that have the focus", ALARM_KEYS),
    ("Events that have the focus", EVENT_KEYS),
    ("The timeline of a replay that has the focus", TIMELINE_KEYS),
    ("Anywhere", ESCAPE),
)
"""As the list of keys shows them."""
