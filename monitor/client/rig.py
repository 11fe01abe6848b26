"""`Rig`: a sender of signals in a Python program, as short as `connect` is for results."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from monitor.messages.blocks import Channel, Role, Samples, SignalBlock, Stream
from monitor.transport.zeromq.key_files import keys_of
from monitor.transport.zeromq.signals import SignalPublisher

DEFAULT_SIGNALS = "tcp://127.0.0.1:5555"

_CHANNEL = re.compile(r"(?P<name>[^\[\]]*[^\[\] ]) *(?:\[(?P<unit>[^\[\]]*)\])?")


class Rig:
    """Send the signals of a rig to a service; a context manager that ends the stream.

    Parameters
    ----------
    endpoint : bound, for services with ``--connect``; the default is where a service looks by itself.
    channels : one a column: `Channel`, or a text ``"ACTUATOR.ROLE [UNIT]"`` with the role ``command``, ``measured``
        or ``force``; any other text is an auxiliary channel of that name. Samples are in these units.
    sample_rate : Hz.
    name : of the rig.
    connect : connect to `endpoint` instead, for a service with ``--bind``.
    keys : folder of keys, where peers must have one.
    insecure : may bind where other machines can reach it without keys.

    Raises
    ------
    ValueError : a channel appears twice, an actuator lacks its command or measured channel, or the rate is not a
        positive number.
    TransportError : the endpoint is malformed or cannot be used.
    KeyFileError : the keys are missing or not safe.

    Notes
    -----
    Samples are numbered from 0 and timed by number and rate. A new `Rig` is a restart to the service: it begins a
    new epoch. What is sent while nobody is subscribed is lost; the numbers go on, so the service counts it as a gap.
    One thread sends.

    Examples
    --------
    >>> from monitor import Rig
    >>> with Rig(channels=["north.command [mm]", "north.measured [mm]"], sample_rate=1000.0) as rig:  # doctest: +SKIP
    ...     rig.send(block)  # (n_samples, 2)
    """

    def __init__(
        self,
        endpoint: str = DEFAULT_SIGNALS,
        *,
        channels: Sequence[Channel | str],
        sample_rate: float,
        name: str = "rig",
        connect: bool = False,
        keys: str = "",
        insecure: bool = False,
    ) -> None:
        described = tuple(each if isinstance(each, Channel) else _channel(each) for each in channels)
        self.stream = Stream(name, time.time_ns(), float(sample_rate), described)
        self.index = 0
        """Number of the next sample."""
        bind, to = ("", endpoint) if connect else (endpoint, "")
        self._publisher = SignalPublisher(bind, connect=to, security=keys_of(keys), insecure=insecure)
        self._closed = False

    @property
    def endpoint(self) -> str:
        """What is bound, with its port, or connected to."""
        return self._publisher.endpoint

    @property
    def subscribed(self) -> bool:
        """Somebody listens; of a service that was lost it is known after some seconds."""
        return self._publisher.subscribed

    def wait_for_subscriber(self, timeout: float) -> bool:
        """Wait up to `timeout` s until somebody listens; return whether somebody does."""
        return self._publisher.wait_for_subscriber(timeout)

    def send(self, block: ArrayLike, time: float | None = None) -> bool:
        """Send the next samples without waiting; return whether somebody is subscribed and there was room for them.

        Parameters
        ----------
        block : (n_samples, n_channels), or (n_channels,) for one sample; it is copied.
        time : of the first sample on the rig's clock, s; left out, its number over the rate.

        Raises
        ------
        ValueError : it has another number of columns.
        TransportError : whoever is connected to refuses these signals, as without the right keys.
        """
        samples = np.array(block, np.float64, order="C", ndmin=2)
        if samples.ndim != 2 or samples.shape[1] != len(self.stream.channels):
            raise ValueError(f"samples of shape {samples.shape}: {len(self.stream.channels)} columns are needed")
        return self._send(samples, time)

    def skip(self, samples: int) -> None:
        """Leave out numbers, of samples that were not acquired: the service counts a gap."""
        self.index += samples

    def restart(self) -> None:
        """Begin anew at sample 0 in a new epoch, as after a stop of the rig: the service starts all windows anew."""
        self.stream = replace(self.stream, epoch=max(time.time_ns(), self.stream.epoch + 1))
        self.index = 0

    def idle(self) -> None:
        """Say that the rig is there though it has nothing to send; call it once a second or so in a pause."""
        self._publisher.heartbeat_if_idle()

    def close(self, *, last: bool = True, linger: float = 5.0) -> None:
        """Close; with `last`, say that the stream has ended. A second call does nothing.

        Parameters
        ----------
        linger : s to wait at most for what subscribers have not taken.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if last and self.index:
                self._send(np.empty((0, len(self.stream.channels))), None, last=True)
        finally:
            self._publisher.close(linger)

    def _send(self, samples: Samples, at: float | None, last: bool = False) -> bool:
        seconds = self.index * self.stream.dt if at is None else at
        block = SignalBlock(self.stream, self.index, seconds, samples, last)
        self.index += len(samples)
        return self._publisher.send(block) and self.subscribed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # a stream that breaks off has not ended: the service says that it is silent
        self.close(last=kind is None)


def _channel(text: str) -> Channel:
    """Return the channel that ``north.command [mm]`` is."""
    found = _CHANNEL.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"channel {text!r}: write for example 'north.command [mm]'")
    actuator, _, role = found["name"].rpartition(".")
    if role not in (Role.COMMAND, Role.MEASURED, Role.FORCE):
        return Channel(found["name"], Role.AUXILIARY, found["unit"] or "")
    return Channel(found["name"], Role(role), found["unit"] or "", actuator)
