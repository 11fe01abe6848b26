"""What was told to the user, which of it still stands, and how often it was said."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gui.wording.level import Level

MOST = 100
INFO_STANDS = 8.0
"""s after which a piece of information goes by itself."""
_LEVELS = {"info": Level.INFO, "warning": Level.WARN, "error": Level.BAD}
_SHAPES = {Level.INFO: "●", Level.WARN: "▲", Level.BAD: "■"}
_WORDS = {level: word for word, level in _LEVELS.items()}
_GRAVITY = list(Level)


@dataclass(frozen=True, slots=True)
class Notice:
    """One message; `first` and `last` are when it was told, s since 1970, `count` how often."""

    level: Level
    text: str
    first: float
    last: float
    count: int = 1

    @property
    def line(self) -> str:
        """Shape, word, text, and how often where that is more than once."""
        often = f" (×{self.count})" if self.count > 1 else ""
        return f"{_SHAPES[self.level]} {_WORDS[self.level]}: {self.text}{often}"


class Notices:
    """The last messages, `most` of them; what is told again is counted and not repeated."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._log: dict[tuple[Level, str], Notice] = {}
        self._standing: set[tuple[Level, str]] = set()

    @property
    def log(self) -> tuple[Notice, ...]:
        """All that is kept, told last at the end."""
        return tuple(self._log.values())

    @property
    def standing(self) -> tuple[Notice, ...]:
        """What was neither dismissed nor went by itself: the gravest first, of these the newest first."""
        newest_first = [notice for key, notice in reversed(self._log.items()) if key in self._standing]
        return tuple(sorted(newest_first, key=lambda notice: -_GRAVITY.index(notice.level)))

    def tell(self, level: str, text: str, now: float) -> None:
        """Take a message: info, warning or error; another word is taken for an error. `now` is s since 1970."""
        key = _LEVELS.get(level, Level.BAD), " ".join(text.split())
        before = self._log.pop(key, None)
        again = before is not None and replace(before, last=now, count=before.count + 1)
        self._log[key] = again or Notice(*key, first=now, last=now)
        self._standing.add(key)
        while len(self._log) > self._most:
            oldest = next(iter(self._log))
            del self._log[oldest]
            self._standing.discard(oldest)

    def dismiss(self) -> None:
        """Take away what stands first."""
        for notice in self.standing[:1]:
            self._standing.discard((notice.level, notice.text))

    def tick(self, now: float) -> bool:
        """Let go by what has stood long enough; return whether anything has. A clock set back lets it go too."""
        gone = {
            (notice.level, notice.text)
            for notice in self.standing
            if notice.level is Level.INFO and not 0.0 <= now - notice.last < INFO_STANDS
        }
        self._standing -= gone
        return bool(gone)
