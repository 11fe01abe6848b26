"""Options that several subcommands have, in the same words."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from monitor.reliability.decision import DecisionLimits
    from monitor.transport.zeromq.key_files import Keys


def add_setting(
    parser: argparse._ActionsContainer,
    setting: str,
    metavar: str | tuple[str, str] | None = None,
    *,
    option: str = "",
    **more: Any,
) -> None:
    """Declare the option of a setting; its help, unit and default are those of `monitor.config`.

    Parameters
    ----------
    setting : ``section.key``, under which `given_settings` finds what was given.
    option : its name; by default the key's.
    more : for ``add_argument``, before what follows from the setting's type.
    """
    # pydantic takes a fifth of a second that `synchroscope --help` does not need
    from monitor.config import Settings, field_at

    field = field_at(Settings, setting.split("."))
    assert field is not None, setting
    match field.kind:
        case "number":
            chosen: dict[str, Any] = {"type": int if field.is_whole else float}
        case "pair":
            chosen = {"type": float, "nargs": 2}
        case "choice":
            chosen = {"choices": tuple(value for value, _ in field.choices if value is not None)}
        case "names":
            chosen = {"action": "append"}
        case "several":
            # one word, which cannot swallow the file that follows
            chosen = {"type": _names}
        case _:
            chosen = {}
    if metavar is not None:
        chosen["metavar"] = metavar
    told = field.description.rstrip(".")
    told = told if told.split()[0][1:2].isupper() else told[:1].lower() + told[1:]
    if field.kind == "several":
        told += f": {', '.join(value for value, _ in field.choices)}"
    notes = [
        *filter(None, [field.unit]),
        f"default: {field.default_text}",
        *(["repeatable"] if field.kind == "names" else []),
    ]
    option = option or setting.rpartition(".")[2].replace("_", "-")
    parser.add_argument(
        f"--{option}", dest=setting, help=f"{told} ({'; '.join(notes)})".replace("%", "%%"), **(chosen | more)
    )


def _names(text: str) -> tuple[str, ...]:
    """Return names separated by commas."""
    return tuple(filter(None, map(str.strip, text.split(","))))


def given_settings(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return the settings that options of `add_setting` gave, by section and key."""
    given: dict[str, dict[str, Any]] = {}
    for name, value in vars(arguments).items():
        section, dot, key = name.partition(".")
        if dot and value is not None:
            given.setdefault(section, {})[key] = value
    return given


def add_indicator_options(parser: argparse.ArgumentParser) -> None:
    """Offer the settings of the indicators."""
    group = parser.add_argument_group("indicators")
    add_setting(group, "indicators.window", "S")
    add_setting(group, "indicators.band", ("LOW", "HIGH"))
    add_setting(group, "indicators.every", "N")
    add_setting(group, "indicators.peak")
    add_setting(group, "indicators.taper")
    add_setting(group, "indicators.delay_of")
    add_setting(group, "indicators.bandpass", ("LOW", "HIGH"))
    add_setting(group, "indicators.max_delay", "S")
    add_setting(group, "indicators.measures", "NAME,NAME")
    add_setting(group, "indicators.gate", "A")


def add_reliability_options(parser: argparse.ArgumentParser) -> None:
    """Offer to judge a model by the stream."""
    group = parser.add_argument_group("model reliability")
    add_setting(group, "reliability.ensemble", "FILE")
    add_setting(group, "reliability.channel", "CHANNEL", option="response")
    add_setting(group, "reliability.tolerance", "8%|ABS|FILE")
    add_setting(group, "reliability.policy")
    add_limit_option(parser)


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


def limits_given(arguments: argparse.Namespace) -> dict[str, DecisionLimits]:
    """Return the limits by the name of the reliability.

    Raises
    ------
    ValueError : one is not written so, or not between 0 and 1.
    """
    from monitor.reliability.curves import NAMES
    from monitor.reliability.decision import DecisionLimits

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
    from monitor.transport.zeromq.key_files import keys_of

    return keys_of(arguments.keys or "")


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Offer the choice of columns in a file written by others."""
    group = parser.add_argument_group("columns of a file written by others")
    group.add_argument("--command", action="append", default=[], metavar="NAME", help="command column; repeatable")
    group.add_argument("--measured", action="append", default=[], metavar="NAME", help="its measured column")
    group.add_argument("--force", action="append", default=[], metavar="NAME", help="its restoring force")
    group.add_argument("--time", metavar="NAME", help="time column")
    group.add_argument("--rate", type=float, metavar="HZ", help="sample rate, where there is no time column")
