"""Sources of a service, opened from its settings: ZeroMQ endpoints, or one LSL stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.commands.security import Guard
    from monitor.config import StreamSettings
    from monitor.messages.blocks import Channel
    from monitor.transport.base import ListeningSource
    from monitor.transport.lsl.library import DescribedChannel

_LSL = "lsl://"

LiveChannels = Callable[..., "tuple[Channel, ...]"]
"""Gives the channels of a live stream their roles: `replay.formats.roles.live_channels`."""


def is_lsl(settings: StreamSettings) -> bool:
    """Whether the signals come from an LSL stream."""
    return any(url.startswith(_LSL) for url in settings.connect)


def open_source(
    settings: StreamSettings,
    guard: Guard,
    live_channels: LiveChannels | None,
    *,
    insecure: bool = False,
    listening: bool = False,
) -> ListeningSource:
    """Return the source that the settings name.

    Parameters
    ----------
    settings : of the stream.
    guard : keys and context of ZeroMQ.
    live_channels : gives the channels of an LSL stream their roles; by default only those that it names itself.
    insecure : may bind where other machines can connect without keys.
    listening : from the start, or only from `listen` on.

    Raises
    ------
    ModuleNotFoundError : the package of an LSL stream is not installed.
    TransportError : an endpoint is malformed or cannot be used.
    ValueError : an LSL stream is not the only endpoint, or channels are named without one.
    """
    if not is_lsl(settings):
        if named := [name for name in ("command", "measured", "force") if getattr(settings, name)]:
            raise ValueError(f"--{named[0]} is for an LSL stream: other rigs send the roles of their channels")

        from monitor.transport.zeromq.signals import SignalSubscriber

        return SignalSubscriber(
            settings.connect,
            settings.bind,
            rig=settings.rig,
            sample_rate=settings.sample_rate,
            stale_after=settings.stale_after,
            insecure=insecure,
            listening=listening,
            security=guard.keys,
            context=guard.context,
        )
    if len(settings.connect) + len(settings.bind) > 1:
        raise ValueError(
            f"{', '.join((*settings.connect, *settings.bind))}: an LSL stream is the only source: start a "
            "monitor for each"
        )
    if len(settings.command) != len(settings.measured):
        raise ValueError("--command and --measured go together: give both, once for each actuator")

    from monitor.transport.lsl.source import LslSource

    def assign_roles(channels: Sequence[DescribedChannel]) -> tuple[Channel, ...]:
        if live_channels is None:
            raise ValueError("the roles of its channels are not known")
        return live_channels(
            [channel.name for channel in channels],
            [channel.unit for channel in channels],
            [(channel.role, channel.actuator) for channel in channels],
            command=settings.command,
            measured=settings.measured,
            force=settings.force,
        )

    return LslSource(
        settings.connect[0],
        assign_roles,
        rig=settings.rig,
        sample_rate=settings.sample_rate,
        stale_after=settings.stale_after,
        listening=listening,
    )
