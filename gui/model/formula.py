"""Formulas over signals, such as ``(north.command - north.measured) * 1e3``: checked, and evaluated block by block.

Python's parser reads the text; of its syntax tree only arithmetic, numbers, names of signals and calls of the
functions in `FUNCTIONS` are accepted. Nothing of it is executed by Python.

Each is called with consecutive blocks, (n_samples,), and any division into blocks gives the same bits. A missing
sample (NaN or infinite) has no value, and the function restarts after it.
"""

from __future__ import annotations

import ast
import keyword
import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, partial
from unicodedata import normalize

import numpy as np

from monitor.messages.blocks import Samples

MAX_DELAY = 10.0
"""s, of which samples are stored."""


RunningFunction = Callable[[Samples], Samples]
"""A function with state: takes a block, and returns the values of the next samples."""


class Derivative:
    """Difference to the sample before, times the sample rate: the derivative half a sample earlier."""

    def __init__(self, rate: float) -> None:
        self._rate, self._last = rate, math.nan

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        steps: Samples = np.diff(x, prepend=self._last) * self._rate
        self._last = float(x[-1])
        return steps


class Integral:
    """Integral by the trapezoidal rule, from 0 at the first sample."""

    def __init__(self, rate: float) -> None:
        self._half_step, self._last, self._total = 0.5 / rate, math.nan, 0.0

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        before = np.concatenate(([self._last], x[:-1]))
        steps = (before + x) * self._half_step
        restarts = np.flatnonzero(~np.isfinite(steps))
        found = np.empty(len(x))
        total, first = self._total, 0
        for stop in (*restarts.tolist(), len(x)):
            # accumulated from the left in order, so that blocks do not matter
            found[first:stop] = np.cumsum(np.concatenate(([total], steps[first:stop])))[1:]
            if stop < len(x):
                found[stop] = 0.0 if math.isfinite(x[stop]) else math.nan
            total, first = 0.0, stop + 1
        self._last, self._total = float(x[-1]), float(found[-1])
        return found


class SecondOrderFilter:
    """Causal Butterworth filter of second order; it starts as if the first sample had lasted for ever.

    Parameters
    ----------
    cutoff : Hz, at which the amplitude is 1/sqrt(2); below half the rate.
    rate : Hz.
    high : passes what is above the cutoff.
    """

    def __init__(self, cutoff: float, rate: float, *, high: bool = False) -> None:
        warped = math.tan(math.pi * cutoff / rate)
        scale = 1.0 / (1.0 + math.sqrt(2.0) * warped + warped**2)
        b0, b1 = (scale, -2.0 * scale) if high else (warped**2 * scale, 2.0 * warped**2 * scale)
        a1, a2 = 2.0 * (warped**2 - 1.0) * scale, (1.0 - math.sqrt(2.0) * warped + warped**2) * scale
        self._coefficients = np.array([b0, b1, b0, a1, a2, 0.0 if high else 1.0])
        self._state = np.full(2, math.nan)

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        found = np.empty(len(x))
        _compiled_filter()(np.ascontiguousarray(x), self._coefficients, self._state, found)
        return found


def _filter(x: Samples, coefficients: Samples, state: Samples, found: Samples) -> None:
    """Filter in transposed direct form II; a NaN in `state` starts it in its steady state."""
    b0, b1, b2, a1, a2, gain = coefficients
    for i in range(len(x)):
        value = x[i]
        if not math.isfinite(value):
            found[i] = state[0] = math.nan
            continue
        if math.isnan(state[0]):
            state[1] = (b2 - a2 * gain) * value
            state[0] = (b1 - a1 * gain) * value + state[1]
        filtered = b0 * value + state[0]
        state[0] = b1 * value - a1 * filtered + state[1]
        state[1] = b2 * value - a2 * filtered
        found[i] = filtered


