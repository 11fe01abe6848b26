"""Values under groups and names -> a JSON map of maps of numbers whose keys no viewer can confuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec


class NumberTree:
    """The shape of a message: the same keys in every one of them.

    Viewers take a slash for a level of the tree, so that ``a/b`` of ``c`` and ``b`` of ``c/a`` would be one curve. In
    groups and names it becomes an underscore, and what is then doubled gets a number.

    Parameters
    ----------
    places : group and name of each value.
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        groups: dict[str, list[tuple[int, str]]] = {}
        for position, (group, name) in enumerate(places):
            groups.setdefault(group, []).append((position, name))
        self._groups: list[tuple[str, list[int], list[str]]] = []
        for group, key in zip(groups, _unique(groups), strict=True):
            positions = [position for position, _ in groups[group]]
            self._groups.append((key, positions, _unique(name for _, name in groups[group])))

    def encode(self, values: Sequence[float]) -> bytes:
        """Return JSON with one number a place, written as a float; what is not finite is null."""
        # a NaN in JSON is no JSON: msgspec writes null for it and for infinities
        return msgspec.json.encode(
            {
                group: {name: float(values[position]) for position, name in zip(positions, names, strict=True)}
                for group, positions, names in self._groups
            }
        )


def _unique(texts: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        # what UTF-8 cannot write, and levels, do not belong in a key
        plain = text.encode(errors="replace").decode().replace("/", "_") or "_"
        key, number = plain, 2
        while key in found:
            key, number = f"{plain}_{number}", number + 1
        found[key] = None
    return list(found)
