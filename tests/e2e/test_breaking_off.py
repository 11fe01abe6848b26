"""A service that breaks off in mid-test ends so that systemd starts it again."""

from __future__ import annotations

import subprocess
import sys

_BREAKS = """
import sys
from monitor.__main__ import main
from monitor.service import Service
def run(*_, **__):
    raise ValueError("a block that nobody thought of")
Service.run = run
sys.exit(main(["monitor", "--bind", "tcp://127.0.0.1:*", "--publish", "tcp://127.0.0.1:*", "--quiet"]))
"""


def test_a_failure_once_it_listens_is_exit_code_1_with_a_traceback():
    done = subprocess.run([sys.executable, "-c", _BREAKS], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback" in done.stderr
    assert "the service broke off: a block that nobody thought of" in done.stderr
