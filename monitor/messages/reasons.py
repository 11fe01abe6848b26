"""Why a measure has no value: the codes in results, their words, and what helps.

Kernels write the codes, programs read them in recordings and on the wire: a number never changes its meaning.
"""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Reason of a missing value.

    Attributes
    ----------
    word : what tables and alarms show.
    sentence : what it means, and what helps.
    """

    word: str
    sentence: str

    def __new__(cls, code: int, word: str, sentence: str) -> Reason:
        """Return the member with this code."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.word, member.sentence = word, sentence
        return member

    VALID = 0, "valid", "there is a value"
    FILLING = 1, "window not full", "the first window of samples is not full yet"
    BAD_SAMPLE = 2, "gap or bad sample", "the window holds a sample that is lost, not a number or absurdly large"
    GATE = 3, "too little motion", "the command is smaller than the gate"
    FEW_CYCLES = 4, "too few cycles", "the window is too short for the motion, or the motion is a drift"
    OFFSET = 5, "offset hidden", "a slow motion of several frequencies looks like an offset: lengthen the window"
    UNRELATED = (
        6,
        "unrelated signals",
        "much of measured has nothing to do with the command, at any lag that is searched",
    )
    UNCERTAIN = (
        7,
        "uncertain",
        "the standard deviation of the phase is too large, or a spike has just left: lengthen the window",
    )
    LAG = (
        8,
        "lag out of range",
        "measured is farther from the command than is searched: raise max_delay, or the window",
    )
    CONSTANT = 9, "constant signal", "measured, or the command, does not move: look at the sensor and its cable"
    PAUSED = 10, "paused: overload", "the service does not compute it, to keep up with the samples"
    NO_FORCE = 11, "no force", "the actuator has no channel for the restoring force"
    NO_TONE = 12, "no dominant tone", "the motion is too far from a single tone: use the broadband delay"
    UNITS = 13, "different units", "command and measured have different units, so their difference means nothing"
    COMPILING = 14, "being compiled", "a first start compiles it, in a minute or two, while the samples are recorded"
    NOT_SET = 15, "not set", "it needs a setting that is not given, such as yield_displacement"


REASONS = {float(each): each for each in Reason}
"""By code."""


def reason_word(code: float) -> str:
    """Return the word of a code; of one that this version does not know, its number."""
    return REASONS[code].word if code in REASONS else f"reason {code:g}"
