"""Export as a run file for older readers: HDF5 1.8, as MATLAB up to R2021a has it, and Octave."""

from __future__ import annotations

import errno
import shutil

import h5py
import msgspec

from monitor.recording import layout
from monitor.recording.layout import event_rows
from monitor.recording.swmr_file import DISK_ERRORS, error_text, reserve
from replay import Progress
from replay.export.contents import RunContents
from replay.export.target_files import TargetFiles

_FILTERS = {"shuffle": True, "compression": "gzip", "compression_opts": 4}
_EVENT_LISTS = ("time", "index", "kind", "detail")
_METADATA_BYTES = 1 << 22
_ROWS, _OVERHEAD = 1 << 13, 1.02  # of the last chunk, and of data that cannot be compressed


def write_hdf5(contents: RunContents, files: TargetFiles, progress: Progress) -> None:
    """Write the file, compressed."""
    path = files.temporary()
    size = _METADATA_BYTES + sum(
        int(_OVERHEAD * 8 * (table.n_rows + _ROWS) * (len(table.columns) + 3)) for table in contents.tables
    )
    if size > (free := shutil.disk_usage(path.parent).free):
        raise OSError(errno.ENOSPC, f"{size >> 20} MB may be needed, and {free >> 20} MB are left", str(path))
    # not created by HDF5, which crashes when a write fails: the space is reserved before
    path.write_bytes(
        layout.image(
            contents.stream,
            contents.result_stream,
            msgspec.json.encode(contents.settings),
            contents.created,
            layout.OLD_LIBRARY_VERSION,
            _FILTERS,
        )
    )
    with path.open("r+b") as file:
        reserve(file.fileno(), size)
    try:
        with h5py.File(path, "r+", libver=layout.OLD_LIBRARY_VERSION) as file:
            _write(contents, file, progress)
    except layout.RunFileError:
        # the recording is damaged
        raise
    except DISK_ERRORS as problem:
        raise OSError(0, error_text(problem), str(path)) from problem


def _write(contents: RunContents, file: h5py.File, progress: Progress) -> None:
    checks = list(file[layout.CHECKS][()])
    for table in contents.tables:
        datasets = [file[table.name][column] for column in layout.series_names(table.name)]
        for done, rows in table.pieces(progress):
            columns = (rows.data, rows.time, rows.epoch, rows.index)
            checks.append(layout.check_row(table.name, done, columns))
            for dataset, values in zip(datasets, columns, strict=True):
                dataset.resize(done + len(rows), axis=0)
                dataset[done:] = values
    if contents.events:
        events = event_rows([event for event, _ in contents.events])
        file[layout.EVENTS].resize(len(events), axis=0)
        file[layout.EVENTS][:] = events
        checks.append(layout.check_row(layout.EVENTS, 0, [events]))
        for name in _EVENT_LISTS:
            column = events[name]
            texts = column.dtype.kind == "S"
            file.create_dataset(f"{layout.LISTS}/event_{name}", data=layout.ascii_texts(column) if texts else column)
    file[layout.CHECKS].resize(len(checks), axis=0)
    file[layout.CHECKS][:] = layout.check_table(checks)
    file[layout.OUTCOME][()] = (contents.outcome or layout.CLEAN).encode()
