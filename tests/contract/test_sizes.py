"""The size of the house: a file is one subject, a function fits on a screen, and neither wing grows; no circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 450, 80
# lines at most; a new feature is paid for with lines saved elsewhere, so that their sum only falls
INSTRUMENT, PAPERS, TESTS, FILES = 91_084, 26_295, 90_251, 543
_PAPERS = ("sim/", "replay/papers/", "replay/identification/", "replay/validation/", "replay/simulations/")


def sources(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def is_of_the_papers(path):
    return path.relative_to(ROOT).as_posix().startswith(_PAPERS)


PROGRAM = sources("monitor", "gui", "replay", "sim")


def test_a_file_is_one_subject():
    assert [f"{path.relative_to(ROOT)}: {lines(path)}" for path in PROGRAM if lines(path) > LONGEST_FILE] == []


def test_a_function_fits_on_a_screen():
    long = []
    for path in PROGRAM:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = node.end_lineno - node.lineno + 1
                long += [f"{path.relative_to(ROOT)} {node.name}: {length}"] if length >= LONGEST_FUNCTION else []
    assert long == []


@pytest.mark.parametrize(
    ("wing", "paths", "most"),
    [
        ("instrument", [path for path in PROGRAM if not is_of_the_papers(path)], INSTRUMENT),
        ("papers", [path for path in PROGRAM if is_of_the_papers(path)], PAPERS),
        ("tests", sources("tests"), TESTS),
    ],
)
def test_a_wing_does_not_grow(wing, paths, most):
    assert sum(map(lines, paths)) <= most, wing


def test_there_are_no_more_files():
    assert len(PROGRAM) <= FILES


def test_no_modules_import_each_other():
    graph = grimp.build_graph("monitor", "gui", "replay", "sim", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # an error names the circle
    assert set(TopologicalSorter(imports).static_order()) == set(graph.modules)


def test_the_long_tests_that_are_named_exist():
    names = [line.split("::") for line in (ROOT / "tests/long.txt").read_text("utf-8").splitlines()]
    assert names == sorted(names)
    assert [each for each in names if each[1] not in (ROOT / each[0]).read_text("utf-8")] == []