@cache
def _compiled_filter() -> Callable[[Samples, Samples, Samples, Samples], None]:
    # numba takes half a second to import, and most windows have no filter
    from monitor.kernel import kernel

    return kernel(_filter)


class Delay:
    """The signal as it was some time before; between two samples it is interpolated linearly.

    It has no value until that time has passed without a missing sample.
    """

    def __init__(self, seconds: float, rate: float) -> None:
        rows = seconds * rate
        whole = math.floor(rows + 1e-9)
        self._share = max(0.0, rows - whole) if rows - whole > 1e-9 else 0.0
        self._before = np.full(whole + bool(self._share), math.nan)

    def __call__(self, x: Samples) -> Samples:
        """Return the values of the next block."""
        n, every = len(self._before), np.concatenate((self._before, x))
        places = np.arange(len(every))
        missing = np.maximum.accumulate(np.where(np.isfinite(every), -1, places))
        found = every[: len(x)]
        if self._share:
            found = self._share * found + (1.0 - self._share) * every[1 : len(x) + 1]
        delayed: Samples = np.where(missing[n:] < places[n:] - n, found, math.nan)
        self._before = every[len(x) :].copy()
        return delayed


MAX_LENGTH = 500
"""Characters of a formula."""
_MAX_NODES = 200

_OPERATORS: Mapping[type[ast.operator] | type[ast.unaryop], np.ufunc] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide, ast.Pow: np.power,
    ast.USub: np.negative, ast.UAdd: np.positive,
}  # fmt: skip
_POINTWISE: Mapping[str, np.ufunc] = {
    "abs": np.absolute, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log10": np.log10, "sign": np.sign,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "degrees": np.degrees, "radians": np.radians, "min": np.minimum, "max": np.maximum,
    "hypot": np.hypot,
}  # fmt: skip
_FILTERS: Mapping[str, Callable[[float, float], RunningFunction]] = {
    "lowpass": SecondOrderFilter,
    "highpass": partial(SecondOrderFilter, high=True),
    "delay": Delay,
}
_INTEGRATORS: Mapping[str, Callable[[float], RunningFunction]] = {"deriv": Derivative, "cumtrapz": Integral}
FUNCTIONS: Mapping[str, str] = {
    "deriv(x)": "derivative in time, half a sample late",
    "cumtrapz(x)": "integral over time; 0 at first and after a gap",
    "lowpass(x, Hz)": "Butterworth, second order, causal: 0.225/Hz s late",
    "highpass(x, Hz)": "Butterworth, second order, causal",
    "delay(x, s)": f"the signal s seconds earlier, at most {MAX_DELAY:g}",
    "abs(x), sqrt(x), exp(x), log(x), log10(x), sign(x)": "",
    "sin(x), cos(x), tan(x), asin(x), acos(x), atan(x), atan2(y, x)": "angles in radians",
    "degrees(x), radians(x), min(x, y), max(x, y), hypot(x, y)": "",
}
"""Functions of formulas, and what they are."""
_NAMES = (*_POINTWISE, *_INTEGRATORS, *_FILTERS)
_WRITTEN = {ast.BitXor: "a power is written **", ast.Mod: "there is no %", ast.FloorDiv: "there is no //"}


class FormulaError(ValueError):
    """A formula cannot be used; one line with the place.

    Attributes
    ----------
    begin, end : of the part that is wrong, characters of the formula.
    """

    def __init__(self, text: str, begin: int, end: int, problem: str) -> None:
        part = text[begin:end]
        super().__init__(f"character {begin + 1}{f', {part}' if part else ''}: {problem}")
        self.begin, self.end = begin, end


