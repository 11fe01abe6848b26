"""Base classes of the indicators over a sliding window: inputs, outputs, state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from numbers import Real
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from monitor.catalogue import Output
from monitor.config import Section
from monitor.indicators.parts.memory import SAMPLES, new_memory
from monitor.indicators.parts.sample_loop import PIECE, new_ring
from monitor.messages.blocks import Samples
from monitor.messages.reasons import Reason

# samples in the windows of all pairs; each needs about a kilobyte when every measure is computed
LARGEST_WINDOW = 1 << 21

Value = TypeVar("Value", bound=NamedTuple)
_NO_FORCE: Samples = np.empty((0, 0))


@dataclass(frozen=True)
class Snapshot:
    """A copy of an indicator's state, for `restore` on an indicator with the same settings."""

    settings: tuple[Any, ...]
    state: tuple[Any, ...]
    values: Samples
    count: int


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def check_window(sample_rate: float, window: float, smallest: int) -> int:
    """Return the number of samples in a window; raises ValueError when the rate or the window is out of range."""
    if not _is_number(sample_rate) or not 0.0 < sample_rate < np.inf:
        raise ValueError(f"sample_rate = {sample_rate!r} Hz: must be a positive number")
    if not _is_number(window):
        raise ValueError(f"window = {window!r} s: must be a number")
    n_window = round(window * sample_rate) if 0.0 < window * sample_rate < LARGEST_WINDOW else 0
    if window * sample_rate >= LARGEST_WINDOW:
        raise ValueError(f"window = {window} s: {window * sample_rate:.3g} samples at {sample_rate} Hz are too many")
    if n_window < smallest:
        raise ValueError(f"window = {window} s: must hold at least {smallest} samples at {sample_rate} Hz")
    return n_window


def as_samples(values: ArrayLike, what: str) -> Samples:
    """Return a writable, C-contiguous copy of `values` as float64, with NaN for what is masked.

    Raises
    ------
    ValueError : they are no real numbers; the text begins with `what`.
    """
    given = np.asanyarray(values)
    if given.dtype.kind not in "biufO":
        raise ValueError(f"{what} of type {given.dtype}: must be real numbers")
    if isinstance(given, np.ma.MaskedArray):
        given = np.ma.filled(given.astype(np.float64), np.nan)
    samples: Samples = np.array(given, dtype=np.float64, order="C")
    return samples


class Signals(NamedTuple):
    """Consecutive samples, (n_samples, n_pairs) each, contiguous and writable; ``f_m`` is empty where not needed."""

    x_c: Samples
    x_m: Samples
    f_m: Samples


