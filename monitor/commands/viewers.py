"""The programs of others that may look on, as options and settings have them: PlotJuggler and Prometheus."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.config import ViewerSettings
    from monitor.transport.base import Sink

# as in monitor.transport, which is not loaded for --help
_PLOTJUGGLER, _PROMETHEUS = "tcp://127.0.0.1:9872", "127.0.0.1:9464"


def add_viewer_options(parser: argparse.ArgumentParser) -> None:
    """Offer the feeds."""
    group = parser.add_argument_group("third-party viewers")
    group.add_argument(
        "--plotjuggler",
        nargs="?",
        const=_PLOTJUGGLER,
        metavar="URL",
        help=f"feed PlotJuggler's ZMQ subscriber (where it looks: {_PLOTJUGGLER})",
    )
    group.add_argument(
        "--prometheus",
        nargs="?",
        const=_PROMETHEUS,
        metavar="HOST:PORT",
        help=f"a page of metrics for Prometheus (default {_PROMETHEUS})",
    )


def viewer_overrides(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the settings that were given, by their names in the settings file."""
    given = {name: getattr(arguments, name) for name in ("plotjuggler", "prometheus")}
    return {name: value for name, value in given.items() if value is not None}


@contextmanager
def open_viewers(settings: ViewerSettings, insecure: bool, say: Callable[[str], None]) -> Iterator[Sequence[Sink]]:
    """Yield the sinks of the viewers that the settings name, and close them afterwards.

    Raises
    ------
    TransportError : an endpoint is malformed, taken, or open to other machines without `insecure`.
    """
    sinks: list[Sink] = []
    with ExitStack() as stack:
        if settings.plotjuggler:
            from monitor.transport.viewers.plotjuggler import PlotJugglerSink

            feed = PlotJugglerSink(settings.plotjuggler, settings.plotjuggler_rate, insecure=insecure, apart=True)
            stack.callback(feed.close)
            sinks.append(feed)
            say(f"PlotJuggler's feed on {feed.endpoint}")
        if settings.prometheus:
            from monitor.transport.viewers.prometheus import PrometheusSink

            page = PrometheusSink(settings.prometheus, insecure=insecure)
            stack.callback(page.close)
            sinks.append(page)
            say(f"metrics for Prometheus on {page.url}")
        yield sinks
