"""Formulas over signals, and the channels that are derived by them."""

import math
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gui.model.derived import DerivedChannel, from_text, to_text
from gui.model.formula import FormulaError, compile_formula, reference
from gui.model.history import History
from gui.model.receiver import ReceivedMessages
from monitor.messages.blocks import Channel, Role, SignalBlock, Stream

RATE = 100.0


NAMES = "north.command", "north.measured", "load cell 2", "µ°", "it's", "lambda", "abs", "a.b.c"


def evaluate(text, **columns):
    named = {name.replace("__", "."): np.asarray(values, dtype=float) for name, values in columns.items()}
    formula = compile_formula(text, named, RATE)
    return formula.advance([named[name] for name in formula.inputs])


def time(n=200):
    return np.arange(n) / RATE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(x - y) * 1e3", lambda x, y: (x - y) * 1e3),
        ("-x + +y / 2 ** 3", lambda x, y: -x + y / 8.0),
        ("abs(x) + sqrt(abs(y))", lambda x, y: np.abs(x) + np.sqrt(np.abs(y))),
        ("hypot(x, y) - max(x, min(y, 0.2))", lambda x, y: np.hypot(x, y) - np.maximum(x, np.minimum(y, 0.2))),
        ("degrees(atan2(x, y))", lambda x, y: np.degrees(np.arctan2(x, y))),
        ("2 - y", lambda x, y: 2.0 - y),
        ("  x  ", lambda x, y: x),
    ],
)
def test_arithmetic_and_functions_are_those_of_numpy(text, expected):
    x, y = np.sin(7.0 * time()), np.cos(3.0 * time())
    np.testing.assert_array_equal(evaluate(text, x=x, y=y), expected(x, y))


def test_names_with_other_characters_are_addressed_in_quotes():
    for name in NAMES:
        formula = compile_formula(f"2 * {reference(name)}", NAMES, RATE)
        assert formula.inputs == (name,)
    assert reference("north.command") == "north.command" and reference("load cell 2") == "'load cell 2'"
    assert compile_formula("north.command - 'north.measured'", NAMES, RATE).inputs == NAMES[:2]


def test_a_derivative_is_the_difference_to_the_sample_before():
    x = np.sin(5.0 * time())
    found = evaluate("deriv(x)", x=x)
    assert math.isnan(found[0])
    np.testing.assert_allclose(found[1:], np.diff(x) * RATE)
    # half a sample late
    np.testing.assert_allclose(found[1:], 5.0 * np.cos(5.0 * (time()[1:] - 0.005)), atol=0.002)


def test_an_integral_is_trapezoidal_and_begins_at_zero():
    x = 3.0 + np.sin(5.0 * time())
    steps = 0.5 * (x[1:] + x[:-1]) / RATE
    np.testing.assert_allclose(evaluate("cumtrapz(x)", x=x), [0.0, *np.cumsum(steps)], rtol=1e-13)
    back = evaluate("cumtrapz(deriv(x))", x=x)
    np.testing.assert_allclose(back[2:], 0.5 * (x[2:] + x[1:-1]) - 0.5 * (x[0] + x[1]), atol=1e-12)


