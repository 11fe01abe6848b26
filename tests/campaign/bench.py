"""What a trial works with: processes that are watched, rigs, folders, chance, and a tally of what it finds."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from tests.campaign.tally import Tally
from tests.e2e.running import ANY_PORT, COMMAND, PATIENCE, HangError, Running, family

SETTINGS = """[indicators]
measures = ["nrmse"]
window = 0.05
"""
_LOOK = 0.5  # s between looks at the memory
_SHOWN = 300  # characters of either end of a line about a fault


class Bench:
    """The surroundings of one trial.

    Parameters
    ----------
    name : of the trial.
    seed : with the name it says all that chance decides.
    folder : empty; removed afterwards by whoever made it.
    """

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.chance = random.Random(f"{seed} {name}")
        self.tally = Tally()
        self.stack = ExitStack()
        self.may_end_publishing = False
        """A peer does what may end the process in which a service publishes, which is there for that."""
        self._running: list[Running] = []
        self._signals: dict[int, set[int]] = {}
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, name="memory", daemon=True)
        self._watch.start()

    def start(self, *words: object, program: tuple[str, ...] = COMMAND, **environment: str) -> Running:
        """Start the command, or another program."""
        folder = self.folder / f"process-{len(self._running)}"
        folder.mkdir()
        running = Running(folder, words, environment, program)
        self._running.append(running)
        return running

    def python(self, text: str, *words: object) -> Running:
        """Start a short program."""
        return self.start(*words, program=(sys.executable, "-c", text))

    def service(self, *words: object, settings: str = SETTINGS, **environment: str) -> Running:
        """Start a service that publishes at any port, with settings that cost little."""
        path = self.folder / f"settings-{len(self._running)}.toml"
        path.write_text(settings)
        return self.start("monitor", "--publish", ANY_PORT, *words, "--", path, **environment)

    def send(self, running: Running, number: signal.Signals) -> None:
        """Send a signal, by which the process may then end."""
        self._signals.setdefault(running.process.pid, set()).add(number)
        running.process.send_signal(number)

    def kill(self, running: Running) -> None:
        """End a process, and nothing that it has started."""
        self.send(running, signal.SIGKILL)
        running.wait(None)

    def power_cut(self, running: Running) -> None:
        """End a process and all that it has started."""
        self._signals.setdefault(running.process.pid, set()).add(signal.SIGKILL)
        running.power_cut()

    def wrong(self, text: str) -> None:
        """Note what is not as it should be."""
        self.tally.wrong += 1
        self.fault(text)

    def fault(self, text: str) -> None:
        """Note a line about something that was counted."""
        line = " ".join(text.split())
        # what it is stands first, and what was said last at the end
        short = line if len(line) <= 2 * _SHOWN else f"{line[:_SHOWN]} ... {line[-_SHOWN:]}"
        self.tally.faults.append(f"{self.name}: {short}")

    def check(self, condition: object, text: str) -> None:
        """Note `text` unless the condition holds."""
        if not condition:
            self.wrong(text)

    def until(self, condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
        """Wait until a condition holds."""
        deadline = monotonic() + patience
        while not condition():
            if monotonic() > deadline:
                raise HangError(f"not within {patience:g} s: {what}")
            sleep(0.01)

    def _look(self) -> None:
        while not self._over.wait(_LOOK):
            for running in tuple(self._running):
                for pid in family(running.process.pid):
                    self.tally.memory = max(self.tally.memory, most_memory(pid))

    def close(self) -> None:
        """End what is left, and judge how every process ended and what it printed."""
        self._over.set()
        self._watch.join()
        with suppress(HangError):
            self.stack.close()
        for running in self._running:
            if running.process.poll() is None:
                self.send(running, signal.SIGKILL)
            running.process.wait()
            self._judge(running)

    def _judge(self, running: Running) -> None:
        code, said = running.process.returncode, running.err
        asserted = said.count("Assertion failed")
        if asserted and self.may_end_publishing and code >= 0:
            self.tally.largest("assertions of libzmq in the process that publishes, in one trial", asserted)
            asserted = 0
        if asserted or (code < 0 and -code not in self._signals.get(running.process.pid, ())):
            self.tally.aborts += 1
            self.fault(f"{running.words[:1]} ended with {code}: {said}")
        if "Traceback" in said or "Exception ignored" in said or "Traceback" in running.out:
            self.tally.tracebacks += 1
            self.fault(f"{running.words[:1]} printed a traceback: {said}")


@dataclass(frozen=True)
class Trial:
    """Something that is tried.

    Parameters
    ----------
    name : of its class, a slash, and its own.
    run : does it; must be importable by its name, as it runs in another process.
    load : busy processes on the machine meanwhile.
    alone : while no other trial runs.
    """

    name: str
    run: Callable[[Bench], None]
    load: int = 0
    alone: bool = False


def attempt(trial: Trial, seed: int, folder: Path) -> Tally:
    """Carry out a trial in a folder, and return what it found; whatever goes wrong is in there."""
    bench = Bench(trial.name, seed, folder)
    try:
        trial.run(bench)
    except HangError as problem:
        bench.tally.hangs += 1
        bench.fault(str(problem))
    except Exception as problem:  # noqa: BLE001 whatever comes is what is counted
        bench.wrong(f"the trial broke off: {type(problem).__name__}: {problem}")
    finally:
        bench.close()
    return bench.tally


def alive(pid: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def most_memory(pid: int) -> float:
    """Return the most MB that a process has had; 0 for one that has ended."""
    return _memory(pid, "VmHWM")


def memory(pid: int) -> float:
    """Return the MB that a process has now; 0 for one that has ended."""
    return _memory(pid, "VmRSS")


def _memory(pid: int, key: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(key)), 0.0)


def publishing_process(service: Running) -> int:
    """Return the number of the process in which a service publishes; 0 while there is no such."""
    return _part(service, b"zeromq.publisher_process")


def recording_process(service: Running) -> int:
    """Return the number of the process in which a service records; 0 while there is no such."""
    return _part(service, b"recorder_program")


def _part(service: Running, name: bytes) -> int:
    for pid in family(service.process.pid)[1:]:
        with suppress(OSError):
            if name in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
    return 0


def busy(count: int) -> list[subprocess.Popen[bytes]]:
    """Start processes that do nothing but work."""
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
