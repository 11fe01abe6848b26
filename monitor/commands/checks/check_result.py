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
class CheckResult:
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


def ok(subject: str, detail: str) -> CheckResult:
    """Say that something is good."""
    return CheckResult(Level.OK, subject, detail)


def warn(subject: str, detail: str) -> CheckResult:
    """Say that something may spoil a test."""
    return CheckResult(Level.WARN, subject, detail)


def fail(subject: str, detail: str) -> CheckResult:
    """Say that something spoils a test."""
    return CheckResult(Level.FAIL, subject, detail)


def found(subject: str, look: Callable[[], Iterator[CheckResult]]) -> Iterator[CheckResult]:
    """Give what `look` finds; what keeps it from looking, in the words of the service itself, is a failure."""
    try:
        yield from look()
    except Exception as problem:  # noqa: BLE001  one check that breaks does not keep the others from being seen
        yield fail(subject, str(problem) or type(problem).__name__)
