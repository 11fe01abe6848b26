"""Options that several subcommands have, in the same words."""

from __future__ import annotations

import argparse
from typing import Any


def add_indicator_options(parser: argparse.ArgumentParser) -> None:
    """Offer the settings of the indicators."""
    group = parser.add_argument_group("indicators")
    group.add_argument("--window", type=float, metavar="S", help="length of the sliding window, s")
    group.add_argument(
        "--band",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="where to seek the dominant frequency, Hz",
    )
    group.add_argument("--every", type=int, metavar="N", help="give results at every N-th sample")
    group.add_argument("--peak", choices=("command", "own"), help="read FDB at the command's peak, or each its own")
    tapers = ("hann", "hamming", "blackman", "rectangular")
    group.add_argument("--taper", choices=tapers, help="window function of FDB; hann by default")
    group.add_argument(
        "--bandpass",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="filter all signals alike before anything is computed, Hz",
    )
    group.add_argument("--max-delay", type=float, metavar="S", help="largest delay that correlation looks for, s")
    group.add_argument("--measures", nargs="+", metavar="NAME", help="compute these only: fdb, paei, ti, ...")
    group.add_argument("--gate", type=float, metavar="A", help="smallest command amplitude that gets a value")


def indicator_overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given, by their names in the settings file."""
    names = ("measures", "window", "band", "every", "peak", "taper", "gate", "max_delay", "bandpass")
    given = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def positive(text: str) -> float:
    """Read a positive number, for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: must be a positive number")
    return number


def add_insecure_option(parser: argparse.ArgumentParser) -> None:
    """Offer to bind where other machines can reach it."""
    parser.add_argument("--insecure", action="store_true", help="let a --bind or --publish be open to other machines")


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Offer the choice of columns in a file written by others."""
    group = parser.add_argument_group("columns of a file written by others")
    group.add_argument("--command", action="append", default=[], metavar="NAME", help="command column; repeatable")
    group.add_argument("--measured", action="append", default=[], metavar="NAME", help="its measured column")
    group.add_argument("--force", action="append", default=[], metavar="NAME", help="its restoring force")
    group.add_argument("--time", metavar="NAME", help="time column")
    group.add_argument("--rate", type=float, metavar="HZ", help="sample rate, where there is no time column")
