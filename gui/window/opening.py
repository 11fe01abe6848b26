"""What a window is opened on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Opening:
    """What the words of the command line ask for; at most one of connect, serve, file and simulation is not empty.

    Parameters
    ----------
    connect : a service's endpoint.
    keys : folder of the keys that were handed over for it; empty: none.
    serve : a rig's endpoint, for which a service is started.
    file : a recording.
    simulation : its name.
    words : options of `synchroscope replay` for the file or simulation, such as those that choose columns.
    config : settings of the service that the window starts; empty: those of the settings dialog.
    record : where that service keeps the run.
    layout, theme : instead of those that were used last.
    operator : full screen, read-only.
    """

    connect: str = ""
    serve: str = ""
    file: str = ""
    simulation: str = ""
    words: tuple[str, ...] = ()
    config: str = ""
    record: str = ""
    layout: str = ""
    theme: Literal["system", "light", "dark"] | None = None
    operator: bool = False
    keys: str = ""
