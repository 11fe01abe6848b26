"""SIGKILL at random moments: of the service, of its publishing process, and of everything that is connected to it."""

from __future__ import annotations

from functools import partial
from time import monotonic, sleep

from monitor.messages.health import Health
from monitor.transport.zeromq.key_files import Keys
from monitor.transport.zeromq.results import ResultSubscriber
from tests.campaign.account import Kept, kept_in
from tests.campaign.bench import SETTINGS, Bench, Trial, alive, recording_process
from tests.campaign.kills_beside import (
    IN_A_ROW,
    kill_publishing_process,
    kill_recorder,
    kill_replays,
    kill_subscribers,
    kill_those_who_ask,
)
from tests.campaign.numbered_rig import NumberedRig
from tests.campaign.steady import keys_of
from tests.campaign.stops import EVERYTHING, MORE_THAN_IS_COMPUTED
from tests.e2e.running import ANY_PORT, Running

MOST_LOST = 0.5  # s
_FULL, _SHORT = 200, 24
_LOADED_FULL, _BEHIND_FULL = 60, 30
_LOADED = 8
_EARLY = 0.1  # share of services that are killed while they start
_START, _RUN, _RUN_BEHIND = 1.5, 3.0, 12.0  # s


def trials(short: bool) -> list[Trial]:
    """Return what is tried: at least two hundred kills of each kind in the full form."""
    kills = _SHORT if short else _FULL
    found = [Trial(f"kills/service-{number}", kill_service) for number in range(kills)]
    found += [Trial(f"kills/keyed-{number}", partial(kill_service, keyed=True)) for number in range(kills)]
    found += [Trial(f"kills/alone-{number}", partial(kill_service, alone=True)) for number in range(kills)]
    loaded = 8 if short else _LOADED_FULL
    found += [Trial(f"kills/loaded-{number}", kill_service, load=_LOADED) for number in range(loaded)]
    found += [
        Trial(f"kills/behind-{number}", partial(kill_service, behind=True))
        for number in range(4 if short else _BEHIND_FULL)
    ]
    rows = max(1, kills // IN_A_ROW)
    for kind, run in (
        ("publishing", kill_publishing_process),
        ("recorder", kill_recorder),
        ("replay", kill_replays),
        ("subscriber", kill_subscribers),
        ("asking", kill_those_who_ask),
        ("keyed-publishing", partial(kill_publishing_process, keyed=True)),
    ):
        found += [Trial(f"kills/{kind}-{number}", run) for number in range(rows)]
    return found


def recorded(client: ResultSubscriber, timeout: float) -> int:
    """Return the most samples that the service says it has recorded; 0 where it says nothing now."""
    return max([item.recorded for item in client.receive(timeout) if isinstance(item, Health)], default=0)


def kill_service(bench: Bench, *, keyed: bool = False, alone: bool = False, behind: bool = False) -> None:
    """Kill a service that records, with or without its recorder, and look for every sample that it had."""
    rate, runs = bench.chance.choice((200.0, 1024.0, 4096.0)), bench.folder / "runs"
    if behind:
        rate = MORE_THAN_IS_COMPUTED
    words: list[object] = ["--bind", ANY_PORT, "--record", f"{runs}/"]
    keys: Keys | None = None
    if keyed:
        folder, keys = keys_of(bench, "rig")
        words += ["--keys", folder]
    service = bench.service(*words, settings=EVERYTHING if behind else SETTINGS)
    bench.tally.tried += 1
    if not behind and bench.chance.random() < _EARLY:
        sleep(bench.chance.uniform(0.0, _START))
        end_of(bench, service, alone=alone)
        if runs.is_dir():
            judge_killed(bench, kept_in(runs), 0, 0, rate)
        return
    rig = NumberedRig(rate, max(1, int(rate / 100.0)), connect=service.listening, security=keys)
    bench.stack.callback(rig.close)
    client = ResultSubscriber(service.results, kinds=("health",), security=keys)
    bench.stack.callback(client.close)
    rig.start()
    end, acknowledged = monotonic() + bench.chance.uniform(0.0, _RUN_BEHIND if behind else _RUN), 0
    while (left := end - monotonic()) > 0.0:
        acknowledged = max(acknowledged, recorded(client, min(left, 0.1)))
    before = monotonic()
    end_of(bench, service, alone=alone)
    rig.stop()
    # what it had said before it died
    acknowledged = max(acknowledged, recorded(client, 0.2), recorded(client, 0.0))
    judge_killed(bench, kept_in(runs), rig.sent_before(before), acknowledged, rate)


def end_of(bench: Bench, service: Running, *, alone: bool) -> None:
    """Kill all that belongs to a service, or itself alone: its recorder then writes what it has, and ends."""
    if not alone:
        bench.power_cut(service)
        return
    recorder = recording_process(service)
    bench.kill(service)
    bench.until(lambda: not recorder or not alive(recorder), "the recorder ends")


def judge_killed(bench: Bench, kept: Kept, sent: int, acknowledged: int, rate: float) -> None:
    """Compare: what was acknowledged is there without a hole, and the tail that is not is no longer than said."""
    bench.check(not kept.wrong and not kept.backwards, f"{kept.wrong} rows are not what was sent")
    bench.check(not kept.unreadable, f"not readable: {kept.unreadable}")
    numbers = kept.numbers.get(1, ())
    newest = int(numbers[-1]) + 1 if len(numbers) else 0
    tail = max(0, sent - newest)
    holes = newest - len(numbers)
    bench.tally.kept += len(numbers)
    bench.tally.largest("longest lost tail at a kill, s", tail / rate)
    unannounced = max(0, holes - kept.gaps()) + max(0, acknowledged - newest)
    # a run that says `open` says that its last half second may be missing, and no more than that
    announced = min(tail, int(MOST_LOST * rate))
    bench.tally.announced += announced + min(holes, kept.gaps())
    unannounced += tail - announced
    if unannounced:
        bench.tally.unannounced += unannounced
        bench.fault(f"{sent} sent, {acknowledged} acknowledged, newest kept {newest} with {holes} holes at {rate} Hz")
