"""The files of one export: temporary ones beside their targets, renamed when all of them are whole."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from monitor.system.files import WriteError


class TargetFiles:
    """Names of the files to write; as a context manager it renames them at the end, or removes them after an error.

    Parameters
    ----------
    out : the first file; the others have its name with a mark, such as ``run-results.csv``.
    source : the recording, which is never replaced.
    overwrite : replace existing files.
    """

    def __init__(self, out: Path, source: Path, *, overwrite: bool = False) -> None:
        self._out, self._source, self._overwrite = out, source, overwrite
        self._files: dict[Path, Path] = {}
        self._scratch: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files by the names that they get."""
        return tuple(self._files)

    def temporary(self, mark: str = "", after: str = "") -> Path:
        """Return the temporary path of the file with `mark` after the stem of its name, and `after` its ending.

        Raises
        ------
        WriteError : the target exists, or is the recording itself.
        """
        target = self._out.with_name(f"{self._out.stem}{mark}{self._out.suffix}{after}")
        self._check(target)
        self._files[target] = target.with_name(f".{target.name}.{os.getpid()}.part")
        return self._files[target]

    def scratch(self) -> Path:
        """Return the path of a file that is removed at the end."""
        self._scratch = self._out.with_name(f".{self._out.name}.{os.getpid()}.scratch")
        return self._scratch

    def _check(self, target: Path) -> None:
        if not os.path.lexists(target):
            return
        if target.exists() and target.samefile(self._source):
            raise WriteError(f"{target} is the recording itself: give another name with -o OUT")
        if target.exists() and not target.is_file():
            raise WriteError(f"{target} is no regular file: give another name with -o OUT")
        if not self._overwrite:
            raise WriteError(f"{target} exists: give another name with -o OUT, or --overwrite")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._rename()
        except OSError as problem:
            raise self._error(problem) from problem
        finally:
            for temporary in (*self._files.values(), *filter(None, (self._scratch,))):
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise self._error(error) from error

    def _rename(self) -> None:
        for temporary in self._files.values():
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        for target, temporary in self._files.items():
            self._check(target)
            temporary.replace(target)

    def _error(self, problem: OSError) -> WriteError:
        own = {None, *map(str, (*self._files, *self._files.values(), self._scratch))}
        if problem.filename not in own:
            return WriteError(f"{problem.filename}: {problem.strerror or problem}")
        return WriteError(f"{self._out}: cannot be written ({problem.strerror or problem})")