def gain_of(text, frequency, n=4000):
    """Return the complex gain on a tone."""
    tone = np.exp(2j * np.pi * frequency * time(n))
    found = evaluate(text, x=tone.real)[n // 2 :]
    return 2.0 * np.mean(found * tone.conj()[n // 2 :])


def test_filters_are_butterworth_of_second_order_and_causal():
    for name, gains in (("lowpass", (1.0, 0.5, 0.0)), ("highpass", (0.0, 0.5, 1.0))):
        for frequency, expected in zip((0.25, 5.0, 45.0), gains, strict=True):
            found = gain_of(f"{name}(x, 5)", frequency)
            assert abs(found) ** 2 == pytest.approx(expected, abs=0.01)
    # 0.23/Hz later
    assert -np.angle(gain_of("lowpass(x, 5)", 0.5)) / (2 * np.pi * 0.5) == pytest.approx(0.225 / 5.0, rel=0.02)
    # from its steady state
    np.testing.assert_allclose(evaluate("lowpass(x, 5)", x=np.full(50, 3.0)), 3.0)
    np.testing.assert_allclose(evaluate("highpass(x, 5)", x=np.full(50, 3.0)), 0.0, atol=1e-12)
    # causal: a change later does not change what was before
    step = np.where(time() < 1.0, 0.0, 1.0)
    assert (evaluate("lowpass(x, 5)", x=step)[:100] == 0.0).all()


def test_a_delay_shifts_and_interpolates():
    x = np.sin(5.0 * time())
    found = evaluate("delay(x, 0.05)", x=x)
    assert np.isnan(found[:5]).all()
    np.testing.assert_array_equal(found[5:], x[:-5])
    between = evaluate("delay(x, 0.0125)", x=x)
    np.testing.assert_allclose(between[2:], 0.75 * x[1:-1] + 0.25 * x[:-2])


RUNNING = (
    "deriv(x)", "cumtrapz(x)", "lowpass(x, 20)", "highpass(x, 0.5)", "delay(x, 0.034)", "delay(x, 0.05)",
    "cumtrapz(deriv(lowpass(x, 7)) * y) - delay(abs(x), 0.1)", "x / y",
)  # fmt: skip


@pytest.mark.parametrize("text", RUNNING)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_division_into_blocks_gives_the_same_bits(text, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    columns = MappingProxyType({"x": rng.normal(size=120), "y": rng.normal(size=120)})
    for at in data.draw(st.lists(st.integers(0, 119), max_size=5)):
        columns["x"][at] = np.nan if at % 2 else np.inf
    cuts = sorted(data.draw(st.lists(st.integers(0, 120), max_size=12)))
    once, pieces = (compile_formula(text, columns, RATE) for _ in range(2))
    whole = once.advance([columns[name] for name in once.inputs])
    parts = [
        pieces.advance([columns[name][begin:end] for name in pieces.inputs])
        for begin, end in zip([0, *cuts], [*cuts, 120], strict=True)
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert not np.isinf(whole).any()


@pytest.mark.parametrize("text", [text for text in RUNNING if text != "x / y"])
def test_after_a_missing_sample_a_function_restarts(text):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 200))
    x[80] = np.nan
    found = evaluate(text, x=x, y=y)
    assert math.isnan(found[80])
    np.testing.assert_array_equal(found[81:], evaluate(text, x=x[81:], y=y[81:]))


def test_an_interruption_is_a_missing_sample():
    x = np.sin(time())
    formula = compile_formula("cumtrapz(x)", ["x"], RATE)
    formula.advance([x])
    formula.interrupt()
    np.testing.assert_array_equal(formula.advance([x]), evaluate("cumtrapz(x)", x=x))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 1: a formula is needed"),
        ("north.comand + 1", "character 1, north.comand: there is no such channel; did you mean north.command?"),
        ("1 + 'load cel 2'", "character 5, 'load cel 2': there is no such channel; did you mean 'load cell 2'?"),
        ("'µ°' + nth", "character 8, nth: there is no such channel"),
        ("2 * lowpas(north.command, 5)", "character 5, lowpas: there is no such function; did you mean lowpass?"),
        ("lowpass(north.command)", "character 1, lowpass(north.command): lowpass has 2 arguments, not 1"),
        ("lowpass(north.command, 50)", "character 24, 50: it must be above 0 and below 50 Hz, half the sample rate"),
        ("delay(north.command, 11)", "character 22, 11: it must be above 0 and at most 10 s"),
        ("lowpass(north.command, north.measured)", "character 24, north.measured: lowpass needs a number here"),
        ("deriv(3)", "character 7, 3: deriv needs a channel here"),
        ("3 + 4", "character 1, 3 + 4: a formula needs a channel"),
        ("north.command ^ 2", "character 1, north.command ^ 2: a power is written **"),
        ("north.command > 2", "character 1, north.command > 2: only numbers, channels,"),
        ("deriv", "character 1, deriv: deriv is a function: write deriv(...)"),
        ("(north.command", "character 1: '(' was never closed"),
        ("north.command +", "character 16: invalid syntax"),
        ("north.command\n+ 1", "character 14: a formula is one line"),
        ("north.command + 1j", "character 17, 1j: only numbers"),
        ("north.command + True", "character 17, True: only numbers"),
        ("9" * 400 + " * north.command", "the number is too large"),
        ("1 + " * 200 + "1", "a formula has at most 500 characters"),
        ("-" * 300 + "north.command", "too many parts"),
        ("(" * 300 + "north.command" + ")" * 100, "character 2"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text, message):
    with pytest.raises(FormulaError) as refused:
        compile_formula(text, NAMES, RATE)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert 0 <= refused.value.begin <= refused.value.end


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')", "().__class__", "north.command.__class__", "'a'.join", "f'{abs}'",
        "[x for x in 'a']", "(lambda: 1)()", "abs.__call__(north.command)", "north['command']", "x := 1", "*north",
        "abs(*'ab')", "abs(x=north.command)", "north.command if 1 else 2", "b'x'", "...", "not 1", "~1", "{}",
        "abs(north.command)(1)", "print('x')", "open('x')", "north.command @ 2", "1 and 2", "await x", "yield x",
    ],
)  # fmt: skip
def test_nothing_but_arithmetic_is_accepted(text):
    with pytest.raises(FormulaError):
        compile_formula(text, NAMES, RATE)


def test_division_by_zero_and_overflow_have_no_value():
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(evaluate("x / 0", x=[1.0, 2.0]), [np.nan, np.nan])
        np.testing.assert_array_equal(evaluate("x * 10 ** 400", x=[1.0]), [np.nan])
        np.testing.assert_array_equal(evaluate("sqrt(x) + 1 / 0 * 0", x=[1.0]), [np.nan])
        np.testing.assert_array_equal(evaluate("sqrt(x)", x=[-1.0, 4.0]), [np.nan, 2.0])


CHANNELS = (
    Channel("a.command", Role.COMMAND, "m", "a"),
    Channel("a.measured", Role.MEASURED, "m", "a"),
    Channel("load cell 2", Role.AUXILIARY, "kN"),
)


ERROR = DerivedChannel("error", "mm", "(a.command - a.measured) * 1e3")


WORK = DerivedChannel("work", "J", "cumtrapz('load cell 2' * deriv(a.measured))")


SMOOTH = DerivedChannel("smooth error", "mm", "lowpass(error, 10)")


ALL = (ERROR, WORK, SMOOTH)


def samples(n, begin=0):
    t = (begin + np.arange(n)) / RATE
    return np.column_stack([np.sin(3.0 * t), 0.9 * np.sin(3.0 * t - 0.1), 5.0 * np.cos(2.0 * t)])


def received(begin, stop, *, epoch=1, channels=CHANNELS, width=3):
    rows = np.ascontiguousarray(samples(stop - begin, begin)[:, :width])
    block = SignalBlock(Stream("rig", epoch, RATE, channels), begin, begin / RATE, rows)
    return ReceivedMessages(signals=(block,))


def filled(spans, definitions=(), memory=16 << 20, minutes=10.0, epochs=()):
    history = History(memory=memory, minutes=minutes)
    history.derive(definitions)
    for k, span in enumerate(spans):
        history.update(received(*span, epoch=epochs[k] if epochs else 1))
    return history


def column(history, name):
    signals = history.signals
    return signals.samples(0.0, 1e6, columns=[signals.named[name].column])[1][:, 0]


def test_they_are_computed_as_blocks_come_and_the_same_of_what_is_stored():
    cuts = [0, 7, 8, 250, 251, 600, 1000]
    live = filled(pairwise(cuts), ALL)
    later = filled([(0, 1000)])
    later.derive(ALL)
    assert list(live.signals.named) == [
        "a.command", "a.measured", "load cell 2", "a.tracking_error", "error", "work", "smooth error",
    ]  # fmt: skip
    x = samples(1000)
    np.testing.assert_array_equal(column(live, "error"), (x[:, 0] - x[:, 1]) * 1e3)
    for name in ("error", "work", "smooth error"):
        np.testing.assert_array_equal(column(live, name), column(later, name))
    assert np.isnan(column(live, "work")[0]) and column(live, "work")[1] == 0.0


def test_a_gap_and_a_restart_have_no_value_and_functions_restart():
    history = filled([(0, 300), (400, 700), (0, 300)], ALL, epochs=(1, 1, 2))
    later = filled([(0, 300), (400, 700), (0, 300)], epochs=(1, 1, 2))
    later.derive(ALL)
    once = filled([(0, 300)], ALL)
    second = round(history.timeline.segments[-1].x_begin * RATE)
    assert second > 700
    for name in ("work", "smooth error"):
        found = column(history, name)
        assert np.isnan(found[300:400]).all() and np.isnan(found[700:second]).all()
        # as a stream of its own
        np.testing.assert_array_equal(found[second:], column(once, name))
        np.testing.assert_array_equal(found, column(later, name))
    assert column(history, "work")[401] == 0.0


def test_buckets_of_all_levels_are_those_of_a_channel():
    whole = DerivedChannel("same", "kN", "1 * 'load cell 2'")
    history = History(memory=1 << 20, minutes=0.5)
    history.update(received(0, 20_000))
    # some samples are decimated already
    history.update(received(20_000, 40_000))
    assert history.signals.exact_begin > 0
    decimated = history.signals.exact_begin_x
    history.derive([whole])
    for begin in range(40_000, 50_000, 500):
        history.update(received(begin, begin + 500))
    signals = history.signals
    columns = [signals.named["same"].column, signals.named["load cell 2"].column]
    for x0, x1, n in ((0.0, 500.0, 100), (490.0, 499.0, 2000), (380.0, 460.0, 300)):
        found = signals.envelope(x0, x1, n, columns)
        known = found.edges[:-1] >= decimated + 2.56
        assert known.any()
        np.testing.assert_array_equal(found.low[known, 0], found.low[known, 1])
        np.testing.assert_array_equal(found.high[known, 0], found.high[known, 1])
    # what was decimated before is not known
    early = signals.envelope(0.0, decimated - 100.0, 10, columns)
    assert np.isnan(early.low[:, 0]).all() and np.isfinite(early.low[1:-1, 1]).all()
    rows = signals.rows(49_000, 50_000, columns)
    np.testing.assert_array_equal(rows[:, 0], rows[:, 1])


def test_cost_of_a_block_does_not_depend_on_the_history(monkeypatch):
    history = filled([(0, 50_000)], ALL)
    read = []
    monkeypatch.setattr(type(history.signals), "rows", lambda *arguments: read.append(arguments))
    history.update(received(50_000, 50_040))
    assert not read
    assert history.signals.derived == ALL


def test_what_is_unchanged_keeps_its_values_and_what_depends_on_a_change_is_recomputed():
    history = filled([(0, 1000)], ALL)
    stored = {name: history.signals._derived.values(history.signals.named[name].column) for name in ("work", "error")}
    twice = DerivedChannel("error", "mm", "(a.command - a.measured) * 2e3")
    history.derive((twice, WORK, SMOOTH))
    assert history.signals._derived.values(history.signals.named["work"].column) is stored["work"]
    once = filled([(0, 1000)], ALL)
    np.testing.assert_allclose(column(history, "smooth error"), 2.0 * column(once, "smooth error"))
    history.derive((WORK,))
    assert "error" not in history.signals.named
    assert history.signals._derived.values(history.signals.named["work"].column) is stored["work"]


def test_of_another_rig_what_cannot_be_computed_says_why_and_comes_back():
    history = filled([(0, 200)], ALL)
    other = (*CHANNELS[:2], Channel("work", Role.AUXILIARY, "N"))
    generation = history.generation
    history.update(received(0, 200, epoch=3, channels=other))
    assert history.generation > generation
    assert history.signals.derived == (ERROR, SMOOTH)
    assert history.signals.derived_problems == {"work": "there is a channel work already"}
    history.update(received(0, 200, epoch=4, channels=CHANNELS[:2], width=2))
    problem = history.signals.derived_problems["work"]
    assert problem.startswith("character 10, 'load cell 2': there is no such channel")
    history.update(received(0, 200, epoch=5))
    assert history.signals.derived == ALL and not history.signals.derived_problems


def test_definitions_are_stored_as_text():
    assert from_text(to_text(ALL)) == ALL
    for text in ("", "[1]", "{}", '[{"name": 1}]', to_text((ERROR, ERROR)), to_text([ERROR] * 17)):
        with pytest.raises(ValueError, match=r"."):
            from_text(text)
