"""What a player can be told, one JSON object a line."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

LONGEST_LINE = 1 << 16  # bytes
_Positive = Annotated[float, msgspec.Meta(gt=0.0)]
_NotNegative = Annotated[float, msgspec.Meta(ge=0.0)]


class CommandError(ValueError):
    """A line is no command; the text says why, in one line."""


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """What all commands have in common."""


class Pause(_Command, frozen=True, tag="pause"):
    """Let time stand."""


class Resume(_Command, frozen=True, tag="resume"):
    """Go on."""


class Step(_Command, frozen=True, tag="step"):
    """Send what lies in the next so many seconds, then stand."""

    seconds: _Positive


class Seek(_Command, frozen=True, tag="seek"):
    """Go to a place, in s after the recording's first sample; what lies `lead` s before it comes at once."""

    seconds: _NotNegative
    lead: _NotNegative = 0.0


class Speed(_Command, frozen=True, tag="speed"):
    """Play so many times as fast as it was recorded, or as fast as possible."""

    speed: _Positive | Literal["max"]


class SetFaults(_Command, frozen=True, tag="faults"):
    """Let these faults happen from now on, written as for ``--faults``; their times count from now."""

    text: str


class Loop(_Command, frozen=True, tag="loop"):
    """Begin again at the end, or stop there."""

    loop: bool


class Stop(_Command, frozen=True, tag="stop"):
    """End the stream, and the program."""


Command = Pause | Resume | Step | Seek | Speed | SetFaults | Loop | Stop

_decoder = msgspec.json.Decoder(Command)


def decode(line: bytes) -> Command:
    """Return the command in a line.

    Raises
    ------
    CommandError : it is none; one line.
    """
    if len(line) > LONGEST_LINE:
        raise CommandError(f"a command of more than {LONGEST_LINE} bytes")
    try:
        command: Command = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise CommandError(f"no command: {' '.join(str(problem).split())}") from None
    return command