class Formula:
    """A compiled formula with the state of its functions.

    Parameters
    ----------
    inputs : names of the signals that it needs.
    evaluate : takes a block of each, and returns their value.
    """

    def __init__(self, inputs: tuple[str, ...], evaluate: Callable[[Sequence[Samples]], Samples]) -> None:
        self.inputs, self._evaluate = inputs, evaluate

    def advance(self, columns: Sequence[Samples]) -> Samples:
        """Return the values of the next samples of the inputs, (n_samples,) each; NaN where one is missing."""
        if not len(columns[0]):
            return np.empty(0)
        with np.errstate(all="ignore"):
            found = self._evaluate([np.where(np.isfinite(column), column, np.nan) for column in columns])
        values: Samples = np.where(np.isfinite(found), found, np.nan)
        return values

    def interrupt(self) -> None:
        """Restart: samples are missing."""
        self.advance([np.full(1, math.nan)] * len(self.inputs))


def reference(name: str) -> str:
    """Return a signal as it is written in a formula: its name, in quotes where it has other characters."""
    plain = all(part.isidentifier() and not keyword.iskeyword(part) for part in name.split("."))
    return name if plain and normalize("NFKC", name) == name else repr(name)


def compile_formula(text: str, names: Collection[str], rate: float) -> Formula:
    """Return a formula over signals.

    Parameters
    ----------
    text : arithmetic (``+ - * / **``) of numbers, signals and functions; a name with other characters than letters,
        digits, ``_`` and dots is written in quotes.
    names : of the signals.
    rate : Hz.

    Raises
    ------
    FormulaError : it is not a formula; one line with the place.
    """
    return _Compiler(text, names, rate).formula()


_Term = float | Callable[[Sequence[Samples]], Samples]
"""A number, or a function of the blocks of the inputs."""


