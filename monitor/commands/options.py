"""Command line options shared by several commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from monitor.system.default_endpoints import RESULTS
from monitor.text.numbers import parse_duration

if TYPE_CHECKING:
    from monitor.reliability.plan import DecisionLimits
    from monitor.transport.zeromq.key_files import Keys


def add_setting(
    parser: argparse._ActionsContainer,
    setting: str,
    metavar: str | tuple[str, str] | None = None,
    *,
    option: str = "",
    **more: Any,
) -> None:
    """Add the option of a setting, with help, unit and default from `monitor.config`.

    Parameters
    ----------
    setting : ``section.key``, also the attribute that `given_settings` reads.
    option : its name; by default that of the key.
    more : further arguments of ``add_argument``, which take precedence.
    """
    # importing pydantic takes 0.2 s, which `synchroscope --help` does not need
    from monitor.config import Settings, field_at

    field = field_at(Settings, setting.split("."))
    assert field is not None, setting
    match field.kind:
        case "number":
            options: dict[str, Any] = {"type": int if field.is_whole else float}
        case "pair":
            options = {"type": float, "nargs": 2}
        case "choice":
            options = {"choices": tuple(value for value, _ in field.choices if value is not None)}
        case "names":
            options = {"action": "append"}
        case "several":
            # a single word: nargs would consume a file name that follows
            options = {"type": _names}
        case _:
            options = {}
    if metavar is not None:
        options["metavar"] = metavar
    text = field.description.rstrip(".")
    text = text if text.split()[0][1:2].isupper() else text[:1].lower() + text[1:]
    if field.kind == "several":
        text += f": {', '.join(value for value, _ in field.choices)}"
    notes = [
        *filter(None, [field.unit]),
        f"default: {field.default_text}",
        *(["repeatable"] if field.kind == "names" else []),
    ]
    option = option or setting.rpartition(".")[2].replace("_", "-")
    parser.add_argument(
        f"--{option}", dest=setting, help=f"{text} ({'; '.join(notes)})".replace("%", "%%"), **(options | more)
    )


def _names(text: str) -> tuple[str, ...]:
    """Return the comma-separated names."""
    return tuple(filter(None, map(str.strip, text.split(","))))


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the settings given by options of `add_setting`, by section and key."""
    given: dict[str, dict[str, Any]] = {}
    for name, value in vars(arguments).items():
        section, dot, key = name.partition(".")
        if dot and value is not None:
            given.setdefault(section, {})[key] = value
    return given


def add_indicator_options(parser: argparse.ArgumentParser) -> None:
    """Add the settings of the indicators."""
    group = parser.add_argument_group("indicators")
    add_setting(group, "indicators.window", "S")
    add_setting(group, "indicators.band", ("LOW", "HIGH"))
    add_setting(group, "indicators.every", "N")
    add_setting(group, "indicators.peak")
    add_setting(group, "indicators.taper")
    add_setting(group, "indicators.delay_of")
    add_setting(group, "indicators.bandpass", ("LOW", "HIGH"))
    add_setting(group, "indicators.bridge", "S")
    add_setting(group, "indicators.max_delay", "S")
    add_setting(group, "indicators.measures", "NAME,NAME")
    add_setting(group, "indicators.gate", "A")
    add_setting(group, "indicators.share", "X")


def add_reliability_options(parser: argparse.ArgumentParser) -> None:
    """Add the settings of the model reliability."""
    group = parser.add_argument_group("model reliability")
    add_setting(group, "reliability.ensemble", "FILE")
    add_setting(group, "reliability.channel", "CHANNEL", option="response")
    add_setting(group, "reliability.tolerance", "8%|ABS|FILE")
    add_setting(group, "reliability.policy")
    add_limit_option(parser)


def add_limit_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--limit``: reliabilities at which a model is accepted or rejected."""
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="reject the model below LOW, accept it from HIGH; NAME: instantaneous, first_passage, accumulated or "
        "windowed; repeatable",
    )


def limits_given(arguments: argparse.Namespace) -> dict[str, DecisionLimits]:
    """Return the limits, by reliability.

    Raises
    ------
    ValueError : one is malformed, or not between 0 and 1.
    """
    from monitor.reliability.curves import NAMES
    from monitor.reliability.plan import DecisionLimits

    limits = {}
    for text in arguments.limit:
        name, _, values = text.partition("=")
        name, (low, _, high) = name.strip().replace("-", "_"), values.partition(":")
        try:
            if name not in NAMES:
                raise ValueError(f"the reliabilities are {', '.join(NAMES)}")
            limits[name] = DecisionLimits(float(low), float(high))
        except ValueError as problem:
            raise ValueError(f"--limit {text}: {problem}; write for example accumulated=0.7:0.9") from None
    return limits


def positive(text: str) -> float:
    """Return a positive number, as a type for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: must be a positive number")
    return number


def duration(text: str) -> float:
    """Return s of an option such as ``90`` or ``5min``."""
    try:
        return parse_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def add_insecure_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--insecure``."""
    parser.add_argument("--insecure", action="store_true", help="allow other machines to connect without keys")


def add_keys_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--keys`` of a client."""
    parser.add_argument(
        "--keys", metavar="DIR", help="key folder of this client or of the service, if the service requires keys"
    )


def add_monitor_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--connect`` and ``--keys`` of a client of a monitor."""
    parser.add_argument(
        "--connect", default=RESULTS, metavar="URL", help=f"results endpoint of the monitor (default {RESULTS})"
    )
    add_keys_option(parser)


def client_security(arguments: argparse.Namespace) -> Keys | None:
    """Return the keys of a client; None without.

    Raises
    ------
    KeyFileError : they are missing or have unsafe permissions.
    """
    from monitor.transport.zeromq.key_files import keys_of

    return keys_of(arguments.keys or "")


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select columns of a file of another program, and the one that stores them."""
    group = parser.add_argument_group("columns of a file of another program")
    group.add_argument("--command", action="append", default=[], metavar="NAME", help="command column; repeatable")
    group.add_argument("--measured", action="append", default=[], metavar="NAME", help="its measured signal")
    group.add_argument("--force", action="append", default=[], metavar="NAME", help="its restoring force")
    group.add_argument("--time", metavar="NAME", help="time column")
    group.add_argument("--rate", type=float, metavar="HZ", help="sample rate, if there is no time column")
    group.add_argument(
        "--dataset", metavar="NAME", help="dataset, variable, group, topic or stream of a file that has several"
    )
    group.add_argument(
        "--resample", type=float, metavar="HZ", help="interpolate samples at uneven times to this rate"
    )
    group.add_argument(
        "--remember", action="store_true", help="write this choice to FILE.synchroscope.toml, which is read with FILE"
    )


def add_ready_option(parser: argparse._ActionsContainer) -> None:
    """Declare the option for programs that start a service or a replay."""
    parser.add_argument(
        "--ready-json",
        action="store_true",
        help="print the endpoints, once ready, as one JSON object in place of a sentence",
    )
