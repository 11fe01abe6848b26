"""A service that records a good stream from its first sample to its last, while something else is tried on it."""

from __future__ import annotations

from monitor.transport.zeromq.allow_list import KeyFolder
from monitor.transport.zeromq.key_files import Keys, client_keys
from tests.campaign.account import Kept, LastWords, balance, kept_in
from tests.campaign.bench import Bench
from tests.campaign.numbered_rig import NumberedRig
from tests.e2e.running import ANY_PORT, Running


def keys_of(bench: Bench, name: str) -> tuple[str, Keys]:
    """Make a folder of keys; return its path and the keys of a client."""
    folder = KeyFolder(bench.folder / "keys")
    folder.prepare()
    return str(bench.folder / "keys"), client_keys(folder.client(name))


def judge_whole(
    bench: Bench,
    service: Running,
    rig: NumberedRig,
    runs: str,
    *,
    before: NumberedRig | None = None,
    said: int | None = None,
) -> Kept:
    """End the stream and the service in good order, and look for every sample.

    Parameters
    ----------
    runs : the folder in that of the trial.
    before : a rig that sent before, and has ended.
    said : how many samples may be missing; by default as many as the service says.
    """
    rig.stop(last=True)
    service.wait()
    kept = kept_in(bench.folder / runs)
    words = LastWords.of(service.err)
    if said is None:
        said = words.missing(kept.backlog()) + words.doubled + words.late if words else 0
    rigs = [each for each in (before, rig) if each is not None]
    account = balance(kept, [(each.stream.epoch, each.first, each.sent) for each in rigs], said)
    # of two rigs with the same numbers, both must be there
    epochs = {each.stream.epoch for each in rigs}
    too_few = sum(each.sent for each in rigs) - sum(kept.rows.get(epoch, 0) for epoch in epochs)
    bench.check(not kept.wrong and not kept.unreadable, f"{kept.wrong} rows wrong, {kept.unreadable}")
    bench.check(set(kept.outcomes) == {"clean"}, f"outcomes {kept.outcomes}")
    bench.tally.kept += account.kept
    bench.tally.announced += max(account.announced, min(said, too_few))
    unannounced = max(account.unannounced, too_few - said)
    if unannounced > 0:
        bench.tally.unannounced += unannounced
        bench.fault(f"{account} of {rig.sent}, {too_few} rows too few: {service.err}")
    return kept


def steady(bench: Bench, *words: object, keys: Keys | None = None, rig: str = "rig") -> tuple[Running, NumberedRig]:
    """Start a service that records until the stream ends, and a rig."""
    service = bench.service("--bind", ANY_PORT, "--record", f"{bench.folder / 'runs'}/", "--once", *words)
    numbered = NumberedRig(connect=service.listening, security=keys, rig=rig)
    bench.stack.callback(numbered.close)
    numbered.start()
    return service, numbered
