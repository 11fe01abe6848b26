"""The `synchroscope` command: runs a subcommand; a user's mistake becomes one line and exit code 2.

This is the only module that knows every package. The module of a command is imported when it is chosen, and gets as
arguments what its own package may not import.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from monitor import __version__
from monitor.commands.process import ending_compilation, retrying_interrupts
from monitor.system import install_command
from monitor.system.files import documentation
from monitor.system.safe_text import printable

if TYPE_CHECKING:
    from gui.sources.processes.catalogue import Catalogue
    from monitor.messages.blocks import Channel
    from monitor.messages.requests import NoteRequest

COMMANDS = {
    "demo": ("gui.commands.demo", "run a simulated hybrid test over real sockets and watch it live"),
    "gui": ("gui.commands.gui", "open the desktop window: watch a test live, scroll back through it, view a run"),
    "monitor": (
        "monitor.commands.monitor",
        "receive a rig's stream, compute the indicators live, publish and record them",
    ),
    "watch": ("gui.commands.watch", "show in the terminal what a running monitor publishes"),
    "note": ("monitor.commands.note", "add a note to the run of a running monitor"),
    "alarms": ("monitor.commands.alarms", "list the alarms of a running monitor, acknowledge, reset or shelve them"),
    "keys": (
        "monitor.commands.keys",
        "create the keys of a service and its clients, and edit the list of admitted clients",
    ),
    "replay": ("replay.commands.replay", "send a recorded run or a simulation as a rig would"),
    "assess": ("replay.commands.assess", "compute delay and amplitude ratio of the actuators in recorded runs"),
    "runs": (
        "replay.commands.runs",
        "list the recorded runs of a folder: outcome, duration, worst delay, alarms, notes",
    ),
    "compare": ("replay.commands.compare", "compare recorded runs with a reference run, within tolerances"),
    "identify": (
        "replay.commands.identify",
        "fit gain, delay and lag of the actuators to recorded runs, with errors; follow a specimen live",
    ),
    "simulate": (
        "replay.commands.simulate",
        "simulate an ensemble of realizations of a model, or experiments on it, to files",
    ),
    "validate": (
        "replay.commands.validate",
        "check a model, given as an ensemble of realizations, against measured records",
    ),
    "study": ("replay.commands.study", "run the examples of a paper and compare the results with its figures"),
    "plotjuggler-layout": (
        "monitor.commands.plotjuggler_layout",
        "write a layout of PlotJuggler for the actuators of a running monitor",
    ),
    "report": (
        "replay.commands.report",
        "write a page on a recorded run: words, figures, alarms, data quality",
    ),
    "export": ("replay.commands.export", "write a recording as CSV, Parquet, MAT, MCAP or HDF5 for older readers"),
    "recover": ("monitor.commands.recover", "rewrite a run file that was not closed properly"),
}
"""Module of each command, with ``add_arguments`` and ``run``, and its summary."""

_EXTRAS = {
    "PySide6": "gui",
    "shiboken6": "gui",
    "pyqtgraph": "gui",
    "tomli_w": "gui",
    "aiomqtt": "mqtt",
    "paho": "mqtt",
    "scipy": "study",
    "matplotlib": "study",
    "pandas": "study",
    "dtaidistance": "study",
    "emcee": "bayes",
    "nptdms": "formats",
    "pyarrow": "formats",
    "mcap": "formats",
    "pyxdf": "formats",
    "pint": "formats",
    "jinja2": "report",
    "pylsl": "lsl",
    "distributed": "archives",
    "dask": "archives",
}
"""Optional packages, and the extra of pyproject.toml that installs each."""
_PACKAGES = {
    "shiboken6": "PySide6",
    "tomli_w": "tomli-w",
    "paho": "paho-mqtt",
    "nptdms": "npTDMS",
    "jinja2": "Jinja2",
}


def main(words: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    words = sys.argv[1:] if words is None else words
    name = "synchroscope"
    for stream in (sys.stdout, sys.stderr):
        # a console or pipe of another encoding gets ? for what it lacks; a window's program has none
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        _check_packages()
        if not words:
            parser_for(words).print_help()
            return 0
        arguments = parse(words)
        name = f"synchroscope {arguments.subcommand}"
        module, _ = COMMANDS[arguments.subcommand]
        more = _MORE_ARGUMENTS.get(arguments.subcommand, {})
        with ending_compilation(), retrying_interrupts():
            code = int(import_module(module).run(arguments, **more))
        # here and not at exit, where errors cannot be caught
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of our output has gone; discard the rest
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 1
    except ModuleNotFoundError as problem:
        needed = (problem.name or "").partition(".")[0]
        if needed not in _EXTRAS:
            raise
        install = install_command(_EXTRAS[needed])
        print(f"{name} needs {_PACKAGES.get(needed, needed)}: {install}", file=sys.stderr)
        return 2
    except MemoryError as problem:
        why = printable(str(problem)) or "none left"
        print(f"{name}: out of memory: {why}; use shorter windows or a machine with more", file=sys.stderr)
        return 1
    except (ValueError, OSError) as problem:
        print(f"{name}: {printable(str(problem))}", file=sys.stderr)
        return 2
    finally:
        # CPython ends by SIGINT once an interrupt has passed an executed string, such as that of a dataclass, unless
        # another one is executed
        exec("")  # noqa: S102
    return code


def parse(words: list[str]) -> argparse.Namespace:
    """Return the arguments; a mistake ends with one line and exit code 2."""
    parser = parser_for(words)
    arguments, unknown = parser.parse_known_args(words)
    if unknown and not (again := parser.parse_known_args(_words_first(words, unknown)))[1]:
        arguments, unknown = again
    if unknown:
        parser.prog = f"synchroscope {arguments.subcommand}"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return arguments


def _words_first(words: list[str], unknown: list[str]) -> list[str]:
    """Return the words with the unknown ones before the options, as argparse needs ``[NAME]`` next to other words."""
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    behind = words[first:][::-1]
    moved = [word for word in unknown if word in behind]
    for word in moved:
        behind.remove(word)
    return [*words[:first], *moved, *behind[::-1]]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Help(argparse.HelpFormatter):
    """Help formatter that shows the default of every option."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        shown = (
            action.default is None
            or isinstance(action.default, bool)
            or action.default in ([], "", argparse.SUPPRESS)
        )
        if not text or shown or not action.option_strings or "default" in text:
            return text
        return f"{text} (default: %(default)s)"


