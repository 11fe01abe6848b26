"""What systemd is told of the service: that it is ready, that it goes on, and that it stops (sd_notify)."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping

from monitor.messages.alarms import AlarmReport
from monitor.messages.blocks import Event, ResultBlock, SignalBlock
from monitor.messages.health import Health
from monitor.messages.transfer import TransferBlock


class ServiceManager:
    """A sink that sends a sign of life with every health report; a loop that hangs is then ended and started anew.

    Parameters
    ----------
    address : of systemd's socket, as in ``NOTIFY_SOCKET``; ``@`` begins an abstract one.
    """

    def __init__(self, address: str) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def ready(self, status: str) -> None:
        """Say that streams are taken from now on; `status` is shown by ``systemctl status``."""
        self._tell("READY=1", f"STATUS={status}")

    def signals(self, block: SignalBlock) -> None:
        """Say nothing."""

    def results(self, block: ResultBlock) -> None:
        """Say nothing."""

    def transfer(self, block: TransferBlock) -> None:
        """Say nothing."""

    def event(self, event: Event) -> None:
        """Say nothing."""

    def alarms(self, report: AlarmReport) -> None:
        """Say nothing."""

    def health(self, health: Health) -> None:
        """Say that the loop goes on, and for ``systemctl status`` with what."""
        counts = health.counts
        followed = f"{health.rig}, {health.state}" if health.rig else health.state
        self._tell("WATCHDOG=1", f"STATUS={followed}: {counts.received} samples received, {counts.lost} lost")

    def close(self) -> None:
        """Say that it stops; a second call does nothing."""
        self._tell("STOPPING=1")
        self._socket.close()

    def _tell(self, *lines: str) -> None:
        # a manager that is gone is no reason to stop
        with contextlib.suppress(OSError):
            self._socket.sendto("\n".join(lines).encode(), self._address)


def open_service_manager(environment: Mapping[str, str]) -> ServiceManager | None:
    """Return the service manager that started this program and wants to hear of it; None where there is none."""
    address = environment.get("NOTIFY_SOCKET", "")
    return ServiceManager(address) if address[:1] in ("/", "@") and hasattr(socket, "AF_UNIX") else None
