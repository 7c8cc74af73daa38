"""The mutator of `mutate.py`, on small sources."""

from __future__ import annotations

import ast
from pathlib import Path

import mutate as script
import pytest
from mutants import mutate, sites

PACKAGE = Path(__file__).parents[2] / "evo_libra"


def _mutants(source: str) -> list[str]:
    tree = ast.parse(source)
    return [mutate("module.py", tree, site).after for site in sites(tree)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b * c", ["a - b * c", "a + b / c"]),
        ("a -= b // c", ["a += b // c", "a -= b / c"]),
        ("a < b <= c", ["a <= b <= c", "a < b < c"]),
        ("a == b and c or d", ["(a == b and c) and d", "(a == b or c) or d", "a != b and c or d"]),
        ("x = not a", ["x = not not a"]),
        ("x = ~a & b", ["x = ~a | b", "x = ~~a & b"]),
        ("x = -a", ["x = +a"]),
        ("x = np.minimum(a, max(b, c))", ["x = np.maximum(a, max(b, c))", "x = np.minimum(a, min(b, c))"]),
        ("x = [0, 3, 0.0, 0.05, True]", ["1", "4", "1.0", "0.1", "False"]),
        ("x = a if b else c", ["x = a if not b else c"]),
    ],
)
def test_constants_operators_and_conditions_change_one_at_a_time(source: str, expected: list[str]) -> None:
    mutants = _mutants(source)
    assert len(mutants) == len(expected)
    for mutant, part in zip(mutants, expected, strict=True):
        assert part in mutant


def test_what_no_test_of_figures_sees_is_left_alone() -> None:
    source = '''
"""A module of 2 lines."""
@cache(1)
def f(a: int | None) -> float | None:
    """Return 1 + 1."""
    raise ValueError(f"{a + 1}" + "x")
zip(a, b, strict=True)
if TYPE_CHECKING:
    x = 1
tolerance, infinity = 1e-9, 1e300
nothing = np.empty((2, 0))
'''
    assert not _mutants(source)


def test_a_mutant_differs_in_one_line_and_leaves_the_tree() -> None:
    source = "class A:\n\n    def f(self, x):\n        y = x + 1\n        return y"
    tree = ast.parse(source)
    first, second = (mutate("module.py", tree, site) for site in sites(tree))
    assert (first.function, first.line, first.before, first.after) == ("A.f", 4, "y = x + 1", "y = x - 1")
    assert second.text == source.replace("x + 1", "x + 2")
    assert ast.unparse(tree) == source


@pytest.mark.parametrize(
    ("printed", "failed"),
    [
        ("...\n3 passed in 0.1s\n", ""),
        ("....  [100%]\n", ""),
        ("FAILED tests/a/test_b.py::test_c[1] - assert 1 == 2\n1 failed, 2 passed\n", "tests/a/test_b.py::test_c[1]"),
        ("ERROR tests/a/test_b.py - NameError\n", "tests/a/test_b.py"),
        ("INTERNALERROR> x\n", "pytest"),
    ],
)
def test_the_test_that_failed_is_read_from_what_pytest_prints(printed: str, failed: str) -> None:
    assert script._failed(printed) == failed  # noqa: SLF001 - the script has no other way to be asked


@pytest.mark.slow
def test_the_own_test_file_and_the_doctest_of_a_module_come_first() -> None:
    tests = script._tests_of("front/archive.py")  # noqa: SLF001 - the same
    assert "tests/front/test_archive.py" in tests[:2]
    assert len(tests) > len(list((PACKAGE.parent / "tests/front").rglob("test_*.py"))) - 1


@pytest.mark.slow
def test_the_same_seed_draws_the_same_sample() -> None:
    one, two = (script._draw(["front"], 7) for _ in range(2))  # noqa: SLF001 - the same
    assert [next(one) for _ in range(5)] == [next(two) for _ in range(5)]


@pytest.mark.slow
def test_equivalent_mutants_are_of_lines_that_are_still_there() -> None:
    for one in script.equivalents():
        text = ast.unparse(ast.parse((PACKAGE / one["module"]).read_text()))
        assert one["before"] in map(str.strip, text.splitlines()), one
        assert one["reason"]
