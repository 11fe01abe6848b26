"""Another `synchroscope` command in a process of its own, started, listened to and ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

_PATIENCE = 15.0


class ChildDied(RuntimeError):  # noqa: N818 - what happened, not what was wrong
    """A process ended that was still needed; one line that says which and its own last word."""


class Child:
    """Run ``synchroscope`` with `words`; away from the terminal's Ctrl-C, which is ours to pass on.

    The command must know ``--until-closed``: however this process ends, and at whatever line, so does the child.

    Parameters
    ----------
    role : what it is called in messages.
    words : subcommand and options.
    """

    def __init__(self, role: str, *words: str) -> None:
        self.role = role
        self._seen = 0
        # a file and not a pipe: nobody has to read it for the child to go on
        self._folder = tempfile.TemporaryDirectory(prefix="synchroscope-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "said"
        with self._log.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "monitor", *words, "--until-closed"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ended(self) -> bool:
        """It has come to its end, well; raises ChildDied when it was not well."""
        code = self._process.poll()
        if code:
            last = (self._text().strip().splitlines() or [f"exit code {code}"])[-1]
            raise ChildDied(f"the {self.role} ended: {last}")
        return code is not None

    def news(self) -> list[str]:
        """Return the lines that it has said since the last call."""
        whole = self._text().splitlines(keepends=True)
        lines = [line.rstrip() for line in whole[self._seen :] if line.endswith("\n")]
        self._seen += len(lines)
        return lines

    def _text(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End it: asked first, which lets a service close its recording, killed if it does not listen."""
        try:
            if self._process.poll() is None:
                self._process.terminate()
                self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # after a second Ctrl-C, too
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._folder.cleanup()
