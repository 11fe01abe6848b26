"""`synchroscope gui`: the desktop window."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.commands.options import add_column_options, add_keys_option, client_security
from monitor.commands.service_settings import add_alarm_option, with_alarms

if TYPE_CHECKING:
    from gui.sources.processes.catalogue import Catalogue
    from gui.window.launch import Opening

_SOURCES = {"file": "FILE", "connect": "--connect", "serve": "--serve", "simulation": "--simulation"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a recorded run or a text file to replay")
    parser.add_argument("--connect", metavar="URL", help="watch the service that publishes there")
    add_keys_option(parser)
    parser.add_argument("--serve", metavar="URL", help="start a service for the rig that publishes there")
    parser.add_argument("--simulation", metavar="NAME", help="replay this simulation; the menu names all")
    parser.add_argument("--config", type=Path, metavar="TOML", help="settings of a service that the window starts")
    parser.add_argument("--record", metavar="PATH", help="where that service keeps the run: a file or a folder")
    add_alarm_option(parser)
    parser.add_argument("--layout", metavar="NAME", help="arrange the panels so: Operator, Tracking, ...")
    parser.add_argument("--theme", choices=("system", "light", "dark"), help="colours (default as set before)")
    parser.add_argument("--operator", action="store_true", help="full screen, read-only")
    add_column_options(parser)


def run(arguments: argparse.Namespace, offers: Callable[[], Catalogue]) -> int:
    """Open it on what is given or one of the `offers`, and return when it is closed."""
    # before anything else is looked at: an installation without the window says so
    import PySide6  # noqa: F401

    from gui.window.launch import Opening
    from monitor.config import Settings
    from monitor.transport.zeromq.endpoint import check_endpoint

    given = [word for name, word in _SOURCES.items() if getattr(arguments, name)]
    if len(given) > 1:
        raise ValueError(f"{', '.join(given)}: the window opens one of them, give one")
    for path in (arguments.file, arguments.config):
        if path is not None and not path.is_file():
            raise ValueError(f"{path}: is a folder, give a file" if path.is_dir() else f"{path}: no such file")
    for url in (arguments.connect, arguments.serve):
        if url:
            check_endpoint(url, bind=False)
    if arguments.keys and not arguments.connect:
        raise ValueError("--keys belongs to --connect; a service that the window starts has its keys in the settings")
    if arguments.alarm and not arguments.serve:
        raise ValueError("--alarm belongs to --serve; a service that runs already has its alarms in its settings")
    with_alarms(Settings(), arguments.alarm)  # one that is wrong is told here
    client_security(arguments)  # what is wrong with them is told here
    opening = Opening(
        connect=arguments.connect or "",
        keys=arguments.keys or "",
        serve=arguments.serve or "",
        alarms=tuple(arguments.alarm),
        file=str(arguments.file or ""),
        words=_column_words(arguments),
        simulation=arguments.simulation or "",
        config=str(arguments.config or ""),
        record=arguments.record or "",
        layout=arguments.layout or "",
        theme=arguments.theme,
        operator=arguments.operator,
    )
    return open_window(opening, offers())


def open_window(opening: Opening, offers: Catalogue) -> int:
    """Open the window on something and return its exit code.

    Raises
    ------
    NoDisplayError : there is no display, or Qt lacks something of the system; the text says what to do.
    ValueError : there is no such simulation.
    """
    from gui.window.launch import DisplayTrial

    known = [offer.name for offer in offers.simulations]
    if opening.simulation and opening.simulation not in known:
        raise ValueError(f"there is no simulation {opening.simulation!r}: choose from {', '.join(known)}")
    trial = DisplayTrial()
    try:
        from gui.window.application import run_window
    except ImportError:
        # where a library of the system is missing, this says which
        trial.require()
        raise
    trial.require()
    return run_window(opening, offers)


def _column_words(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the options that choose columns, as `synchroscope replay` takes them."""
    words: list[str] = []
    for name in ("command", "measured", "force"):
        for value in getattr(arguments, name):
            words += [f"--{name}", value]
    for name in ("time", "rate"):
        if getattr(arguments, name) is not None:
            words += [f"--{name}", str(getattr(arguments, name))]
    return tuple(words)
