"""Disks that are full, broken, slow or hang, and run files that go: whatever is lost is announced."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from os import truncate
from pathlib import Path
from time import monotonic, sleep

from tests.campaign.account import LastWords, balance, kept_in
from tests.campaign.bad_disk import compiled, obey
from tests.campaign.bench import Bench, Trial
from tests.campaign.numbered_rig import NumberedRig
from tests.e2e.running import ANY_PORT, Running

_FULL, _SHORT = 10, 1
_UNDER_WAY = 0.5  # s in which a sample has come from the rig to the service
_SETTINGS = """[indicators]
measures = ["nrmse"]
window = 0.05
[alarms]
disk_warn = 0.0
disk_trip = 0.0
"""
_SMALL = "24m"


def trials(short: bool) -> list[Trial]:
    """Return what is tried: what can be tried on this machine."""
    ways: dict[str, Callable[[Bench], None]] = {
        "file-removed": partial(take_away, what="file removed"),
        "file-moved": partial(take_away, what="file moved"),
        "file-truncated": partial(take_away, what="file truncated"),
        "file-overwritten": partial(take_away, what="file overwritten"),
        "file-copied-over": partial(take_away, what="file copied over"),
        "file-replaced": partial(take_away, what="file replaced"),
        "folder-removed": partial(take_away, what="folder removed"),
        "folder-renamed": partial(take_away, what="folder renamed"),
    }
    if sys.platform == "linux" and shutil.which("gcc"):
        for word in ("enospc", "eio", "erofs", "hang", "slow 0.02", "slow 0.2"):
            name = word.replace(" ", "-")
            ways[f"{name}-for-a-while"] = partial(misbehave, word=word)
            ways[f"{name}-to-the-end"] = partial(misbehave, word=word, to_the_end=True)
        ways["one-after-the-other"] = misbehave_in_turn
    if _may_mount():
        ways["full"] = partial(fill, to_the_end=True)
        ways["full-then-free"] = fill
        ways["read-only"] = read_only
    count = _SHORT if short else _FULL
    return [Trial(f"disks/{name}-{number}", run) for name, run in ways.items() for number in range(count)]


def _may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode


def recording(bench: Bench, runs: Path, **environment: str) -> tuple[Running, NumberedRig]:
    """Start a service that records, and a rig; wait until there is a file."""
    words = ("--bind", ANY_PORT, "--record", f"{runs}/")
    service = bench.service(*words, settings=_SETTINGS, **environment)
    # wide enough in a second to fill a small disk in some
    rig = NumberedRig(bench.chance.choice((1024.0, 20_000.0)), 100, connect=service.listening)
    bench.stack.callback(rig.close)
    rig.start()
    return service, rig


def end_and_judge(bench: Bench, service: Running, rig: NumberedRig, *folders: Path) -> None:
    """Stop both, and compare what was sent, what is in the files and what the service says."""
    rig.stop()
    sleep(_UNDER_WAY)
    bench.send(service, signal.SIGTERM)
    service.wait(None)
    words, code = LastWords.of(service.err), service.process.returncode
    if words is None:
        bench.wrong(f"ended with {code} without its counts: {service.err}")
        return
    kept = kept_in(*(folder for folder in folders if folder.is_dir()))
    account = balance(kept, [(1, 0, rig.sent)], words.missing(kept.backlog()))
    bench.tally.kept += account.kept
    bench.tally.announced += account.announced
    if account.unannounced:
        bench.tally.unannounced += account.unannounced
        bench.fault(f"{account} of {rig.sent}, {words}, {kept.outcomes}: {service.err}")
    # what was written before a refusal may be there though it was not acknowledged
    beyond = words.missing(kept.backlog()) - account.missing
    bench.tally.largest("samples said to be lost and there all the same", max(0, beyond))
    bench.check(not kept.wrong, f"{kept.wrong} rows wrong")
    failed = words.unrecorded or "cannot be written" in service.err.splitlines()[-1]
    bench.check(code == (1 if failed else 0), f"exit code {code} with {words}: {service.err}")
    left = [path.name for folder in folders if folder.is_dir() for path in folder.glob(".*.part")]
    # from a disk that does not respond nothing can be removed
    bench.check(not left or "does not respond" in service.err, f"left behind: {left}")


def take_away(bench: Bench, *, what: str) -> None:
    """Remove, move, rename, cut or overwrite what is being recorded, twice."""
    runs, folders = bench.folder / "runs", [bench.folder / "runs"]
    service, rig = recording(bench, runs)
    for turn in range(2):
        bench.until(lambda: list(runs.glob("*.h5")), "a run file is begun")
        sleep(bench.chance.uniform(0.0, 1.5))
        path = max(runs.glob("*.h5"), key=lambda each: each.stat().st_mtime)
        bench.tally.tried += 1
        away = bench.folder / f"away-{turn}"
        folders.append(away)
        match what:
            case "file removed":
                path.unlink()
            case "file moved":
                away.mkdir()
                path.rename(away / "moved.h5")
            case "file truncated":
                truncate(path, bench.chance.choice((0, 5000, path.stat().st_size // 2)))
            case "file overwritten":
                with path.open("r+b") as file:
                    file.write(bench.chance.randbytes(4096))
            case "file copied over":
                path.write_bytes(b"another program's" * 1000)
            case "file replaced":
                other = bench.folder / f"other-{turn}"
                other.write_bytes(b"x" * 1000)
                other.replace(path)
            case "folder removed":
                shutil.rmtree(runs, ignore_errors=True)
            case "folder renamed":
                runs.rename(away)
        sleep(bench.chance.uniform(0.5, 2.0))
    end_and_judge(bench, service, rig, *folders)


def bad_disk(bench: Bench) -> tuple[Path, dict[str, str]]:
    """Put a disk under the service that obeys the file that is returned first; the second is its environment."""
    word = bench.folder / "word"
    obey(word, "ok")
    return word, {"LD_PRELOAD": str(compiled(bench.folder)), "BAD_DISK": str(word)}


def misbehave(bench: Bench, *, word: str, to_the_end: bool = False) -> None:
    """Let the disk refuse, hang or be slow from a random moment on, for a while or until after the end."""
    control, environment = bad_disk(bench)
    runs = bench.folder / "runs"
    if bench.chance.random() < 0.2:
        # from the first file on
        obey(control, word)
    service, rig = recording(bench, runs, **environment)
    sleep(bench.chance.uniform(0.0, 1.5))
    bench.tally.tried += 1
    obey(control, word)
    sleep(bench.chance.uniform(0.5, 3.0))
    if not to_the_end:
        obey(control, "ok")
        sleep(bench.chance.uniform(0.5, 2.5))
    end_and_judge(bench, service, rig, runs)


def misbehave_in_turn(bench: Bench) -> None:
    """Let the disk change its mind again and again."""
    control, environment = bad_disk(bench)
    runs = bench.folder / "runs"
    service, rig = recording(bench, runs, **environment)
    end = monotonic() + 8.0
    while monotonic() < end:
        obey(control, bench.chance.choice(("ok", "ok", "enospc", "eio", "erofs", "hang", "slow 0.01")))
        bench.tally.tried += 1
        sleep(bench.chance.uniform(0.05, 0.8))
    obey(control, "ok")
    end_and_judge(bench, service, rig, runs)


def _mounted(bench: Bench) -> Path:
    folder = bench.folder / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SMALL}", "tmpfs", folder], check=True)
    bench.stack.callback(subprocess.run, ["umount", "--lazy", folder], check=False)
    return folder


def fill(bench: Bench, *, to_the_end: bool = False) -> None:
    """Record on a disk that is full after a moment, and may be free again."""
    folder = _mounted(bench)
    ballast = folder / "ballast"
    service, rig = recording(bench, folder / "runs")
    sleep(bench.chance.uniform(0.0, 1.0))
    bench.tally.tried += 1
    with ballast.open("wb") as file:
        # all that there is
        try:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        except OSError:
            pass
    sleep(bench.chance.uniform(2.0, 6.0))
    if not to_the_end:
        ballast.unlink(missing_ok=True)
        sleep(bench.chance.uniform(1.5, 4.0))
    end_and_judge(bench, service, rig, folder / "runs")


def read_only(bench: Bench) -> None:
    """Make the disk read-only while nothing is open on it for writing, and writable again."""
    folder = _mounted(bench)
    runs = folder / "runs"
    runs.mkdir()
    words = ("--bind", ANY_PORT, "--record", f"{runs}/")
    service = bench.service(*words, settings=_SETTINGS)
    rig = NumberedRig(1024.0, 16, connect=service.listening)
    bench.stack.callback(rig.close)
    bench.tally.tried += 1
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    rig.start()
    sleep(bench.chance.uniform(0.5, 3.0))
    subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
    sleep(bench.chance.uniform(0.0, 4.0))
    end_and_judge(bench, service, rig, runs)
