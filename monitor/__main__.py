"""The `synchroscope` command: finds the subcommand, and turns a user's mistake into one line and exit code 2."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module, metadata

COMMANDS = ("demo", "monitor", "replay", "assess", "recover")


def main(words: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    words = sys.argv[1:] if words is None else words
    parser = argparse.ArgumentParser(
        prog="synchroscope",
        description="Live tracking indicators for hybrid simulation: how late and how large each actuator is.",
    )
    parser.add_argument("--version", action="version", version=f"synchroscope {metadata.version('synchroscope')}")
    choices = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = import_module(f"monitor.commands.{name}")
        module.add_arguments(choices.add_parser(name, help=module.SUMMARY, description=module.SUMMARY))
    arguments = parser.parse_args(words)
    command = import_module(f"monitor.commands.{arguments.subcommand}")
    try:
        return int(command.run(arguments))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # whoever read our output has gone; nothing is left to be said to them
        sys.stderr.close()
        return 1
    except (ValueError, OSError) as problem:
        print(f"synchroscope {arguments.subcommand}: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
