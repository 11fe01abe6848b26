"""Links and storage of an HDF5 file: an untrusted file must not make this program read other files."""

from __future__ import annotations

import h5py


def is_inside(file: h5py.File, path: str) -> bool:
    """Whether `path`, of one name or two, is in the file itself, without soft or external links."""
    names = path.split("/")
    return all(_is_hard_link(file, "/".join(names[: n + 1]).encode()) for n in range(len(names)))


def _is_hard_link(file: h5py.File, link: bytes) -> bool:
    return bool(file.id.links.exists(link) and file.id.links.get_info(link).type == h5py.h5l.TYPE_HARD)


def is_stored_inside(data: h5py.Dataset) -> bool:
    """Whether the values of a dataset are in the file itself: neither external nor virtual."""
    return not (data.is_virtual or data.id.get_create_plist().get_external_count())
