"""Checks of `synchroscope monitor --check`, one module per subject, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial


class CheckLevel(StrEnum):
    """Severity: ``fail`` prevents a test, ``warn`` may affect it."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check, printed as a line.

    Parameters
    ----------
    level : severity.
    subject : what was checked, one or two words.
    detail : the result, with a remedy unless it is good.
    """

    level: CheckLevel
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.level:<4}  {self.subject:<11}  {' '.join(self.detail.split())}"


ok = partial(CheckResult, CheckLevel.OK)
"""Return the result of a check that is good, of subject and detail; `warn` and `fail` likewise."""
warn = partial(CheckResult, CheckLevel.WARN)
fail = partial(CheckResult, CheckLevel.FAIL)


def checked(subject: str, check: Callable[[], Iterator[CheckResult]]) -> Iterator[CheckResult]:
    """Yield the results of `check`; an exception becomes a failure with its message."""
    try:
        yield from check()
    except Exception as problem:  # noqa: BLE001  one broken check must not prevent the others
        yield fail(subject, str(problem) or type(problem).__name__)
