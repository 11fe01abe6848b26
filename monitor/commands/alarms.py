"""`synchroscope alarms`: list the alarms of a running monitor, acknowledge, reset or shelve them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monitor.alarms.text import format_value
from monitor.commands.note import next_message
from monitor.commands.options import add_monitor_option, client_security, positive
from monitor.messages.alarms import AlarmReport, Severity

if TYPE_CHECKING:
    from monitor.messages.alarms import Alarm
    from monitor.messages.requests import AlarmRequest
    from monitor.transport.zeromq.key_files import Keys


_STYLES = {Severity.WARN: "yellow", Severity.TRIP: "bold red"}
_SHAPES = {Severity.WARN: "▲", Severity.TRIP: "■"}


def print_alarms(alarms: Iterable[Alarm]) -> None:
    """Print a table of the alarms, active ones first."""
    # without a terminal Rich assumes 80 columns and truncates the names
    console = Console(soft_wrap=True, width=None if sys.stdout.isatty() else 140)
    table = Table()
    for heading in ("", "alarm", "state", "value", "normal", "since s", "advice"):
        table.add_column(heading, justify="right" if heading in ("value", "since s") else "left")
    for alarm in sorted(
        alarms, key=lambda a: (not a.is_annunciated, not a.needs_acknowledgement, a.severity, a.name)
    ):
        annunciated = alarm.is_annunciated
        table.add_row(
            _SHAPES[alarm.severity] if annunciated else "",
            Text(alarm.name),
            state_text(alarm),
            "—" if alarm.last is None else Text(format_value(alarm.last, alarm.unit)),
            Text(normal_range(alarm)),
            f"{alarm.time:.3f}" if annunciated else "",
            Text(alarm.advice if annunciated else ""),
            style=_STYLES[alarm.severity] if annunciated else "dim",
        )
    console.print(table if table.row_count else "this monitor has no alarms")


def state_text(alarm: Alarm) -> str:
    """Return the state as text."""
    words = alarm.state.replace("_", " ")
    return f"{words} for {alarm.shelved_for:.0f} s" if alarm.shelved_for else words


def normal_range(alarm: Alarm) -> str:
    """Return the normal range as text."""
    low, high = (None if limit is None else format_value(limit, alarm.unit) for limit in (alarm.low, alarm.high))
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return "" if high is None else f"at most {high}"


_ACTIONS = ("list", "acknowledge", "reset", "shelve", "unshelve")
_MAX_SHELVING = 86400.0  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="list", help="default list")
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="alarm name (default: all it applies to)",
    )
    parser.add_argument("--for", type=positive, dest="seconds", metavar="S", help="how long to shelve the alarm, s")
    parser.add_argument("--by", default=None, metavar="WHO", help="name of the operator (default: the user name)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_monitor_option(parser)


def run(arguments: argparse.Namespace) -> int:
    """Send the request; return 0 when the service has carried it out."""
    security = client_security(arguments)
    if arguments.action == "list":
        return _list(arguments, security)
    from monitor.messages.health import Health
    from monitor.transport.zeromq.request_client import send_request

    request = _request(arguments)
    # without a name, the request concerns some of these
    before = () if request.alarm else next_message(arguments.connect, AlarmReport, security).alarms
    send_request(request, next_message(arguments.connect, Health, security), arguments.connect, security)
    _print_states(arguments, [request.alarm] if request.alarm else _affected(request, before), security)
    return 0


def _affected(request: AlarmRequest, alarms: tuple[Alarm, ...]) -> list[str]:
    from monitor.messages.alarms import AlarmState
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
        print(f"{name}: {state_text(now[name]) if name in now else 'normal, no longer monitored'}")


def _request(arguments: argparse.Namespace) -> AlarmRequest:
    from monitor.messages.requests import AcknowledgeRequest, ResetRequest, ShelveRequest
    from monitor.transport.zeromq.request_client import user_name

    name, by = arguments.name, user_name() if arguments.by is None else arguments.by
    if (arguments.seconds is not None) != (arguments.action == "shelve"):
        raise ValueError("--for goes with shelve, and only with it: shelve NAME --for 600")
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
