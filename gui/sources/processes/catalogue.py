"""What can be opened and simulated, as those who know tell it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of file: its name and how such files are called, ``*.csv``."""

    name: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelUnderTest:
    """A model that is judged by a simulation.

    Parameters
    ----------
    model : its name for `synchroscope simulate`.
    response : the channel that it speaks of.
    tolerance, policy, limits : as the options of `monitor` take them; an empty policy is the default.
    realizations : how many its ensemble has.
    """

    model: str
    response: str
    tolerance: str
    policy: str = ""
    limits: tuple[str, ...] = ()
    realizations: int = 10_000

    def words(self, ensemble: str) -> tuple[str, ...]:
        """Return the options of `monitor` that judge it by the ensemble in a file."""
        options = ["--ensemble", ensemble, "--response", self.response, "--tolerance", self.tolerance]
        if self.policy:
            options += ["--policy", self.policy]
        for limit in self.limits:
            options += ["--limit", limit]
        return tuple(options)


@dataclass(frozen=True, slots=True)
class SimulationOffer:
    """One simulation: its name, a line about it, the submenu it belongs to, and the model that it judges."""

    name: str
    summary: str
    group: str
    judged: ModelUnderTest | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything there is."""

    files: tuple[FileKind, ...] = ()
    simulations: tuple[SimulationOffer, ...] = ()

    @property
    def filters(self) -> str:
        """Return the filters of a file dialog: all kinds together first, each alone, and any file."""
        patterns = " ".join(dict.fromkeys(pattern for kind in self.files for pattern in kind.patterns))
        each = [f"{kind.name} ({' '.join(kind.patterns)})" for kind in self.files if kind.patterns]
        return ";;".join([f"Recordings ({patterns})", *each, "All files (*)"] if patterns else ["All files (*)"])

    @property
    def groups(self) -> dict[str, tuple[SimulationOffer, ...]]:
        """Return the simulations by submenu, in their order."""
        names = dict.fromkeys(offer.group for offer in self.simulations)
        return {name: tuple(offer for offer in self.simulations if offer.group == name) for name in names}

    def simulation(self, name: str) -> SimulationOffer | None:
        """Return the simulation of that name, if there is one."""
        return next((offer for offer in self.simulations if offer.name == name), None)
