"""`synchroscope watch`, as somebody sees it whose terminal is a pipe."""

from __future__ import annotations

import signal
from time import monotonic, sleep

ANY_PORT = "tcp://127.0.0.1:*"


def test_what_a_monitor_publishes_is_shown_until_ctrl_c(start, record) -> None:
    rig = start("replay", record(30_000), "--bind", ANY_PORT)
    service = start("monitor", "--connect", rig.publishing, "--publish", ANY_PORT, "--window", 0.5)
    watch = start("watch", "--connect", service.results)
    deadline = monotonic() + 30.0
    while "receiving" not in watch.out and monotonic() < deadline:
        sleep(0.05)
    assert "receiving" in watch.out
    watch.stop(signal.SIGINT, 130)
    service.stop(signal.SIGTERM)
    rig.stop(signal.SIGINT, 130)


def test_an_address_that_is_none_is_told_in_one_line(start) -> None:
    watch = start("watch", "--connect", "nonsense")
    watch.process.wait(30.0)
    assert watch.process.returncode == 2
    assert watch.err.count("\n") == 1


def test_where_no_monitor_answers_it_says_so_soon(start) -> None:
    watch = start("watch", "--connect", "tcp://127.0.0.1:1")
    deadline = monotonic() + 60.0
    while "no monitor answers at tcp://127.0.0.1:1: retrying" not in watch.err and monotonic() < deadline:
        sleep(0.05)
    watch.stop(signal.SIGINT, 130)
    assert watch.err.count("retrying") == 1
