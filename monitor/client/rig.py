"""`Rig`: send the signals of a rig from a Python program."""

from __future__ import annotations

import re
import sys
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
_LINGER = 5.0  # s
_DROPPED_LINGER = 0.1  # s, of a rig that was not closed: the collector must not block a running program

_CHANNEL = re.compile(r"(?P<name>[^\[\]]*[^\[\] ]) *(?:\[(?P<unit>[^\[\]]*)\])?")


class Rig:
    """Send the signals of a rig to a service; a context manager that ends the stream.

    Without ``with``, `close` ends it. A program that ends without either waits up to 5 s for what is queued, and the
    service reports a dead stream. A `Rig` that is dropped while its program runs is given 0.1 s.

    Parameters
    ----------
    endpoint : bound, for services with ``--connect``; the default is the one that services connect to by default.
    channels : one for each column: `Channel`, or a text ``"ACTUATOR.ROLE [UNIT]"`` with the role ``command``,
        ``measured`` or ``force``; any other text is an auxiliary channel of that name. Samples are in these units.
    sample_rate : Hz.
    name : of the rig.
    connect : connect to `endpoint` instead, for a service with ``--bind``.
    keys : folder of CURVE keys, if they are required.
    insecure : may bind where other machines can connect without keys.

    Raises
    ------
    ValueError : a channel appears twice, an actuator lacks its command or measured channel, or the rate is not a
        positive number.
    TransportError : the endpoint is malformed or cannot be used.
    KeyFileError : the keys are missing, or their file permissions are not safe.

    Notes
    -----
    Samples are numbered from 0; their time is number over rate. A new `Rig` starts a new epoch, which the service
    counts as a restart. Samples sent without a subscriber are lost, and the service counts a gap. Only one thread may
    send.

    Examples
    --------
    >>> from monitor import Rig
    >>> with Rig(channels=["north.command [mm]", "north.measured [mm]"], sample_rate=1000.0) as rig:  # doctest: +SKIP
    ...     rig.send(block)  # (n_samples, 2)
    """

    _closed = True

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
        columns = tuple(each if isinstance(each, Channel) else _channel(each) for each in channels)
        self.stream = Stream(name, time.time_ns(), float(sample_rate), columns)
        self.index = 0
        """Index of the next sample."""
        bind_to, connect_to = ("", endpoint) if connect else (endpoint, "")
        self._publisher = SignalPublisher(bind_to, connect=connect_to, security=keys_of(keys), insecure=insecure)
        self._closed = False  # only now: there is something to close

    @property
    def endpoint(self) -> str:
        """Endpoint that is bound, with its port, or connected to."""
        return self._publisher.endpoint

    @property
    def subscribed(self) -> bool:
        """Whether there is a subscriber; a lost one is detected after some seconds."""
        return self._publisher.subscribed

    def wait_for_subscriber(self, timeout: float) -> bool:
        """Wait up to `timeout` s for a subscriber; return whether there is one."""
        return self._publisher.wait_for_subscriber(timeout)

    def send(self, block: ArrayLike, time: float | None = None) -> bool:
        """Send the next samples without blocking; return whether there is a subscriber and room in the queue.

        Parameters
        ----------
        block : (n_samples, n_channels), or (n_channels,) for one sample; it is copied.
        time : of the first sample on the rig's clock, s; by default its index over the rate.

        Raises
        ------
        ValueError : the number of columns is wrong.
        TransportError : the service rejects the connection, for example without the right keys.
        """
        samples = np.array(block, np.float64, order="C", ndmin=2)
        if samples.ndim != 2 or samples.shape[1] != len(self.stream.channels):
            raise ValueError(f"samples of shape {samples.shape}: {len(self.stream.channels)} columns are needed")
        return self._send(samples, time)

    def skip(self, samples: int) -> None:
        """Skip the indices of samples that were not acquired: the service counts a gap."""
        self.index += samples

    def restart(self) -> None:
        """Start a new epoch at sample 0, as after a stop of the rig: the service restarts all windows."""
        self.stream = replace(self.stream, epoch=max(time.time_ns(), self.stream.epoch + 1))
        self.index = 0

    def idle(self) -> None:
        """Send a heartbeat if nothing was sent lately; call it about once a second in a pause."""
        self._publisher.heartbeat_if_idle()

    def close(self, *, last: bool = True, linger: float = _LINGER) -> None:
        """Close; with `last`, end the stream first. A second call does nothing.

        Parameters
        ----------
        linger : s to wait at most until subscribers have received everything.
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

    def __del__(self) -> None:
        # a program of three lines does not close it; it may have failed, so the stream has not ended
        self.close(last=False, linger=_LINGER if sys.is_finalizing() else _DROPPED_LINGER)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # after an exception the stream has not ended: the service reports a dead stream
        self.close(last=kind is None)


def _channel(text: str) -> Channel:
    """Return the channel that a text such as ``north.command [mm]`` describes."""
    match = _CHANNEL.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"channel {text!r}: write for example 'north.command [mm]'")
    actuator, _, role = match["name"].rpartition(".")
    if role not in (Role.COMMAND, Role.MEASURED, Role.FORCE):
        return Channel(match["name"], Role.AUXILIARY, match["unit"] or "")
    return Channel(match["name"], Role(role), match["unit"] or "", actuator)
