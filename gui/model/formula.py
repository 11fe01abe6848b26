"""Formulas over signals, such as ``(north.command - north.measured) * 1e3``: checked, and evaluated block by block.

Python's parser reads the text; of its syntax tree only arithmetic, numbers, names of signals and calls of the
functions in `FUNCTIONS` are accepted. Nothing of it is executed by Python.
"""

from __future__ import annotations

import ast
import keyword
import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from unicodedata import normalize

import numpy as np

from gui.model.running_functions import (
    MAX_DELAY,
    Delay,
    Derivative,
    Integral,
    RunningFunction,
    SecondOrderFilter,
)
from monitor.messages.blocks import Samples

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
