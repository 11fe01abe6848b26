"""The `synchroscope` command: finds the subcommand, and turns a user's mistake into one line and exit code 2."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module, metadata
from typing import NoReturn

from monitor.system.safe_text import printable

COMMANDS = (
    "demo",
    "gui",
    "monitor",
    "watch",
    "note",
    "alarms",
    "keys",
    "replay",
    "assess",
    "identify",
    "simulate",
    "validate",
    "study",
    "recover",
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help tells more\n")


def main(words: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    words = sys.argv[1:] if words is None else words
    name = "synchroscope"
    try:
        arguments = _parser().parse_args(words)
        name = f"synchroscope {arguments.subcommand}"
        code = int(import_module(f"monitor.commands.{arguments.subcommand}").run(arguments))
        # here and not at exit, where nobody could catch what goes wrong
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever read our output has gone; what is left of it goes nowhere
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 1
    except MemoryError as problem:
        why = printable(str(problem)) or "there is none left"
        print(f"{name}: out of memory: {why}; give it more, or work with shorter windows", file=sys.stderr)
        return 1
    except (ValueError, OSError) as problem:
        print(f"{name}: {printable(str(problem))}", file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="synchroscope",
        description="Live tracking indicators for hybrid simulation: how late and how large each actuator is.",
    )
    parser.add_argument("--version", action="version", version=f"synchroscope {metadata.version('synchroscope')}")
    choices = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"monitor.commands.{name}")
        module.add_arguments(choices.add_parser(name, help=module.SUMMARY, description=module.SUMMARY))
    return parser


if __name__ == "__main__":
    sys.exit(main())