def _check_packages() -> None:
    """Raise ValueError if a file of the user, such as replay.py, would be imported instead of a package."""
    root = Path(__file__).parents[1]
    for name in ("monitor", "sim", "gui", "replay"):
        spec = find_spec(name)
        found = None if spec is None or spec.origin is None else Path(spec.origin)
        if found is None or found.parents[1] != root:
            raise ValueError(
                f"{found or name} hides Synchroscope's own package {name!r}: rename it, or work in another folder"
            )


def parser_for(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command named by the first word."""
    parser = _Parser(
        prog="synchroscope",
        description="Live tracking indicators for hybrid simulation: how late and how large each actuator is.",
        epilog=f"Documentation: {documentation() or 'Help > Documentation in the window, synchroscope gui'}",
    )
    parser.add_argument("--version", action="version", version=f"synchroscope {__version__}")
    choices = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        command = choices.add_parser(name, help=summary, description=summary, formatter_class=_Help)
        if words[:1] == [name]:
            import_module(module).add_arguments(command)
    return parser


def offers() -> Catalogue:
    """Return the file types and simulations that the window offers."""
    from dataclasses import asdict

    from gui.sources.processes.catalogue import Catalogue, FileKind, ModelUnderTest, SimulationEntry
    from replay.formats import file_kinds
    from replay.simulations import simulations

    return Catalogue(
        files=tuple(FileKind(name, patterns) for name, patterns in file_kinds()),
        simulations=tuple(
            SimulationEntry(
                each.name,
                each.summary,
                each.group,
                None if each.model is None else ModelUnderTest(**asdict(each.model)),
            )
            for each in simulations()
        ),
    )


def _print_truth(*details: Any) -> None:
    from replay.commands.truth_table import print_truth

    print_truth(*details)


def _injections(duration: float) -> list[NoteRequest]:
    from monitor.messages.requests import NoteRequest
    from replay.playback.description import injections
    from replay.simulations import simulation

    recording = simulation("hybrid", duration=duration)
    rate = recording.stream.sample_rate
    return [
        NoteRequest(text=event.detail, time=event.time, index=round(event.time * rate))
        for event in injections(recording)
    ]


def _live_channels(*channels: Any, **named: Any) -> tuple[Channel, ...]:
    from replay.formats.roles import live_channels

    return live_channels(*channels, **named)


_MORE_ARGUMENTS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "gui": {"offers": offers},
    "monitor": {"live_channels": _live_channels},
    "demo": {"offers": offers, "print_truth": _print_truth, "injections": _injections},
}


if __name__ == "__main__":
    sys.exit(main())
