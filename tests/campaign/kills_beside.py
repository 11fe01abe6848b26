"""SIGKILL of everything that is connected to a service that records: what it records is whole all the same."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from itertools import pairwise
from time import monotonic, sleep

import numpy as np

from monitor.messages.blocks import EventKind, SignalBlock
from monitor.messages.health import Health
from monitor.recording import RunReader
from monitor.transport.zeromq.requests import requests_url
from monitor.transport.zeromq.results import ResultSubscriber
from tests.campaign.account import balance, kept_in
from tests.campaign.bench import Bench, publishing_process, recording_process
from tests.campaign.programs import ASKING, SUBSCRIBERS
from tests.campaign.steady import judge_whole, keys_of, steady
from tests.e2e.running import ANY_PORT, Running

IN_A_ROW = 20


def kill_publishing_process(bench: Bench, *, keyed: bool = False) -> None:
    """Kill the process in which the service publishes, again and again: who is subscribed hears it again."""
    folder, keys = keys_of(bench, "rig") if keyed else ("", None)
    service, rig = steady(bench, *(["--keys", folder] if keyed else []), keys=keys)
    client = ResultSubscriber(service.results, kinds=("health",), security=keys)
    bench.stack.callback(client.close)
    for _ in range(IN_A_ROW):
        bench.until(lambda: client.receive(0.1), "the service is heard")
        sleep(bench.chance.uniform(0.0, 1.0))
        bench.until(lambda: publishing_process(service), "the publishing process is started again")
        # it may have gone by itself meanwhile, which the tally sees
        with suppress(ProcessLookupError):
            os.kill(publishing_process(service), signal.SIGKILL)
        bench.tally.tried += 1
        client.receive(0.0)
    kept = judge_whole(bench, service, rig, "runs")
    bench.check(any("had to be started again" in note for note in kept.notes()), f"not noted: {kept.notes()}")


def kill_recorder(bench: Bench) -> None:
    """Kill the process that records, again and again: not a sample is lost, and every death is told."""
    service, rig = steady(bench)
    client = ResultSubscriber(service.results, kinds=("health",))
    bench.stack.callback(client.close)
    breaks = 0

    def told() -> bool:
        nonlocal breaks
        looks = [item.recording_breaks for item in client.receive(0.1) if isinstance(item, Health)]
        breaks = max([breaks, *looks])
        return breaks >= kill

    for kill in range(IN_A_ROW):
        bench.until(told, f"death {kill} is told")
        bench.until(lambda: recording_process(service), "the recorder is started again")
        sleep(bench.chance.uniform(0.0, 1.5))
        with suppress(ProcessLookupError):
            os.kill(recording_process(service), signal.SIGKILL)
        bench.tally.tried += 1
    rig.stop(last=True)
    service.wait()
    kept = kept_in(bench.folder / "runs")
    account = balance(kept, [(rig.stream.epoch, rig.first, rig.sent)], 0)
    bench.check(not kept.wrong and not kept.unreadable, f"{kept.wrong} rows wrong, {kept.unreadable}")
    bench.check(any("the recorder process died" in note for note in kept.notes()), f"not noted: {kept.notes()}")
    bench.tally.kept += account.kept
    if account.unannounced:
        bench.tally.unannounced += account.unannounced
        bench.fault(f"{account} of {rig.sent}: {service.err}")


def kill_replays(bench: Bench) -> None:
    """Kill what sends, while it starts, sends or waits: of each everything that had come is there."""
    path, rows = bench.folder / "numbers.csv", 20_000
    number = (bench.chance.randrange(1 << 20) + np.arange(float(rows))).tolist()
    path.write_text("\n".join(["c,m", *(f"{a},{-a}" for a in number)]) + "\n")
    service = bench.service("--bind", ANY_PORT, "--record", f"{bench.folder / 'runs'}/")
    for _ in range(IN_A_ROW):
        words = ("--connect", service.listening, "--command", "c", "--measured", "m", "--rate", 1000)
        replay = bench.start("replay", path, *words, "--block", bench.chance.choice((1, 10, 100)))
        sleep(bench.chance.uniform(0.0, 2.0))
        bench.kill(replay)
        bench.tally.tried += 1
    bench.send(service, signal.SIGTERM)
    service.wait()
    judge_replayed(bench, service, number)


def judge_replayed(bench: Bench, service: Running, number: list[float]) -> None:
    """Every epoch begins with the first row, and goes on without a hole that nothing announces."""
    for path in sorted((bench.folder / "runs").glob("*.h5")):
        with RunReader(path) as run:
            bench.check(run.outcome == "clean", f"{path.name}: {run.outcome}")
            gaps = sum(event.count for event in run.events() if event.kind is EventKind.GAP)
            reached: dict[int, int] = {}
            for block in run.signal_blocks(1 << 16):
                expected = number[block.index : block.index + len(block)]
                bench.check(block.samples[:, 0].tolist() == expected, f"{path.name}: rows that were not sent")
                holes = block.index - reached.get(block.stream.epoch, 0)
                bench.tally.announced += min(gaps, holes)
                bench.tally.unannounced += max(0, holes - gaps)
                if holes > gaps:
                    bench.fault(f"{holes} samples missing before {block.index} in epoch {block.stream.epoch}")
                gaps -= min(gaps, holes)
                reached[block.stream.epoch] = block.index + len(block)
                bench.tally.kept += len(block)


def kill_subscribers(bench: Bench) -> None:
    """Kill clients that listen, among them the one in a terminal: a good one beside them misses nothing."""
    service, rig = steady(bench)
    good = ResultSubscriber(service.results, kinds=("signals",))
    bench.stack.callback(good.close)
    bench.until(lambda: good.receive(0.1), "a good subscriber hears the service")
    came: list[tuple[int, int]] = []
    for number in range(IN_A_ROW):
        if number % 5:
            one = bench.python(SUBSCRIBERS, service.results, bench.chance.choice((1, 5)))
        else:
            one = bench.start("watch", "--connect", service.results)
        end = monotonic() + bench.chance.uniform(0.0, 1.5)
        while monotonic() < end:
            came += _spans(good, 0.05)
        bench.kill(one)
        bench.tally.tried += 1
    rig.stop()
    deadline = monotonic() + 20.0
    while (not came or came[-1][1] < rig.next) and monotonic() < deadline:
        came += _spans(good, 0.1)
    missed = sum(later[0] - earlier[1] for earlier, later in pairwise(came))
    bench.check(missed == 0 and came[-1][1] == rig.next, f"a good subscriber missed {missed} samples")
    judge_whole(bench, service, rig, "runs")


def _spans(client: ResultSubscriber, timeout: float) -> list[tuple[int, int]]:
    return [(item.index, item.index + len(item)) for item in client.receive(timeout) if isinstance(item, SignalBlock)]


def kill_those_who_ask(bench: Bench) -> None:
    """Kill clients that write notes: every note of which one had been answered is in the file."""
    service, rig = steady(bench)
    url = requests_url(service.until(r"requests on (tcp://\S+)"), service.results)
    said: list[str] = []
    for number in range(IN_A_ROW):
        client = bench.python(ASKING, url, f"client {number}:")
        sleep(bench.chance.uniform(0.0, 1.5))
        bench.kill(client)
        bench.tally.tried += 1
        said += [line for line in client.out.split("\n")[:-1] if line]
    kept = judge_whole(bench, service, rig, "runs")
    bench.tally.largest("notes answered before the kill", len(said))
    missing = set(said) - set(kept.notes())
    bench.check(not missing, f"{len(missing)} notes were answered and are not there")
