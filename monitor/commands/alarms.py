"""`synchroscope alarms`: list the alarms of a running monitor, acknowledge, reset or shelve them, change limits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.alarms.text import format_value, nearest_name, range_text
from monitor.commands.note import next_message
from monitor.commands.options import add_monitor_option, client_security, duration
from monitor.commands.service_settings import parse_boundary
from monitor.messages.alarms import NOT_JUDGED, AlarmReport, AlarmState, Severity
from monitor.messages.headline import label_of
from monitor.text.numbers import DASH

if TYPE_CHECKING:
    from monitor.messages.alarms import Alarm
    from monitor.messages.requests import AlarmRequest, NewLimits
    from monitor.transport.zeromq.key_files import Keys


_STYLES = {Severity.WARN: "yellow", Severity.TRIP: "bold red"}
_SHAPES = {Severity.WARN: "▲", Severity.TRIP: "■"}
_NOT_JUDGED_SHAPE = "⊘"


def print_alarms(alarms: Iterable[Alarm]) -> None:
    """Print a table of the alarms, active ones first, then those that are not judged."""
    # without a terminal Rich assumes 80 columns and truncates the names
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 140)
    table = Table()
    for heading in ("", "alarm", "state", "value", "normal", "since s", "advice"):
        table.add_column(heading, justify="right" if heading in ("value", "since s") else "left")
    for alarm in sorted(
        alarms,
        key=lambda a: (not a.is_annunciated, not a.needs_acknowledgement, not a.not_judged, a.severity, a.name),
    ):
        annunciated = alarm.is_annunciated
        shape = _NOT_JUDGED_SHAPE if alarm.state is AlarmState.NOT_JUDGED else ""
        table.add_row(
            _SHAPES[alarm.severity] if annunciated else shape,
            Text(alarm.name),
            state_text(alarm),
            Text(_value_text(alarm)),
            Text(range_text(alarm.low, alarm.high, alarm.unit)),
            f"{alarm.time:.3f}" if annunciated else "",
            Text(alarm.advice if annunciated else ""),
            style=_STYLES[alarm.severity] if annunciated else "" if shape else "dim",
        )
    console.print(table if table.row_count else "this monitor has no alarms")


def state_text(alarm: Alarm) -> str:
    """Return the state as text, with the reason where it is not judged."""
    words = alarm.state.replace("_", " ") + (f" for {alarm.shelved_for:.0f} s" if alarm.shelved_for else "")
    if not alarm.not_judged:
        return words
    return (
        f"{words}: {alarm.not_judged}"
        if alarm.state is AlarmState.NOT_JUDGED
        else f"{words}, {NOT_JUDGED}{alarm.not_judged}"
    )


def _value_text(alarm: Alarm) -> str:
    """Return the value, of a headline value with the indicator that speaks; a dash for none."""
    if alarm.last is None:
        return DASH
    said_by = f" {label_of(alarm.source)}" if alarm.source else ""
    return format_value(alarm.last, alarm.unit) + said_by


_ACTIONS = ("list", "acknowledge", "reset", "shelve", "unshelve", "limit")
_MAX_SHELVING = 86400.0  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list", help="default list")
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="alarm name (default: all it applies to); with limit also without .warn or .trip",
    )
    parser.add_argument("--for", type=duration, dest="seconds", metavar="S", help="how long to shelve it: s, or 2h")
    for severity in Severity:
        parser.add_argument(
            f"--{severity}",
            metavar="LIMIT",
            help=f"with limit: the new {severity} limit in the alarm's unit, a range as LOW..HIGH",
        )
    parser.add_argument("--restore", action="store_true", help="with limit: restore the limits of the settings")
    parser.add_argument("--by", default=None, metavar="WHO", help="name of the operator (default: the user name)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_monitor_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Send the request; return 0 when the service has carried it out."""
    security = client_security(arguments)
    if arguments.action == "list":
        return _list(arguments, security)
    from monitor.messages.health import Health
    from monitor.transport.zeromq.requests import send_request

    _check_options(arguments)
    if arguments.action == "limit":
        return _change_limits(arguments, security)
    request = _request(arguments)
    # without a name, the request concerns some of these
    before = () if request.alarm else next_message(arguments.connect, AlarmReport, security).alarms
    send_request(request, next_message(arguments.connect, Health, security), arguments.connect, security)
    _print_states(arguments, [request.alarm] if request.alarm else _affected(request, before), security)
    return 0


def _affected(request: AlarmRequest, alarms: tuple[Alarm, ...]) -> list[str]:
    from monitor.messages.requests import AcknowledgeRequest

    if isinstance(request, AcknowledgeRequest):
        return [alarm.name for alarm in alarms if alarm.needs_acknowledgement]
    return [alarm.name for alarm in alarms if alarm.state is AlarmState.LATCHED_ACKNOWLEDGED]


def _print_states(arguments: argparse.Namespace, names: list[str], security: Keys | None) -> None:
    """Print the alarms' states after the request."""
    from monitor.messages import alarms as alarm_report

    try:
        now = {alarm.name: alarm for alarm in next_message(arguments.connect, AlarmReport, security).alarms}
    except ValueError:
        print(f"{arguments.action}: done; the monitor did not report the new states", file=sys.stderr)
        return
    if arguments.json:
        found = AlarmReport(tuple(now[name] for name in names if name in now))
        print(alarm_report.encode(found).decode())
        return
    for name in names:
        alarm = now.get(name)
        state = "normal, no longer monitored" if alarm is None else state_text(alarm)
        limits = arguments.action == "limit" and alarm is not None and range_text(alarm.low, alarm.high, alarm.unit)
        print(f"{name}: {limits}; {state}" if limits else f"{name}: {state}")


