"""Commands, and what an actuator of known delay and gain makes of them: the truth for every tracking indicator."""

from sim.known_pairs.classes import CLASSES, UNRELATED
from sim.known_pairs.pair import KnownPair, known_pair, known_pairs

__all__ = ["CLASSES", "UNRELATED", "KnownPair", "known_pair", "known_pairs"]
