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
    from gui.window.launch import LaunchOptions

_SOURCES = {"file": "FILE", "connect": "--connect", "serve": "--serve", "simulation": "--simulation"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="recording or saved view to show")
    parser.add_argument("--connect", metavar="URL", help="connect to the service that publishes there")
    add_keys_option(parser)
    parser.add_argument("--serve", metavar="URL", help="start a service for the rig that publishes there")
    parser.add_argument("--simulation", metavar="NAME", help="replay this simulation; the menu lists all")
    parser.add_argument("--stream", action="store_true", help="send FILE through a service, as a rig would")
    parser.add_argument(
        "--compare", type=Path, action="append", default=[], metavar="FILE", help="draw this recording over FILE"
    )
    parser.add_argument("--config", type=Path, metavar="TOML", help="settings of the service that the window starts")
    parser.add_argument("--record", metavar="PATH", help="file or folder of that service's recording")
    add_alarm_option(parser)
    parser.add_argument("--layout", metavar="NAME", help="layout of the panels: Operator, Tracking, ...")
    parser.add_argument("--theme", choices=("system", "light", "dark"), help="colours (default: the last used)")
    parser.add_argument("--operator", action="store_true", help="full screen, read-only")
    add_column_options(parser)


def run(arguments: argparse.Namespace, offers: Callable[[], Catalogue]) -> int:
    """Open the window, and return when it is closed; `offers` returns the simulations and file formats."""
    # first, so that an installation without Qt is reported
    import PySide6  # noqa: F401

    from gui.window.launch import VIEW, LaunchOptions
    from monitor.config import Settings
    from monitor.transport.lsl.library import check_signal_endpoint
    from monitor.transport.zeromq.endpoint import check_endpoint

    given = [word for name, word in _SOURCES.items() if getattr(arguments, name)]
    if len(given) > 1:
        raise ValueError(f"{', '.join(given)}: give only one of them")
    if str(arguments.file).endswith(VIEW) and (arguments.stream or arguments.compare or _column_options(arguments)):
        raise ValueError(f"{arguments.file}: a saved view has its own columns and comparison: give it alone")
    for path in (arguments.file, arguments.config, *arguments.compare):
        if path is not None and not path.is_file():
            raise ValueError(f"{path}: is a folder, give a file" if path.is_dir() else f"{path}: no such file")
    if arguments.connect:
        check_endpoint(arguments.connect, bind=False)
    if arguments.serve:
        check_signal_endpoint(arguments.serve, bind=False)
    if arguments.keys and not arguments.connect:
        raise ValueError("--keys requires --connect; a service that the window starts has its keys in the settings")
    if arguments.alarm and not arguments.serve:
        raise ValueError("--alarm requires --serve; a running service has its alarms in its settings")
    if arguments.stream and not arguments.file:
        raise ValueError("--stream requires a FILE")
    if arguments.remember and not arguments.file:
        raise ValueError("--remember requires a FILE")
    if arguments.compare and (arguments.stream or not arguments.file):
        raise ValueError("--compare requires a FILE, and not --stream")
    if arguments.record and arguments.file and not arguments.stream:
        raise ValueError("--record requires --stream: a file that is shown as a whole is not recorded again")
    with_alarms(Settings(), arguments.alarm)  # raises for a malformed limit
    client_security(arguments)  # raises for missing or unsafe keys
    options = LaunchOptions(
        connect=arguments.connect or "",
        keys=arguments.keys or "",
        serve=arguments.serve or "",
        alarms=tuple(arguments.alarm),
        file=str(arguments.file or ""),
        replay_options=_column_options(arguments),
        simulation=arguments.simulation or "",
        config=str(arguments.config or ""),
        record=arguments.record or "",
        layout=arguments.layout or "",
        theme=arguments.theme,
        operator=arguments.operator,
        stream=arguments.stream,
        compare=tuple(map(str, arguments.compare)),
    )
    return open_window(options, offers)


def open_window(options: LaunchOptions, offers: Callable[[], Catalogue]) -> int:
    """Open the window and return its exit code.

    Parameters
    ----------
    offers : returns what it offers to open.

    Raises
    ------
    NoDisplayError : there is no display, or a system library is missing.
    ValueError : unknown simulation.
    """
    from gui.window.launch import DisplayCheck

    try:
        catalogue = offers()
        known = [offer.name for offer in catalogue.simulations]
        if options.simulation and options.simulation not in known:
            raise ValueError(f"there is no simulation {options.simulation!r}: choose from {', '.join(known)}")
        display = DisplayCheck()
        from gui.window.application import run_window
    except ImportError:
        # where a system library is missing, this names it
        DisplayCheck().require()
        raise
    display.require()
    return run_window(options, catalogue)


def _column_options(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of `synchroscope replay` that choose columns."""
    options: list[str] = []
    for name in ("command", "measured", "force"):
        for value in getattr(arguments, name):
            options += [f"--{name}", value]
    for name in ("time", "rate", "dataset", "resample"):
        if getattr(arguments, name) is not None:
            options += [f"--{name}", str(getattr(arguments, name))]
    if arguments.remember:
        options.append("--remember")
    return tuple(options)
