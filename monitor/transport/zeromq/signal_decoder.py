"""What a message on the signal path is: native, plain, something else of ours, or nothing at all."""

from __future__ import annotations

from monitor.messages.blocks import SignalBlock
from monitor.wire import native as wire
from monitor.wire.native import Decoder, Frames, WireError
from monitor.wire.plain import PlainAssembler, decode_plain

MAX_SENDERS = 64
_OURS = b"synchroscope/"
_SIGNALS = wire.topic("signals")
_NOT_FOR_US = tuple(wire.topic(kind) for kind in ("results", "transfer", "alarms", "health", "event"))


class SignalDecoder:
    """Messages -> signal blocks; no socket.

    Parameters
    ----------
    rig : the only rig that is let through; empty for all.
    sample_rate : Hz, for plain senders that do not say it.

    Raises
    ------
    ValueError : the rate is not a positive number.
    """

    def __init__(self, rig: str = "", sample_rate: float | None = None) -> None:
        self._rig = rig
        self._rate = sample_rate
        self._decoder = Decoder()
        PlainAssembler(sample_rate)  # a wrong rate is the caller's mistake, to be told now
        self._named: dict[str, str] = {}
        self._assemblers: dict[tuple[str, str], PlainAssembler] = {}

    def read(self, frames: Frames, origin: str) -> tuple[SignalBlock, ...]:
        """Return the blocks that the message from the endpoint `origin` completes, often one, sometimes none.

        Raises
        ------
        WireError : the message is refused.
        """
        if not frames[0].startswith(_OURS):
            blocks = self._plain(frames, origin)
        elif frames[0].startswith(_NOT_FOR_US):
            return ()
        else:
            blocks = (self._native(frames),)
        return tuple(block for block in blocks if not self._rig or block.stream.rig == self._rig)

    def _native(self, frames: Frames) -> SignalBlock:
        if not frames[0].startswith(_SIGNALS):
            raise WireError(f"unknown topic; signals come as {_SIGNALS.decode()}RIG")
        block = self._decoder.decode(frames)
        if not isinstance(block, SignalBlock):
            raise WireError("results under the topic of signals")
        return block

    def _plain(self, frames: Frames, origin: str) -> tuple[SignalBlock, ...]:
        if len(frames) > 2:
            raise WireError(f"a plain message has one frame, or a topic and one, this one {len(frames)}")
        message = decode_plain(frames[-1])
        if message.rig is not None:
            self._named[origin] = message.rig
        sender = origin, self._named.get(origin, "")
        assembler = self._assemblers.get(sender)
        if assembler is None:
            if len(self._assemblers) >= MAX_SENDERS:
                raise WireError(f"more than {MAX_SENDERS} rigs send plain messages")
            assembler = self._assemblers[sender] = PlainAssembler(self._rate)
        return assembler.accept(message)
