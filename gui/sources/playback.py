"""A file or a simulation, to be played by a process that is steered, and judged by a service as a rig would be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject

from gui.sources.catalogue import ModelUnderTest
from gui.sources.child_process import ChildProcess
from gui.sources.ensemble_cache import EnsembleCache
from gui.sources.playback_session import PlaybackSession
from gui.sources.service import Launch
from gui.sources.session import Session
from monitor.messages.recordings import Description

# what the simulated actuators stay within by themselves, and a good model too
_ALARMS = ("--alarm", "broadband_delay=-0.038..0.038:-0.058..0.058", "--alarm", "broadband_ratio=0.85..1.15")
_ALARMS_OF_A_MODEL = ("--alarm", "reliability_accumulated=0.85:0.7")


@dataclass(frozen=True, slots=True)
class PlayFile:
    """Play a recording.

    Parameters
    ----------
    path : of the file.
    words : options of `replay` that choose columns.
    description : where it is known already.
    config, service : settings of the service, a file and words that go before it.
    record : where the service keeps the run; by default nowhere.
    paused : it waits for `Player.resume`.
    """

    path: Path
    words: tuple[str, ...] = ()
    description: Description | None = None
    config: Path | None = None
    service: tuple[str, ...] = ()
    record: str = ""
    paused: bool = False

    def session(self, parent: QObject | None = None, *, launch: Launch = ChildProcess) -> Session:
        """Return the session."""
        return PlaybackSession(
            self.path.name,
            (str(self.path), *self.words),
            _service_words(self),
            parent,
            description=self.description,
            paused=self.paused,
            launch=launch,
        )


@dataclass(frozen=True, slots=True)
class PlaySimulation:
    """Play a simulation, and judge the model it belongs to where there is one; the rest is as of a file.

    Without settings of a service it has limits of its own, so that faults by hand are seen to make alarms.
    """

    name: str
    judged: ModelUnderTest | None = None
    words: tuple[str, ...] = ()
    config: Path | None = None
    service: tuple[str, ...] = ()
    record: str = ""
    paused: bool = False

    def session(self, parent: QObject | None = None, *, launch: Launch = ChildProcess) -> Session:
        """Return the session."""
        return PlaybackSession(
            self.name,
            (self.name, *self.words),
            (*_service_words(self), *self._alarms),
            parent,
            ensemble=None if self.judged is None else EnsembleCache(self.judged, launch=launch),
            paused=self.paused,
            launch=launch,
        )

    @property
    def _alarms(self) -> tuple[str, ...]:
        if self.config is not None:
            return ()
        return _ALARMS if self.judged is None else _ALARMS_OF_A_MODEL


def _service_words(source: PlayFile | PlaySimulation) -> tuple[str, ...]:
    """Return the options of `monitor`: a file of settings speaks of the laboratory's rig and where its runs go."""
    words = [] if source.config is None else [str(source.config)]
    return (*words, "--bind", "", "--rig", "", "--record", source.record, *source.service)
