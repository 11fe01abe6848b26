"""The recording service killed at random moments: every sample that it acknowledged is in the recovered file."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import numpy as np
import pytest

from monitor.messages.blocks import Channel, Role, SignalBlock, Stream
from monitor.messages.health import Health
from monitor.recording import RunReader
from monitor.recording.recovery import recover
from monitor.transport.zeromq.results import ResultSubscriber
from monitor.transport.zeromq.signals import SignalPublisher

ANY_PORT = "tcp://127.0.0.1:*"
RATE, ROWS = 20_000.0, 200
KILLS, AT_ONCE = 20, 5
CHANNELS = (
    Channel("c", Role.COMMAND, "m", "a"),
    Channel("m", Role.MEASURED, "m", "a"),
    Channel("count", Role.AUXILIARY),
)
SETTINGS = "[record]\nflush_interval = 0.05\n[indicators]\nwindow = 0.05\nevery = 1\n"


def _block(stream: Stream, index: int) -> SignalBlock:
    count = index + np.arange(float(ROWS))
    samples = np.column_stack([np.sin(0.01 * count), np.cos(0.01 * count), count])
    return SignalBlock(stream, index, index / RATE, samples)


@pytest.mark.parametrize("batch", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, KILLS // AT_ONCE))])
def test_what_was_acknowledged_survives(start, tmp_path: Path, batch: int) -> None:
    rng = np.random.default_rng(batch)
    config = tmp_path / "settings.toml"
    config.write_text(SETTINGS)
    publisher = SignalPublisher(ANY_PORT)
    words = ("monitor", config, "--connect", publisher.endpoint, "--publish", ANY_PORT)
    paths = [tmp_path / f"run-{number}.h5" for number in range(AT_ONCE)]
    services = [start(*words, "--record", path) for path in paths]
    clients = [ResultSubscriber(service.results, kinds=("health",)) for service in services]
    acknowledged = [0] * AT_ONCE
    moments = rng.uniform(1.0, 3.0, AT_ONCE)
    stream, index, began = Stream("rig", 1, RATE, CHANNELS), 0, monotonic()
    alive = set(range(AT_ONCE))
    assert publisher.wait_for_subscriber(20.0)
    while alive:
        now = monotonic() - began
        assert now < 60.0
        while index < now * RATE:
            publisher.send(_block(stream, index))
            index += ROWS
        for number in sorted(alive):
            looks = [item.recorded for item in clients[number].receive(0.002) if isinstance(item, Health)]
            acknowledged[number] = max([acknowledged[number], *looks])
            if now > moments[number] and acknowledged[number]:
                services[number].power_cut()
                # of what it had said before it died
                looks = [item.recorded for item in clients[number].receive(0.0) if isinstance(item, Health)]
                acknowledged[number] = max([acknowledged[number], *looks])
                alive.remove(number)
    for client in clients:
        client.close()
    publisher.close(0.0)
    for path, least in zip(paths, acknowledged, strict=True):
        recovered = path.with_name(f"{path.stem}-whole.h5")
        if path is paths[0]:
            start("recover", path, "-o", recovered).wait()
        else:
            # what the command does, without a process for each
            recover(path, recovered)
        with RunReader(recovered) as reader:
            blocks = list(reader.signal_blocks(1 << 20))
            assert reader.n_samples >= least > 0
            _, rows, _, values = reader.results()
            names = [column.name for column in reader.result_stream.columns]
        index_read = np.concatenate([b.index + np.arange(len(b)) for b in blocks])
        count = np.concatenate([b.samples for b in blocks])
        np.testing.assert_array_equal(index_read, index_read[0] + np.arange(len(index_read)))
        np.testing.assert_array_equal(count[:, 2], index_read)
        np.testing.assert_array_equal(count[:, 0], np.sin(0.01 * index_read))
        np.testing.assert_array_equal(rows, rows[:1] + np.arange(len(rows)))
        # the window holds 1.6 cycles, and the angle of TI needs two
        told = [name not in {"ti_angle", "ti_angle_sd"} for name in names]
        # after a window; some turn every half window, wherever the service joined
        assert np.isfinite(values[1600:, told]).all()
