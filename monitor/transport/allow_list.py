"""The clients that are let in: one public key a file, looked at anew whenever somebody comes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from monitor.transport.key_files import PUBLIC, KeyFileError, check_folder, read_public

_MOST = 4096

_Signature = tuple[tuple[str, int, int, int], ...]


class AllowList:
    """The public keys in the files ``NAME.public`` of a folder.

    Files that others can write are left out, and a folder that others can write is as good as empty.

    Parameters
    ----------
    folder : looked at whenever a key is asked for, and read anew where anything in it has changed.
    always : names and keys that need no file.
    say : is told what is left out, once.
    """

    def __init__(
        self, folder: Path, always: dict[bytes, str] | None = None, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.folder = folder
        self._always = dict(always or {})
        self._say = say
        self._said: set[str] = set()
        self._seen: _Signature | None = None
        self._names: dict[bytes, str] = {}

    def name_of(self, key: bytes) -> str | None:
        """Return the name of the client with this public key (40 characters); None: it is not on the list."""
        return self._always.get(key) or self.names.get(key)

    @property
    def names(self) -> dict[bytes, str]:
        """Names by public key, as the folder is now."""
        try:
            check_folder(self.folder)
            seen = self._look()
        except (KeyFileError, OSError) as problem:
            self._tell(f"nobody is let in: {problem}")
            self._seen, self._names = None, {}
            return {}
        if seen != self._seen:
            self._names = self._read(seen)
            self._seen = seen
        return self._names

    def _look(self) -> _Signature:
        found = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(PUBLIC):
                    status = entry.stat(follow_symlinks=False)
                    found.append((entry.name, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
        return tuple(sorted(found)[:_MOST])

    def _read(self, seen: _Signature) -> dict[bytes, str]:
        names = {}
        for file, *_ in seen:
            try:
                names[read_public(self.folder / file)] = file.removesuffix(PUBLIC)
            except KeyFileError as problem:
                self._tell(f"not let in: {problem}")
        return names

    def _tell(self, text: str) -> None:
        if text not in self._said and len(self._said) < _MOST:
            self._said.add(text)
            self._say(text)
