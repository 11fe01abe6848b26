"""Export as Parquet: signals, results and events in a file each, with units, roles and settings as metadata."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from replay import Progress
from replay.export.contents import RunContents, SeriesTable, event_columns, unique_names
from replay.export.target_files import TargetFiles


def write_parquet(contents: RunContents, files: TargetFiles, progress: Progress) -> None:
    """Write the files; every piece is a row group."""
    for table in contents.tables:
        _write_series(contents, table, files, progress)
    columns = event_columns(contents)
    arrays = {
        name: pa.array(column.tolist(), pa.string()) if column.dtype == object else pa.array(column)
        for name, column in columns.items()
    }
    units = {"time": "s", "run_time": "s"}
    schema = pa.schema(
        [pa.field(name, array.type, metadata=_known(unit=units.get(name, ""))) for name, array in arrays.items()],
        metadata=_metadata(contents, "events"),
    )
    with files.temporary("-events").open("wb") as file:
        pq.write_table(pa.table(list(arrays.values()), schema=schema), file)


def _write_series(contents: RunContents, table: SeriesTable, files: TargetFiles, progress: Progress) -> None:
    fields = [
        pa.field("time", pa.float64(), metadata=_known(unit="s")),
        pa.field("epoch", pa.int64()),
        pa.field("index", pa.int64()),
    ]
    names = unique_names((c.name for c in table.columns), taken=[field.name for field in fields])
    fields += [
        pa.field(name, pa.float64(), metadata=_known(name=c.name, unit=c.unit, role=c.role, actuator=c.actuator))
        for name, c in zip(names, table.columns, strict=True)
    ]
    schema = pa.schema(fields, metadata=_metadata(contents, table.name))
    mark = "" if table.name == "signals" else f"-{table.name}"
    # measured signals have hardly two equal values: a dictionary would only cost time
    with files.temporary(mark).open("wb") as file, pq.ParquetWriter(file, schema, use_dictionary=False) as writer:
        for _, rows in table.pieces(progress):
            values = np.ascontiguousarray(rows.data.T)
            arrays = [pa.array(column) for column in (rows.time, rows.epoch, rows.index, *values)]
            writer.write_table(pa.table(arrays, schema=schema))


def _metadata(contents: RunContents, table: str) -> dict[str, Any]:
    found = contents.metadata
    return {
        "synchroscope": msgspec.json.encode({"table": table, **found}),
        "sample_rate": repr(found["sample_rate"]),
        "rig": found["rig"],
    }


def _known(**texts: str) -> dict[str, str] | None:
    return {name: text for name, text in texts.items() if text} or None
