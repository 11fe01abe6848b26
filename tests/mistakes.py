"""A command that must fail: exit code 2, nothing on standard output, and one line on standard error."""

from __future__ import annotations

import pytest

from monitor.__main__ import main


def refusal_of(capture: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command in this process and return the line, without its name, with which it is refused."""
    capture.readouterr()  # what went before
    try:
        code = main([str(word) for word in words])
    except SystemExit as end:
        code = end.code
    said = capture.readouterr()
    assert (code, said.out, said.err.count("\n")) == (2, "", 1), said
    name = f"synchroscope {words[0]}: "
    assert said.err.startswith(name)
    return said.err.removeprefix(name).rstrip("\n")
