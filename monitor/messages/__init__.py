"""Values that cross a process: blocks, events, alarms, health, requests; and what takes them."""

# ruff: noqa: ARG002 what a class does not define is ignored

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from monitor.messages.alarms import AlarmReport
    from monitor.messages.blocks import Event, ResultBlock, SignalBlock, TransferBlock
    from monitor.messages.health import Health


class Sink(Protocol):
    """Where signals, results and events go; a class of it ignores what it does not define.

    No call waits: a sink that is slow drops and counts.
    """

    def signals(self, block: SignalBlock) -> None:
        """Accept samples that passed the checks of their order."""
        return

    def results(self, block: ResultBlock) -> None:
        """Accept indicator values."""
        return

    def transfer(self, block: TransferBlock) -> None:
        """Accept transfer functions."""
        return

    def event(self, event: Event) -> None:
        """Accept an event."""
        return

    def alarms(self, report: AlarmReport) -> None:
        """Accept all alarms: at once where there are transitions, else as often as `health`."""
        return

    def health(self, health: Health) -> None:
        """Accept the health of the service."""
        return

    def close(self) -> None:
        """Finish; a second call does nothing."""
        return
