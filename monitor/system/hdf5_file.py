"""Whether an HDF5 file keeps what it holds in itself: one from a stranger must not make us read other files."""

from __future__ import annotations

import h5py


def is_inside(file: h5py.File, path: str) -> bool:
    """Whether `path`, of one name or of two, leads to something in the file itself, by no soft or external link."""
    names = path.split("/")
    return all(_is_hard(file, "/".join(names[: n + 1]).encode()) for n in range(len(names)))


def _is_hard(file: h5py.File, link: bytes) -> bool:
    return bool(file.id.links.exists(link) and file.id.links.get_info(link).type == h5py.h5l.TYPE_HARD)


def is_stored_inside(data: h5py.Dataset) -> bool:
    """Whether the numbers of a dataset are in the file itself, neither raw in another nor put together of others."""
    return not (data.is_virtual or data.id.get_create_plist().get_external_count())