def _check_options(arguments: argparse.Namespace) -> None:
    if (arguments.seconds is not None) != (arguments.action == "shelve"):
        raise ValueError("--for goes with shelve, and only with it: shelve NAME --for 600")
    limits = arguments.restore or any(getattr(arguments, severity) for severity in Severity)
    if limits != (arguments.action == "limit"):
        raise ValueError(
            "--warn, --trip and --restore go with limit, and only with it: limit NAME --warn 0.02 --trip 0.05"
        )


def _change_limits(arguments: argparse.Namespace, security: Keys | None) -> int:
    from monitor.messages.health import Health
    from monitor.messages.requests import SetLimitsRequest
    from monitor.transport.zeromq.requests import send_request, user_name

    alarms = {alarm.name: alarm for alarm in next_message(arguments.connect, AlarmReport, security).alarms}
    limits = tuple(_new_limits(arguments, alarms))
    by = user_name() if arguments.by is None else arguments.by
    request = SetLimitsRequest(limits=limits, by=by)
    send_request(request, next_message(arguments.connect, Health, security), arguments.connect, security)
    _print_states(arguments, [each.alarm for each in limits], security)
    return 0


def _new_limits(arguments: argparse.Namespace, alarms: dict[str, Alarm]) -> Iterator[NewLimits]:
    """Yield the new limits of the alarms that the options select."""
    from monitor.messages.requests import NewLimits

    name = arguments.name
    given = {severity: text for severity in Severity if (text := getattr(arguments, severity))}
    # a name with severity selects that alarm alone
    base, _, last = name.rpartition(".")
    own = [severity for severity in Severity if severity == last]
    base = base if own else name
    if arguments.restore:
        if given:
            raise ValueError("--restore goes without --warn and --trip")
        found = [alarms.get(f"{base}.{severity}") for severity in own or Severity]
        changed = [alarm for alarm in found if alarm is not None and alarm.configured is not None]
        if not changed:
            raise ValueError(f"no alarm {name!r} with changed limits")
        for each in changed:
            low, high = each.configured or (None, None)
            yield NewLimits(alarm=each.name, low=low, high=high)
        return
    for severity, text in given.items():
        if own and severity not in own:
            raise ValueError(f"{name} has no --{severity}: give the name as {base}")
        full = f"{base}.{severity}"
        if (alarm := alarms.get(full)) is None:
            nearest = nearest_name(full, list(alarms)) if alarms else ""
            raise ValueError(f"there is no alarm {full!r}" + (f"; the nearest is {nearest!r}" if nearest else ""))
        yield _new_limit(alarm, text)


def _new_limit(alarm: Alarm, text: str) -> NewLimits:
    from monitor.messages.requests import NewLimits

    try:
        boundary = parse_boundary(text)
    except ValueError:
        raise ValueError(f"--{alarm.severity} {text}: write a number, or LOW..HIGH") from None
    if isinstance(boundary, tuple):
        return NewLimits(alarm=alarm.name, low=boundary[0], high=boundary[1])
    if alarm.low is not None and alarm.high is not None:
        normal = range_text(alarm.low, alarm.high, alarm.unit)
        raise ValueError(f"{alarm.name} has two limits, {normal}: write both as LOW..HIGH")
    below = alarm.high is None
    return NewLimits(alarm=alarm.name, low=boundary if below else None, high=None if below else boundary)


def _request(arguments: argparse.Namespace) -> AlarmRequest:
    from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest
    from monitor.transport.zeromq.requests import user_name

    name, by = arguments.name, user_name() if arguments.by is None else arguments.by
    match arguments.action:
        case "acknowledge":
            return AcknowledgeRequest(alarm=name, by=by)
        case "reset":
            return ResetRequest(alarm=name, by=by)
    if arguments.seconds is not None and arguments.seconds > _MAX_SHELVING:
        raise ValueError(
            f"--for {arguments.seconds:g}: at most {_MAX_SHELVING:g} s, a day; "
            "a monitor may allow less (alarms.shelve_at_most, default 28800 s)"
        )
    if not name:
        raise ValueError(f"{arguments.action}: which alarm? give its name, as listed by `synchroscope alarms`")
    return ShelveRequest(alarm=name, seconds=arguments.seconds or 0.0, by=by)


def _list(arguments: argparse.Namespace, security: Keys | None) -> int:
    from monitor.messages import alarms as alarm_report

    report = next_message(arguments.connect, AlarmReport, security)
    if arguments.name:
        chosen = tuple(alarm for alarm in report.alarms if alarm.name == arguments.name)
        if not chosen:
            raise ValueError(f"there is no alarm {arguments.name!r}")
        report = AlarmReport(chosen)
    if arguments.json:
        sys.stdout.write(alarm_report.encode(AlarmReport(report.alarms)).decode() + "\n")
    else:
        print_alarms(report.alarms)
    return 0