class _Compiler:
    def __init__(self, text: str, names: Collection[str], rate: float) -> None:
        self._text, self._rate = text, rate
        self._names = {normalize("NFKC", name): name for name in names} | {name: name for name in names}
        self._inputs: dict[str, int] = {}
        # Python rejects a leading blank
        self._indent = len(text) - len(text.lstrip())

    def formula(self) -> Formula:
        text = self._text
        if not text.strip():
            raise FormulaError(text, 0, 0, "a formula is needed")
        if len(text) > MAX_LENGTH:
            raise FormulaError("", MAX_LENGTH, MAX_LENGTH, f"a formula has at most {MAX_LENGTH} characters")
        if any(ord(letter) < 32 for letter in text):
            at = next(i for i, letter in enumerate(text) if ord(letter) < 32)
            raise FormulaError(text, at, at, "a formula is one line")
        body = self._parse()
        if sum(1 for _ in ast.walk(body)) > _MAX_NODES:
            raise FormulaError(text, 0, 0, "the formula has too many parts: divide it into several channels")
        term = self._term(body)
        if isinstance(term, float):
            raise self._error(body, "a formula needs a channel")
        return Formula(tuple(self._inputs), term)

    def _parse(self) -> ast.expr:
        try:
            with warnings.catch_warnings():
                # about escapes in quoted names
                warnings.simplefilter("ignore")
                return ast.parse(self._text.strip(), mode="eval").body
        except SyntaxError as problem:
            # without an offset the formula ends too early
            at = min((problem.offset or len(self._text) + 1) - 1 + self._indent, len(self._text))
            raise FormulaError(self._text, at, at, problem.msg) from None
        except (ValueError, RecursionError, MemoryError):
            raise FormulaError(self._text, 0, 0, "the formula cannot be read") from None

    def _error(self, node: ast.expr, problem: str) -> FormulaError:
        return FormulaError(self._text, *self._place(node), problem)

    def _place(self, node: ast.expr) -> tuple[int, int]:
        # the parser counts bytes
        encoded = self._text.strip().encode()
        begin, end = (
            len(encoded[:at].decode(errors="ignore")) + self._indent
            for at in (node.col_offset, node.end_col_offset or node.col_offset)
        )
        return begin, end

    def _term(self, node: ast.expr) -> _Term:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return self._number(node, number)
            case ast.Constant(value=str() as name):
                return self._signal(node, name)
            case ast.Name() | ast.Attribute():
                return self._signal(node, self._dotted(node))
            case ast.BinOp() if type(node.op) in _OPERATORS:
                return _applied(_OPERATORS[type(node.op)], self._term(node.left), self._term(node.right))
            case ast.UnaryOp() if type(node.op) in _OPERATORS:
                return _applied(_OPERATORS[type(node.op)], self._term(node.operand))
            case ast.BinOp():
                raise self._error(node, _WRITTEN.get(type(node.op), "only + - * / ** are possible"))
            case ast.Call():
                return self._call(node)
            case _:
                raise self._error(node, "only numbers, channels, + - * / ** and functions are possible")

    def _number(self, node: ast.expr, number: float) -> float:
        try:
            return float(number)
        except OverflowError:
            raise self._error(node, "the number is too large") from None

    def _dotted(self, node: ast.expr) -> str:
        """Return a name with dots."""
        parts: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            raise self._error(node, "a dot is possible in names of channels only")
        return ".".join((inner.id, *parts))

    def _signal(self, node: ast.expr, name: str) -> _Term:
        known = self._names.get(name)
        if known is None:
            if name in _NAMES:
                raise self._error(node, f"{name} is a function: write {name}(...)")
            near = get_close_matches(name, self._names, 1)
            hint = f"; did you mean {reference(self._names[near[0]])}?" if near else ""
            raise self._error(node, f"there is no such channel{hint}")
        place = self._inputs.setdefault(known, len(self._inputs))
        return lambda columns: columns[place]

    def _call(self, node: ast.Call) -> _Term:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _NAMES:
            near = get_close_matches(name, _NAMES, 1)
            raise self._error(node.func, f"there is no such function{f'; did you mean {near[0]}?' if near else ''}")
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._error(node, f"{name} has plain arguments, separated by commas")
        wanted = 2 if name in _FILTERS else _POINTWISE[name].nin if name in _POINTWISE else 1
        if len(node.args) != wanted:
            raise self._error(node, f"{name} has {wanted} argument{'s' if wanted > 1 else ''}, not {len(node.args)}")
        terms = [self._term(argument) for argument in node.args]
        if name in _POINTWISE:
            return _applied(_POINTWISE[name], *terms)
        signal = terms[0]
        if isinstance(signal, float):
            raise self._error(node.args[0], f"{name} needs a channel here")
        if name in _INTEGRATORS:
            return _composed(_INTEGRATORS[name](self._rate), signal)
        number = self._setting(name, node.args[1], terms[1])
        return _composed(_FILTERS[name](number, self._rate), signal)

    def _setting(self, name: str, node: ast.expr, term: _Term) -> float:
        """Return the cutoff or delay of a function."""
        if not isinstance(term, float):
            raise self._error(node, f"{name} needs a number here")
        unit, most = ("s", MAX_DELAY) if name == "delay" else ("Hz", 0.5 * self._rate)
        if not 0.0 < term <= most or (unit == "Hz" and term == most):
            above = f"and at most {most:g} s" if unit == "s" else f"and below {most:g} Hz, half the sample rate"
            raise self._error(node, f"it must be above 0 {above}")
        return term


def _applied(function: np.ufunc, *terms: _Term) -> _Term:
    """Return a function of terms; of numbers only, a number."""
    numbers = [term for term in terms if isinstance(term, float)]
    if len(numbers) == len(terms):
        with np.errstate(all="ignore"):
            return float(function(*numbers))
    if len(terms) == 1:
        (only,) = terms
        assert not isinstance(only, float)
        return lambda columns: function(only(columns))
    one, other = terms
    if isinstance(one, float):
        assert not isinstance(other, float)
        return lambda columns: function(one, other(columns))
    if isinstance(other, float):
        return lambda columns: function(one(columns), other)
    return lambda columns: function(one(columns), other(columns))


def _composed(function: RunningFunction, inner: Callable[[Sequence[Samples]], Samples]) -> _Term:
    return lambda columns: function(inner(columns))
