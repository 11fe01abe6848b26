"""Everything that may go wrong, tried many times, in one table; returns 1 where it shows what must not be.

python -m tests.campaign [--short] [--seed N] [--only kills,disks,...] [--trial NAME] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from time import monotonic

from tests.campaign.running_trials import results
from tests.campaign.tally import Tally, as_json, table

CLASSES = ("kills", "stops", "pauses", "messages", "disks", "peers", "cables", "brokers", "files")
_REPORT_EVERY = 20


def run(words: list[str] | None = None) -> int:
    """Run the campaign and print its table."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--short", action="store_true", help="ten minutes: fewer of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(CLASSES), help="classes, separated by commas")
    parser.add_argument("--trial", default="", help="only trials whose names begin so")
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there too")
    arguments = parser.parse_args(words)
    names = arguments.only.split(",")
    if unknown := set(names) - set(CLASSES):
        parser.error(f"no class {', '.join(sorted(unknown))}: there are {', '.join(CLASSES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began, rows = monotonic(), {}
    for name in names:
        trials = importlib.import_module(f"tests.campaign.{name}").trials(arguments.short)
        trials = [trial for trial in trials if trial.name.startswith(arguments.trial)]
        rows[name] = Tally()
        for number, (_, found) in enumerate(results(trials, arguments.seed, arguments.at_once), 1):
            rows[name].add(found)
            for fault in found.faults:
                print(f"FAULT {fault}", flush=True)
            if number % _REPORT_EVERY == 0 or number == len(trials):
                print(f"{monotonic() - began:6.0f} s  {name}: {number} of {len(trials)}", flush=True)
    print(table(rows))
    print(f"seed {arguments.seed}, {monotonic() - began:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(rows, arguments.seed), indent=1))
    if all(row.clean for row in rows.values()):
        return 0
    print("repeat one with: python -m tests.campaign --only CLASS --trial NAME --seed", arguments.seed)
    return 1


if __name__ == "__main__":
    sys.exit(run())
