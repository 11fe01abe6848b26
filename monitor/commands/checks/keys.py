"""The keys: whether the service can use its own, and whom it lets in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from monitor.commands.checks.check_result import CheckResult, fail, ok, warn
from monitor.commands.security import in_plain
from monitor.config import Settings
from monitor.transport.security.key_files import (
    CLIENTS,
    HAND_OVER,
    PUBLIC,
    SECRET,
    SERVICE,
    read_public,
    service_keys,
)
from monitor.transport.security.key_folder import AllowList
from monitor.transport.zeromq.endpoint import is_local


def keys(settings: Settings) -> Iterator[CheckResult]:
    """Read the service's keys and the list of its clients as the service does."""
    security = settings.security
    folder = Path(security.keys)
    own = service_keys(folder, Path(security.rig_key) if security.rig_key else None)
    public = folder / f"{SERVICE}{PUBLIC}"
    if read_public(public) != own.public:
        yield fail("keys", f"{public} does not belong to {SERVICE}{SECRET}: clients that have it are not let in")
    problems: list[str] = []
    names = AllowList(folder / CLIENTS, say=problems.append).names
    yield from (fail("keys", problem) for problem in problems)
    if names:
        yield ok("keys", f"{folder}: let in are {', '.join(sorted(names.values()))}")
    elif not problems:
        yield warn("keys", f"{folder}: nobody is let in; `synchroscope keys {folder} --client NAME` lets somebody in")
    if plain := in_plain(settings):
        yield warn("keys", plain)
    left = sorted(path.name for path in (folder / HAND_OVER).glob("*/") if any(path.glob(f"*{SECRET}")))
    if left:
        yield warn("keys", f"{folder / HAND_OVER}: hand over the secret keys of {', '.join(left)}, then delete them")


def no_keys(settings: Settings) -> Iterator[CheckResult]:
    """Say what is open without keys."""
    results = settings.results
    asked = [] if results.requests in ("", "none") else [results.requests]
    feeds = [settings.viewers.plotjuggler] if settings.viewers.plotjuggler else []
    reachable = [url for url in (*settings.stream.bind, results.publish, *asked, *feeds) if not is_local(url)]
    if reachable:
        yield warn("keys", f"none: everybody in the network can reach {', '.join(reachable)}")
    else:
        yield ok("keys", "none are needed: only programs on this machine can reach the service")
