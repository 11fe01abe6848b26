"""The folder of a service's keys: its own pair, the list of who is let in, and what is to be handed over."""

from __future__ import annotations

import shutil
from pathlib import Path

from monitor.transport.security.allow_list import AllowList
from monitor.transport.security.key_files import (
    CLIENTS,
    HAND_OVER,
    PUBLIC,
    SECRET,
    SERVICE,
    KeyFileError,
    check_folder,
    check_name,
    read_public,
    service_keys,
    write_key,
    write_pair,
)


class KeyFolder:
    """Keys in ``service.secret``, ``service.public``, ``clients/NAME.public`` and ``hand-over/NAME/``.

    Nothing is ever overwritten. All methods raise `KeyFileError` for what cannot be done.

    Parameters
    ----------
    folder : need not be there before `prepare`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clients, self._hand_over = folder / CLIENTS, folder / HAND_OVER
        self.public, self.secret = folder / f"{SERVICE}{PUBLIC}", folder / f"{SERVICE}{SECRET}"

    def prepare(self) -> bool:
        """Make the folder and the service's pair; False where they are there and good."""
        for folder in (self._folder, self._clients):
            _make(folder)
        if self.secret.exists() != self.public.exists():
            half, other = (self.secret, self.public) if self.secret.exists() else (self.public, self.secret)
            raise KeyFileError(f"{half} is there without {other}: bring that back, or remove this to make both anew")
        if self.secret.exists():
            if read_public(self.public) != service_keys(self._folder).public:
                raise KeyFileError(f"{self.public} does not belong to {self.secret}: remove the wrong one")
            return False
        write_pair(self.public, self.secret)
        return True

    def client(self, name: str) -> Path:
        """Make a client's pair and let it in; return the folder to hand over."""
        folder = self._hand_over / self._new(name)
        if folder.exists():
            raise KeyFileError(f"{folder} is there already: remove it first")
        _make(self._hand_over)
        _make(folder)
        listed = self._clients / f"{name}{PUBLIC}"
        try:
            write_key(folder / f"{SERVICE}{PUBLIC}", read_public(self.public))
            write_pair(listed, folder / f"{name}{SECRET}")
        except BaseException:
            shutil.rmtree(folder)
            raise
        return folder

    def admit(self, name: str, file: Path) -> None:
        """Let in whose public key is in `file`."""
        write_key(self._clients / f"{self._new(name)}{PUBLIC}", read_public(file))

    def remove(self, name: str) -> None:
        """Take a client off the list; what may be left to hand over goes too."""
        try:
            (self._clients / f"{check_name(name)}{PUBLIC}").unlink()
        except FileNotFoundError:
            known = ", ".join(sorted(self.listed().values())) or "nobody"
            raise KeyFileError(f"{name} is not on the list of {self._folder}; on it: {known}") from None
        except OSError as problem:
            raise KeyFileError(f"{name} cannot be removed: {problem.strerror}") from problem
        shutil.rmtree(self._hand_over / name, ignore_errors=True)

    def listed(self) -> dict[bytes, str]:
        """Return the names of those let in, by public key."""
        check_folder(self._clients)
        problems: list[str] = []
        names = AllowList(self._clients, say=problems.append).names
        if problems:
            raise KeyFileError("; ".join(problems))
        return names

    def _new(self, name: str) -> str:
        if (self._clients / f"{check_name(name)}{PUBLIC}").exists():
            raise KeyFileError(f"{name} is on the list already: choose another name, or --remove it first")
        return name


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True, parents=folder.name not in (CLIENTS, HAND_OVER))
    except OSError as problem:
        raise KeyFileError(f"{folder} cannot be made: {problem.strerror}") from problem
    check_folder(folder)
