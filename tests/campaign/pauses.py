"""SIGSTOP for up to a minute: of the service, its processes, the rig, and of all of them, as a laptop that sleeps."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from os import kill
from time import sleep

from tests.campaign.account import LastWords, balance, kept_in
from tests.campaign.bench import Bench, Trial, publishing_process, recording_process
from tests.e2e.running import Running

_SECONDS = {True: (1.0, 4.0), False: (1.0, 4.0, 20.0, 60.0)}  # short, or whole
_MESSAGES = (10, 100, 1000)  # per second
_ROWS = 4
_WARM_UP, _AFTER = 2.0, 4.0  # s
# a program of its own, which can be stopped with the rest
_RIG = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
from tests.campaign.numbered_rig import NumberedRig
rig = NumberedRig(float(sys.argv[1]), int(sys.argv[2]), queue_seconds=100.0)
print(rig.endpoint, flush=True)
rig.start()
print("sending", flush=True)
signal.sigwait({signal.SIGUSR1})
rig.stop(last=True)
print(rig.sent, flush=True)
rig.close(linger=30.0)
"""


def trials(short: bool) -> list[Trial]:
    """Return what is tried: each process, and all at once, at three rates of messages."""
    return [
        Trial(f"pauses/{who}-{messages}-{seconds:g}", partial(pause, who=who, messages=messages, seconds=seconds))
        for seconds in _SECONDS[short]
        for who in ("service", "publisher", "recorder", "rig", "all")
        for messages in _MESSAGES
    ]


def pause(bench: Bench, *, who: str, messages: int, seconds: float) -> None:
    """Stop one of the processes for a while, or all; nothing may be lost, and a pause of the service is told."""
    rig = bench.python(_RIG, messages * _ROWS, _ROWS)
    bench.until(lambda: "tcp://" in rig.out, "the rig is bound")
    service = bench.service("--connect", rig.out.split()[0], "--record", f"{bench.folder / 'runs'}/", "--once")
    bench.until(lambda: "sending" in rig.out, "the rig sends")
    sleep(_WARM_UP)
    stopped = {
        "service": (service.process.pid,),
        "publisher": (publishing_process(service),),
        "recorder": (recording_process(service),),
        "rig": (rig.process.pid,),
    }
    pids = [pid for name, found in stopped.items() if who in (name, "all") for pid in found if pid]
    bench.tally.tried += 1
    for pid in pids:
        kill(pid, signal.SIGSTOP)
    sleep(seconds)
    for pid in pids:
        # a publisher that does not answer is replaced
        with suppress(ProcessLookupError):
            kill(pid, signal.SIGCONT)
    sleep(_AFTER)
    bench.send(rig, signal.SIGUSR1)
    bench.until(lambda: rig.out.strip().split()[-1].isdigit(), "the rig says how much it sent")
    service.wait(None)
    judge(bench, service, int(rig.out.split()[-1]), told=who in ("service", "all") and seconds >= _AFTER)


def judge(bench: Bench, service: Running, sent: int, *, told: bool) -> None:
    """Compare what was sent with what is kept, and look for the service's word on its own pause."""
    kept, words = kept_in(bench.folder / "runs"), LastWords.of(service.err)
    account = balance(kept, [(1, 0, sent)], 0 if words is None else words.missing(kept.backlog()))
    bench.tally.kept += kept.samples
    bench.tally.announced += account.announced
    bench.tally.unannounced += account.unannounced
    bench.check(not account.missing, f"{account} of {sent}: {service.err}")
    bench.check(service.process.returncode == 0, f"exit code {service.process.returncode}: {service.err}")
    bench.check(not told or "paused" in service.err, f"nothing said of the pause: {service.err}")
