"""What names and numbers beside arrays say: rates, periods and starts; factors and fill values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from monitor.messages.blocks import Samples
from replay.formats.columns import SECONDS, words

_RATES = words(
    "fs rate srate sps samplerate samplingrate samplingfrequency samplefrequency samplefreq fsample fsamp scanrate "
    "acquisitionrate samplespersecond samplespersec nominalsrate loggingrate datarate"
)
_PERIODS = words(
    "dt ts deltat deltatime sampletime sampleperiod timestep tsample tsampling samplingperiod stepsize isi deltax "
    "xdelta samplinginterval sampleinterval wfincrement xincrement xinc timeincrement timeinterval tinterval "
    "scaninterval samplingtime samplingstep tstep"
)
_STARTS = words(
    "t0 x0 xzero xoffset starttime tstart timestart startoffset wfstartoffset timeoffset firsttime initialtime start"
)
_HERTZ = {"hz": 1.0, "khz": 1e3, "mhz": 1e6}
_AGREE = 1e-3  # of a rate
_AMOUNT = re.compile(r"\s*(\d+\.?\d*(?:[eE][-+]?\d+)?)\s*([A-Za-zµ]*)\s*").fullmatch  # such as 400 Hz


@dataclass(frozen=True)
class Sampling:
    """Hz, None where the file gives none, s of the first sample, and a note where names contradict each other."""

    rate: float | None = None
    start: float = 0.0
    note: str = ""


def read_sampling(numbers: Mapping[str, float], texts: Mapping[str, Sequence[str]] | None = None) -> Sampling:
    """Return what names say of the sampling.

    Parameters
    ----------
    numbers : by their names, or paths in a tree; of one name that is given twice the deeper path is used.
    texts : among which the unit of `x` may be, as ``x_units``.
    """
    rates: list[tuple[int, str, float]] = []
    starts: list[tuple[int, float]] = []
    single = {path: each[0] for path, each in (texts or {}).items() if len(each) == 1}
    written = {path: found for path, text in single.items() if (found := _AMOUNT(text))}
    units = {_plain(path): text for path, text in single.items()}
    units |= {_plain(path) + "unit": found[2] for path, found in written.items() if found[2]}
    for path, value in ({path: float(found[1]) for path, found in written.items()} | dict(numbers)).items():
        parent, _, own = path.rpartition("/")
        kind, scale = _kind(own)
        beside = next((units[key] for end in ("units", "unit") if (key := _plain(path) + end) in units), "")
        scale = SECONDS.get(beside.strip().lower(), scale) if kind != "rate" else scale
        scale = _HERTZ.get(beside.strip().lower(), scale) if kind == "rate" else scale
        if not np.isfinite(value):
            continue
        if kind == "start":
            starts.append((len(parent), scale * value))
        elif kind and value > 0.0:
            rates.append(
                (len(parent), own, float(f"{scale * value if kind == 'rate' else 1 / (scale * value):.12g}"))
            )
    start = max(starts, default=(0, 0.0), key=lambda each: each[0])[1]
    if not rates:
        return Sampling(None, start)
    deepest = max(depth for depth, _, _ in rates)
    names = {own: rate for depth, own, rate in rates if depth == deepest}
    (first, rate), *others = names.items()
    said = [f"{own} of {other:.6g} Hz" for own, other in others if abs(other - rate) > _AGREE * rate]
    note = f"{first} gives {rate:.6g} Hz and is used, against {', '.join(said)}: --rate HZ" if said else ""
    return Sampling(rate, start, note)


def _kind(name: str) -> tuple[str, float]:
    """Return what a name gives, a rate, a period or a start, and Hz or s in its unit; nothing for other names."""
    bracket = re.match(r"^(.*?)\s*[\[(]\s*([^\[\]()]*?)\s*[\])]\s*$", name)
    text, suffix = (bracket[1], bracket[2]) if bracket else name.rpartition("_")[::2]
    scales = SECONDS | _HERTZ
    for part, scale in ((text, scales.get(suffix.lower())), (name, 1.0)):
        plain = _plain(part)
        if scale is not None and plain:
            for kind, known in (("rate", _RATES), ("period", _PERIODS), ("start", _STARTS)):
                if plain in known:
                    return kind, scale
    return "", 1.0


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


_FACTOR, _OFFSET = ("scalefactor",), ("addoffset",)
_FILL = ("fillvalue", "missingvalue")
_DOUBTFUL = words(
    "gain scale scaling multiplier factor slope sensitivity calibration offset intercept conversionfactor calfactor "
    "conversion scalingfactor"
)


@dataclass(frozen=True)
class Scaling:
    """What makes values of numbers as they are stored: factor * number + offset; NaN for those that fill."""

    factor: float = 1.0
    offset: float = 0.0
    fill: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    def applied(self, numbers: Samples) -> Samples:
        """Return the values of numbers."""
        values = np.asarray(numbers, dtype=np.float64)
        if self.fill:
            values = np.where(np.isin(values, self.fill), np.nan, values)
        return values if (self.factor, self.offset) == (1.0, 0.0) else self.factor * values + self.offset

    @property
    def does_nothing(self) -> bool:
        """Whether values are as stored."""
        return (self.factor, self.offset, self.fill) == (1.0, 0.0, ())


def read_scaling(name: str, attributes: Mapping[str, object]) -> Scaling:
    """Return what attributes such as ``scale_factor`` and ``_FillValue`` of an array say, with notes on it.

    A ``gain`` or ``scale`` may be in the numbers already: it is not applied, which is noted.
    """
    found: dict[str, float] = {}
    for key, value in attributes.items():
        try:
            found[re.sub(r"[^a-z]", "", key.lower())] = float(np.asarray(value, dtype=np.float64).ravel()[0])
        except (TypeError, ValueError, IndexError):
            continue
    factor = next((found[key] for key in _FACTOR if key in found), 1.0)
    offset = next((found[key] for key in _OFFSET if key in found), 0.0)
    fill = tuple(dict.fromkeys(found[key] for key in _FILL if key in found))
    notes = []
    if (factor, offset) != (1.0, 0.0):
        plus = f" + {offset:g}" if offset else ""
        notes.append(f"{name}: scaled as the file says, {factor:g} times the numbers{plus}")
    if fill:
        notes.append(f"{name}: {', '.join(f'{value:g}' for value in fill)} is no value, as the file says")
    neutral = {"offset": 0.0, "intercept": 0.0}
    doubtful = [key for key in found if key in _DOUBTFUL and found[key] != neutral.get(key, 1.0)]
    if doubtful:
        said = ", ".join(f"{key} {found[key]:g}" for key in doubtful)
        notes.append(f"{name}: the file gives {said}, which is not applied: the numbers may include it or not")
    return Scaling(factor, offset, tuple(value for value in fill if np.isfinite(value)), tuple(notes))


def scaled(read: Callable[[int, int], np.ndarray], scaling: Scaling) -> Callable[[int, int], np.ndarray]:
    """Return what reads a part of an array and scales it."""
    if scaling.does_nothing:
        return read
    return lambda begin, end: scaling.applied(read(begin, end))


def beside(path: str, numbers: Mapping[str, float], names: Iterable[str] = ()) -> dict[str, float]:
    """Return the numbers below a path, or beside values in one struct, by their own names."""
    parent, _, own = path.rpartition("/")
    groups = {path, parent} if own.lower() in names and parent else {path}
    return {p.rpartition("/")[2]: value for p, value in numbers.items() if p.rpartition("/")[0] in groups}
