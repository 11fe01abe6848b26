"""SIGTERM and SIGINT at random moments: exit code, outcome and counts agree with what was sent."""

from __future__ import annotations

import signal
from functools import partial
from time import monotonic, sleep

from monitor.recording import layout
from tests.campaign.account import LastWords, balance, kept_in
from tests.campaign.bench import Bench, Trial
from tests.campaign.numbered_rig import NumberedRig
from tests.e2e.running import ANY_PORT, Running

_FULL, _SHORT = 20, 2
_UNDER_WAY = 0.25  # s in which a sample has come from the rig to the service, on a machine that is busy
_DELIVERED = 5.0  # s
_START, _RUN = 1.8, 2.0  # s
EVERYTHING = """[indicators]
window = 0.05
"""
MORE_THAN_IS_COMPUTED = 200_000.0  # Hz, with all measures


def trials(short: bool) -> list[Trial]:
    """Return what is tried."""
    ways = {
        "stop": stop,
        "twice": partial(stop, twice=True),
        "start": stop_while_starting,
        "behind": partial(stop, behind=True),
        "behind-twice": partial(stop, behind=True, twice=True),
        "paused": stop_while_paused,
        "resumed": partial(stop_while_paused, after=True),
    }
    count = _SHORT if short else _FULL
    return [Trial(f"stops/{name}-{number}", run) for name, run in ways.items() for number in range(count)]


def recording(bench: Bench, *, behind: bool = False) -> tuple[Running, NumberedRig]:
    """Start a service that records, and a rig, which may send more than can be followed."""
    settings = {"settings": EVERYTHING} if behind else {}
    service = bench.service("--bind", ANY_PORT, "--record", f"{bench.folder / 'runs'}/", **settings)
    rate = MORE_THAN_IS_COMPUTED if behind else 1024.0
    rig = NumberedRig(rate, int(rate / 100.0), connect=service.listening)
    bench.stack.callback(rig.close)
    rig.start()
    return service, rig


def some_signal(bench: Bench) -> signal.Signals:
    """Return one of the two signals to stop."""
    return bench.chance.choice((signal.SIGTERM, signal.SIGINT))


def stop(bench: Bench, *, behind: bool = False, twice: bool = False) -> None:
    """Stop a service at work, once or twice in a row."""
    service, rig = recording(bench, behind=behind)
    sleep(bench.chance.uniform(0.0, _RUN))
    bench.tally.tried += 1
    before = monotonic()
    bench.send(service, some_signal(bench))
    if twice:
        sleep(bench.chance.choice((0.0, bench.chance.uniform(0.0, 1.0))))
        if service.process.poll() is None:
            bench.send(service, some_signal(bench))
    service.wait(None)
    rig.stop()
    judge(bench, service, rig, before)


def stop_while_starting(bench: Bench) -> None:
    """Stop a service before it listens, or just then."""
    service = bench.service("--bind", ANY_PORT, "--record", f"{bench.folder / 'runs'}/")
    sleep(bench.chance.uniform(0.0, _START))
    bench.tally.tried += 1
    number = some_signal(bench)
    bench.send(service, number)
    service.wait(None)
    # before it takes note of signals, they do what the system lets them
    expected = (0, -number) if "loading kernels" not in service.err else (0,)
    bench.check(
        service.process.returncode in expected, f"{service.process.returncode} after {number!r}: {service.err}"
    )


def stop_while_paused(bench: Bench, *, after: bool = False) -> None:
    """Stop a service that is stopped by SIGSTOP, before or after it goes on."""
    service, rig = recording(bench)
    sleep(bench.chance.uniform(0.0, _RUN))
    bench.tally.tried += 1
    paused = monotonic()
    bench.send(service, signal.SIGSTOP)
    sleep(bench.chance.uniform(0.1, 3.0))
    if after:
        bench.send(service, signal.SIGCONT)
        # TCP may take as long again to deliver what waited: only then it has arrived
        arrived = bench.chance.random() < 0.5
        sleep(bench.chance.uniform(0.0, 0.5) + (_DELIVERED if arrived else 0.0))
        before = monotonic() if arrived else paused
        bench.send(service, some_signal(bench))
    else:
        # what came while it did not run had not arrived when it was stopped
        before = paused
        bench.send(service, some_signal(bench))
        bench.send(service, signal.SIGCONT)
    service.wait(None)
    rig.stop()
    judge(bench, service, rig, before)


def judge(bench: Bench, service: Running, rig: NumberedRig, stopped: float) -> None:
    """Compare what was sent until it was stopped, what is kept, and all that the service says of it."""
    words, code = LastWords.of(service.err), service.process.returncode
    if words is None:
        bench.wrong(f"ended with {code} without its counts: {service.err}")
        return
    kept = kept_in(bench.folder / "runs")
    sent = rig.sent_before(stopped - _UNDER_WAY)
    account = balance(kept, [(1, 0, sent)], words.missing(kept.backlog()))
    bench.tally.kept += kept.samples
    bench.tally.announced += account.announced
    if account.unannounced:
        bench.tally.unannounced += account.unannounced
        bench.fault(f"{account} of {sent}: {service.err}")
    bench.check(not kept.wrong and not kept.unreadable, f"{kept.wrong} rows wrong, {kept.unreadable}")
    bench.check(code == (1 if words.unrecorded else 0), f"exit code {code} with {words}")
    outcomes = {layout.LOSSY} if words.unrecorded else {layout.CLEAN}
    bench.check(set(kept.outcomes) <= outcomes, f"outcomes {kept.outcomes} with {words}")
    # of its backlog it does not say that it has received it, and there may be no room in the file to say so
    backlog = kept.samples - words.received + words.unrecorded
    most = min(words.lost, words.unrecorded)
    bench.check(backlog == kept.backlog() or (0 <= backlog <= most), f"{kept.samples} in the files, but {words}")
    bench.tally.largest("services stopped with a backlog of samples", kept.backlog())