class WindowedIndicator(ABC, Generic[Value]):
    """An indicator of tracking over a sliding window, for one or many actuators at once.

    Parameters
    ----------
    sample_rate : Hz.
    window : s; the window holds ``round(window * sample_rate)`` samples.
    n_pairs : number of command/measured pairs.
    every : decimation, one row of values for every N samples.
    options : fields of the measure's own `settings`, by name.

    Raises
    ------
    ValueError : a setting is unknown or out of its range; the text names it.

    Notes
    -----
    A sample that is NaN, masked, infinite or beyond 1e50 makes all windows that contain it invalid, and has no other
    effect.
    The results do not depend on how the record is split into calls, bit for bit.
    Standard deviations come from the residual of the fit of measured by the delayed command (`residual`), whatever
    its colour. Where the unexplained share of the measured power in the command's band exceeds 30 %, or the standard
    deviation of the phase 0.3 rad (of whole windows 0.5), the signals are unrelated and what compares them is NaN.

    Attributes
    ----------
    outputs, value_type : columns of the results, and the named tuple with one field for each.
    settings : the measure's own, a class of `monitor.config`; of the class: its defaults.
    needs_force : whether it needs the restoring force.
    hop : samples between updates of its values, which are held in between.
    evaluations : of the whole window, while it slides by its length; 0: it is updated at every sample.
    """

    outputs: ClassVar[tuple[Output, ...]]
    value_type: ClassVar[type[NamedTuple]]
    settings: Section = Section()
    smallest_window: ClassVar[int] = 8
    needs_force: ClassVar[bool] = False
    evaluations: ClassVar[int] = 0
    hop: int = 1

    def __init__(
        self, sample_rate: float, window: float = 2.0, *, n_pairs: int = 1, every: int = 1, **options: Any
    ) -> None:
        self.settings = type(self.settings)(**options)
        n_window = check_window(sample_rate, window, self.smallest_window)
        if n_window * n_pairs > LARGEST_WINDOW:
            raise ValueError(f"window = {window} s: {n_window} samples for each of {n_pairs} pairs are too many")
        if n_pairs < 1 or every < 1:
            raise ValueError(f"n_pairs = {n_pairs}, every = {every}: must be 1 or more")
        self.sample_rate = float(sample_rate)
        self.n_window = n_window
        self.n_pairs = n_pairs
        self.every = every
        if self.evaluations:
            self.hop = max(1, n_window // self.evaluations)
        self._plan()
        self.reset()
        self.load_kernels()

    def __repr__(self) -> str:
        values: dict[str, Any] = {"sample_rate": self.sample_rate, "window": self.window}
        values |= {} if self.n_pairs == 1 else {"n_pairs": self.n_pairs}
        values |= {} if self.every == 1 else {"every": self.every}
        values |= {name: getattr(self.settings, name) for name in self.settings.model_fields_set}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def _plan(self) -> None:
        """Compute what follows from the settings and the window, before there is a state."""

    def load_kernels(self) -> None:
        """Load the kernels, or compile them, before the first sample."""
        empty: Samples = np.empty((0, self.n_pairs))
        self.advance(empty, empty.copy(), 0, empty.copy() if self.needs_force else None)

    @abstractmethod
    def _new_state(self) -> tuple[Any, ...]:
        """Return the arrays, or named tuples of arrays, of the initial state."""

    @abstractmethod
    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        """Run the kernel over samples, the first with number `first`."""

    @classmethod
    def no_values(cls, reason: Reason) -> Samples:
        """Return (n_outputs,): NaN, and the reason."""
        values: Samples = np.array([float(reason) if output.is_code else np.nan for output in cls.outputs])
        return values

    @property
    def window(self) -> float:
        """Length of the window, s."""
        return self.n_window / self.sample_rate

    def reset(self) -> None:
        """Return to the initial state."""
        self._state = self._new_state()
        self._count = 0
        self._values: Samples = np.tile(self.no_values(Reason.FILLING), (self.n_pairs, 1))

    def update(self, x_c: ArrayLike, x_m: ArrayLike, f_m: ArrayLike | None = None) -> Value:
        """Process one sample of command and measured signal and return the newest value.

        Parameters
        ----------
        x_c, x_m : a number, or (n_pairs,) numbers.
        f_m : likewise the restoring force, for an indicator that needs it.

        Returns
        -------
        A tuple with names, `value_type`, whose docstring has the units; NaN where not valid. Of several pairs each
        field is (n_pairs,). Arrays and tuples make a call some 6 us: a loop that counts them has `step_tracking`.
        """
        c = as_samples(x_c, "command").reshape(1, -1)
        m = as_samples(x_m, "measured").reshape(1, -1)
        force = None if f_m is None else as_samples(f_m, "force").reshape(1, -1)
        self.advance(c, m, self._count, force)
        return self.value

    def update_block(
        self, x_c: ArrayLike, x_m: ArrayLike, f_m: ArrayLike | None = None, *, first: int | None = None
    ) -> Samples:
        """Process consecutive samples and return the values at those whose number `every` divides.

        Parameters
        ----------
        x_c, x_m : (n_samples,) for one pair, (n_samples, n_pairs) for several.
        f_m : likewise the restoring force, for an indicator that needs it.
        first : number of the first sample; by default counted from the last reset.

        Returns
        -------
        (n_rows, n_outputs) for one pair, (n_rows, n_pairs, n_outputs) for several; NaN where not valid.
        """
        c = as_samples(x_c, "command")
        m = as_samples(x_m, "measured")
        force = None if f_m is None else as_samples(f_m, "force")
        number = self._count if first is None else first
        if c.ndim == 1 and m.ndim == 1 and self.n_pairs == 1:
            force = force[:, None] if force is not None and force.ndim == 1 else force
            return self.advance(c[:, None], m[:, None], number, force)[:, 0]
        return self.advance(c, m, number, force)

    def advance(self, x_c: Samples, x_m: Samples, first: int, f_m: Samples | None = None) -> Samples:
        """Process samples as `update_block` does, from arrays of the type that the kernel is compiled for.

        Parameters
        ----------
        x_c, x_m, f_m : (n_samples, n_pairs), C-contiguous, writable float64. For other arrays the kernel is compiled
            again, which takes seconds.
        first : number of the first sample.
        """
        if x_c.shape != x_m.shape or x_c.ndim != 2 or x_c.shape[1] != self.n_pairs:
            raise ValueError(
                f"command {x_c.shape} and measured {x_m.shape}: both must be (n_samples, {self.n_pairs})"
            )
        if not self.needs_force:
            signals = Signals(x_c, x_m, _NO_FORCE)
        elif f_m is None or f_m.shape != x_c.shape:
            shape = None if f_m is None else f_m.shape
            raise ValueError(f"force {shape}: must be given, (n_samples, {self.n_pairs}) like the command")
        else:
            signals = Signals(x_c, x_m, f_m)
        n = len(x_c)
        rows = (first + n - 1) // self.every - (first - 1) // self.every
        out: Samples = np.empty((rows, self.n_pairs, len(self.outputs)))
        self._advance(signals, first, out)
        self._count = first + n
        if rows:
            self._values = out[-1].copy()
        return out

    @property
    def values(self) -> Samples:
        """(n_pairs, n_outputs): newest values of all pairs."""
        return self._values.copy()

    @property
    def value(self) -> Value:
        """Newest value by name; with several pairs every field is an (n_pairs,) array."""
        # the fields of the NamedTuple are floats, or arrays with several pairs: no type says that of both
        if self.n_pairs == 1:
            return self.value_type(*self._values[0].tolist())  # type: ignore[return-value]
        return self.value_type(*self._values.T.copy())  # type: ignore[return-value]

    @property
    def valid(self) -> bool:
        """Whether the newest value of every pair is valid."""
        return not bool(np.isnan(self._values[:, 0]).any())

    @property
    def _identity(self) -> tuple[Any, ...]:
        return type(self).__name__, self.sample_rate, self.n_window, self.n_pairs, self.every, self.settings

    def snapshot(self) -> Snapshot:
        """Return a copy of the state."""
        return Snapshot(self._identity, deepcopy(self._state), self._values.copy(), self._count)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a saved state; raises ValueError when it is that of an indicator with other settings."""
        if snapshot.settings != self._identity:
            raise ValueError(
                "the snapshot is of an indicator with other settings: restore it to one with the same settings"
            )
        self._state = deepcopy(snapshot.state)
        self._values = snapshot.values.copy()
        self._count = snapshot.count


class PassIndicator(WindowedIndicator[Value]):
    """An indicator that is a part of the compiled pass over the samples (`tracking_pass`).

    Its state is the pass's memory, and what it keeps beside that.

    Attributes
    ----------
    part : its number in the pass.
    every_sample : it is computed at every sample within the pass.
    """

    part: ClassVar[int]
    every_sample: ClassVar[bool] = True

    @abstractmethod
    def new_arrays(self) -> tuple[Any, ...]:
        """Return settings and arrays of the initial state, a named tuple of the kinds of `memory`."""

    @property
    def look_back(self) -> int:
        """Samples that the ring of the pass must hold."""
        return self.n_window + PIECE

    def join(self, memory: Samples) -> None:
        """Become a part of a `TrackingPass` with this memory."""
        self._state = (memory, *self._state[1:])

    def _new_state(self) -> tuple[Any, ...]:
        return (pass_memory({self: 0}),)

    def _advance(self, signals: Signals, first: int, out: Samples) -> None:
        # the pass knows the kernels of all its parts, so it imports them and not they it
        self._run(signals, first, self.every, out, self._state[0], 1 if self.every_sample else None, self)

    @cached_property
    def _run(self) -> Callable[..., None]:
        run: Callable[..., None] = import_module("monitor.indicators.tracking_pass").run_pass
        return run


def pass_memory(columns: Mapping[PassIndicator[Any], int]) -> Samples:
    """Return the initial memory of a pass of parts, each with its first column of the results."""
    longest, with_force = max(each.look_back for each in columns), any(each.needs_force for each in columns)
    samples = new_ring(next(iter(columns)).n_pairs, longest, with_force=with_force)
    arrays = {SAMPLES: samples, **{each.part: each.new_arrays() for each in columns}}
    return new_memory(arrays, {SAMPLES: 0, **{each.part: column for each, column in columns.items()}})
