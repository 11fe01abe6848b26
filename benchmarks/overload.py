"""A rig that sends half as much again as can be followed: how far behind the results are, and what is recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from benchmarks.figures import COUNT, SECONDS, Figure
from benchmarks.lanes import free_port
from benchmarks.throughput import make_samples, make_stream
from monitor.commands.checks.machine import seconds_per_sample
from monitor.commands.process import ChildCommand
from monitor.config import IndicatorSettings
from monitor.engine.monitor import MAX_ROWS_PER_SECOND
from monitor.messages.blocks import Event, EventKind, SignalBlock
from monitor.messages.health import Health
from monitor.recording import RunReader
from monitor.transport.zeromq.results import ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher

SUMMARY = "64 pairs at 1.5 times the rate that can be followed, ten samples a message, recorded"
N_PAIRS, ROWS, WINDOW = 64, 10, 1.0
TOO_MUCH = 1.5


def run(quick: bool) -> Iterator[Figure]:
    """Yield the largest lag, how long it takes to catch up, and the samples that are missing from the run file."""
    seconds = 3.0 if quick else 60.0
    stream = make_stream("overload", N_PAIRS, 1000.0)
    alone, together = seconds_per_sample(IndicatorSettings(window=WINDOW), None, stream, ROWS, MAX_ROWS_PER_SECOND)
    rate = TOO_MUCH / min(alone, together)
    with TemporaryDirectory(prefix="synchroscope-benchmark-") as folder:
        looks, caught_up, sent, kept, notes = _overloaded(rate, seconds, Path(folder))
    case = f"{rate:.0f} Hz for {seconds:g} s"
    yield Figure("overload", f"{case}: largest lag", max(look.lag for look in looks), SECONDS)
    yield Figure("overload", f"{case}: until it has caught up", caught_up, SECONDS)
    yield Figure("overload", f"{case}: samples not in the run file", float(sent - kept), COUNT, most=0.0)
    yield Figure("overload", f"{case}: things left out at most", float(max(len(look.shed) for look in looks)), COUNT)
    yield Figure("overload", f"{case}: notes of it", float(notes), COUNT)


def _overloaded(rate: float, seconds: float, folder: Path) -> tuple[list[Health], float, int, int, int]:
    """Return the looks at the service, s until it followed again, samples sent and recorded, notes of overload."""
    signals, results = (f"tcp://127.0.0.1:{free_port()}" for _ in range(2))
    words = (
        "--bind",
        signals,
        "--publish",
        results,
        "--window",
        str(WINDOW),
        "--record",
        f"{folder}/run.h5",
        "--once",
    )
    stream = make_stream("overload", N_PAIRS, rate)
    samples = make_samples(1000 * ROWS, N_PAIRS, rate)
    looks: list[Health] = []
    with ChildCommand("service", "monitor", *words) as service:
        publisher = SignalPublisher(connect=signals)
        client = ResultSubscriber(results, kinds=("health",))
        try:
            assert publisher.wait_for_subscriber(90.0), "the service has not come"
            sleep(0.5)
            began, sent = monotonic(), 0
            while (now := monotonic() - began) < seconds:
                while sent < now * rate:
                    at = sent % len(samples)
                    publisher.send(SignalBlock(stream, sent, sent / rate, samples[at : at + ROWS]))
                    sent += ROWS
                looks += [item for item in client.receive(0.001) if isinstance(item, Health)]
            over = monotonic()
            while not looks or looks[-1].counts.received + looks[-1].counts.lost < sent:
                looks += [item for item in client.receive(0.1) if isinstance(item, Health)]
                assert monotonic() - over < 10.0 * seconds and not service.ended, service.new_lines()
            caught_up = monotonic() - over
            publisher.send(SignalBlock(stream, sent, sent / rate, samples[:ROWS], last=True))
            while not service.ended:
                sleep(0.05)
        finally:
            client.close()
            publisher.close()
    with RunReader(folder / "run.h5") as run:
        kept, notes = run.n_samples, sum(_is_of_overload(event) for event in run.events())
    return looks, caught_up, sent + ROWS, kept, notes


def _is_of_overload(event: Event) -> bool:
    return event.kind is EventKind.NOTE and event.detail.startswith(("overloaded", "keeps up again"))
