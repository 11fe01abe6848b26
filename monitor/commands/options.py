"""Options that several subcommands have, in the same words."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.reliability.decision import Limits
    from monitor.transport.security.key_files import Keys

DEFAULT_RESULTS = "tcp://127.0.0.1:5556"


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
    at_most = "give results at every N-th sample (by default, 200 times a second at most)"
    group.add_argument("--every", type=int, metavar="N", help=at_most)
    group.add_argument("--peak", choices=("command", "own"), help="read FDB at the command's peak, or each its own")
    tapers = ("hann", "hamming", "blackman", "rectangular")
    group.add_argument("--taper", choices=tapers, help="window function of FDB; hann by default")
    of_tone = "FDB's delay of the motion, or of the dominant tone alone, as printed"
    group.add_argument("--delay-of", choices=("motion", "tone"), help=of_tone)
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
    names = ("measures", "window", "band", "every", "peak", "taper", "delay_of", "gate", "max_delay", "bandpass")
    given = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}


def add_reliability_options(parser: argparse.ArgumentParser) -> None:
    """Offer to judge a model by the stream."""
    group = parser.add_argument_group("model reliability")
    group.add_argument("--ensemble", action="append", metavar="FILE", help="realizations of a response; repeatable")
    group.add_argument(
        "--response", action="append", metavar="CHANNEL", help="the channel it speaks of; one for each"
    )
    group.add_argument(
        "--tolerance",
        metavar="8%|ABS|FILE",
        help="how far it may be off: a share, a number in the channel's unit, or a table over time",
    )
    policies = ("literal", "floored", "peak", "absolute", "varying")
    group.add_argument("--policy", choices=policies, help="reference of a relative tolerance")
    add_limit_option(parser)


def reliability_overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given, by their names in the settings file."""
    given = {
        "channel": arguments.response,
        "ensemble": arguments.ensemble,
        "tolerance": arguments.tolerance,
        "policy": arguments.policy,
    }
    limits = {name: (limit.reject, limit.accept) for name, limit in limits_given(arguments).items()}
    return given | ({"limits": limits} if limits else {})


def add_limit_option(parser: argparse.ArgumentParser) -> None:
    """Offer limits of the reliabilities, by which a model is accepted or rejected."""
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="reject the model under LOW, accept it from HIGH on; NAME: instantaneous, first_passage, accumulated or "
        "windowed; repeatable",
    )


def limits_given(arguments: argparse.Namespace) -> dict[str, Limits]:
    """Return the limits by the name of the reliability.

    Raises
    ------
    ValueError : one is not written so, or not between 0 and 1.
    """
    from monitor.reliability.curves import NAMES
    from monitor.reliability.decision import Limits

    limits = {}
    for text in arguments.limit:
        name, _, values = text.partition("=")
        name, (low, _, high) = name.strip().replace("-", "_"), values.partition(":")
        try:
            if name not in NAMES:
                raise ValueError(f"the reliabilities are {', '.join(NAMES)}")
            limits[name] = Limits(float(low), float(high))
        except ValueError as problem:
            raise ValueError(f"--limit {text}: {problem}; write for example accumulated=0.7:0.9") from None
    return limits


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
    parser.add_argument("--insecure", action="store_true", help="bind where other machines come in without keys")


def add_keys_option(parser: argparse.ArgumentParser) -> None:
    """Offer to connect to a service that asks for keys."""
    parser.add_argument(
        "--keys", metavar="DIR", help="where the service asks for keys: the folder that was handed over, or its own"
    )


def client_security(arguments: argparse.Namespace) -> Keys | None:
    """Return the keys to connect with; None: without.

    Raises
    ------
    KeyFileError : they are missing or not safe.
    """
    from monitor.transport.security.key_files import keys_of

    return keys_of(arguments.keys or "")


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Offer the choice of columns in a file written by others."""
    group = parser.add_argument_group("columns of a file written by others")
    group.add_argument("--command", action="append", default=[], metavar="NAME", help="command column; repeatable")
    group.add_argument("--measured", action="append", default=[], metavar="NAME", help="its measured column")
    group.add_argument("--force", action="append", default=[], metavar="NAME", help="its restoring force")
    group.add_argument("--time", metavar="NAME", help="time column")
    group.add_argument("--rate", type=float, metavar="HZ", help="sample rate, where there is no time column")
