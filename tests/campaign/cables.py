"""Cables that are pulled: a service in a network of its own, whose only way to the rig goes down and up again."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from time import sleep

from tests.campaign.bench import SETTINGS, Bench, Trial
from tests.campaign.numbered_rig import NumberedRig
from tests.campaign.steady import judge_whole
from tests.e2e.running import ANY_PORT, COMMAND

_FULL, _SHORT = 20, 1
_AT_WORK = 2.0  # s before a cable is pulled, and after it was put back
_LONGEST = 12.0  # s
_PREFIX = "sync"


def possible() -> bool:
    """Whether networks may be made here: on Linux, by root, with iproute2."""
    if shutil.which("ip") is None:
        return False
    name = f"{_PREFIX}-try"
    made = not subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode
    return made and not subprocess.run(["ip", "netns", "del", name], capture_output=True).returncode


def trials(short: bool) -> list[Trial]:
    """Return what is tried."""
    if not possible():
        return []
    ways = {"short": (0.2, 2.0), "long": (5.0, _LONGEST)}
    return [
        Trial(f"cables/{name}-{number}", partial(pull, number=10 * n + number, between=between))
        for n, (name, between) in enumerate(ways.items())
        for number in range(_SHORT if short else _FULL // 2)
    ]


def pull(bench: Bench, *, number: int, between: tuple[float, float]) -> None:
    """Pull the cable three times, without a word to either side, for some seconds each."""
    name, here, there = f"{_PREFIX}{number}", f"10.201.{number}.1", f"10.201.{number}.2"
    _ip("netns", "add", name)
    bench.stack.callback(_ip, "netns", "del", name)
    _ip("link", "add", f"{name}-h", "type", "veth", "peer", "name", f"{name}-n", "netns", name)
    _ip("addr", "add", f"{here}/30", "dev", f"{name}-h")
    _ip("-n", name, "addr", "add", f"{there}/30", "dev", f"{name}-n")
    for words in (
        ("link", "set", f"{name}-h"),
        ("-n", name, "link", "set", f"{name}-n"),
        ("-n", name, "link", "set", "lo"),
    ):
        _ip(*words, "up")
    settings = bench.folder / "settings.toml"
    settings.write_text(SETTINGS)
    service = bench.start(
        *("monitor", "--publish", ANY_PORT, "--bind", f"tcp://{there}:*", "--insecure", "--once"),
        *("--record", f"{bench.folder / 'runs'}/", "--", settings),
        program=("ip", "netns", "exec", name, *COMMAND),
    )
    rig = NumberedRig(connect=service.until(r"listening on (tcp://[\d.]+:\d+)"))
    bench.stack.callback(rig.close)
    rig.start()
    for _ in range(3):
        sleep(_AT_WORK)
        _ip("link", "set", f"{name}-h", "down")
        sleep(bench.chance.uniform(*between))
        _ip("link", "set", f"{name}-h", "up")
        bench.tally.tried += 1
    # libzmq tries again within a second, the kernel after as long as it has waited already
    sleep(_AT_WORK + 2.0 * between[1])
    judge_whole(bench, service, rig, "runs")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
