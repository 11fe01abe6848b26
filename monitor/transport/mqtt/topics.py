"""Where things stand at the broker: ``synchroscope/v1/LAB/RIG/...``, whatever characters the names have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

ROOT = "synchroscope/v1"
NO_NAME = "-"
"""The level of an empty name."""

STATUS, META, SUMMARY = "status", "meta", "summary"
INDICATORS, RELIABILITY = "indicators", "reliability"
ALARMS = "alarm/+"
EVENT, COMMAND, ANSWER = "event", "command", "answer"

# the wildcards and what separates levels, the sign that escapes, controls, and what UTF-8 forbids
_UNSAFE = re.compile("[/+#%\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_LONGEST = 1024


def level(name: str) -> str:
    """Return a name as one level of a topic: what may not stand there is percent-encoded, an empty name is ``-``."""
    if name in ("", NO_NAME):
        return NO_NAME if not name else "%2D"
    return _UNSAFE.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), name)


def name_of(level: str) -> str:
    """Return the name that `level` was given."""
    return "" if level == NO_NAME else unquote(level, errors="surrogatepass")


def alarm(name: str) -> str:
    """Return the topic of an alarm, under that of its rig."""
    return f"alarm/{level(name)}"


@dataclass(frozen=True, slots=True)
class Place:
    """The topics of one rig.

    Parameters
    ----------
    lab, rig : their names as they are; an empty rig is one that nobody knows yet.
    """

    lab: str
    rig: str = ""

    @property
    def prefix(self) -> str:
        """What all its topics begin with."""
        return f"{ROOT}/{level(self.lab)}/{level(self.rig)[:_LONGEST]}"

    def topic(self, under: str) -> str:
        """Return the whole topic of ``status`` and the like."""
        return f"{self.prefix}/{under}"
