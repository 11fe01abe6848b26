"""What a check finds: one line, with a word for how bad it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: a test that begins with a ``fail`` goes wrong, one with a ``warn`` may."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a check.

    Parameters
    ----------
    level : how bad it is.
    subject : what was looked at, one word or two.
    detail : what was found, and what to do where it is not good.
    """

    level: Level
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.level:<4}  {self.subject:<11}  {' '.join(self.detail.split())}"


def ok(subject: str, detail: str) -> Finding:
    """Say that something is good."""
    return Finding(Level.OK, subject, detail)


def warn(subject: str, detail: str) -> Finding:
    """Say that something may spoil a test."""
    return Finding(Level.WARN, subject, detail)


def fail(subject: str, detail: str) -> Finding:
    """Say that something spoils a test."""
    return Finding(Level.FAIL, subject, detail)


def found(subject: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Give what `look` finds; what keeps it from looking, in the words of the service itself, is a failure."""
    try:
        yield from look()
    except (ValueError, OSError, RuntimeError) as problem:
        yield fail(subject, str(problem) or type(problem).__name__)
