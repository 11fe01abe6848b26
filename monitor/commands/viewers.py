"""The programs of others that may look on, as options and settings have them: PlotJuggler and Prometheus."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from monitor.commands.options import add_setting
from monitor.system.default_endpoints import PLOTJUGGLER, PROMETHEUS

if TYPE_CHECKING:
    from monitor.config import ViewerSettings
    from monitor.transport.base import Sink


def add_viewer_options(parser: argparse.ArgumentParser) -> None:
    """Offer the feeds."""
    group = parser.add_argument_group("third-party viewers")
    add_setting(group, "viewers.plotjuggler", "URL", nargs="?", const=PLOTJUGGLER)
    add_setting(group, "viewers.prometheus", "HOST:PORT", nargs="?", const=PROMETHEUS)


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
