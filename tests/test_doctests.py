"""The examples in docstrings of the package show what they say.

Pytest's own option for them would import and search every module, tests included, which took half of the time that
each process needs until its first test.
"""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import evo_libra

PACKAGE = Path(evo_libra.__file__).parent
WITH_EXAMPLES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>>" in path.read_text()
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_of_a_module(module: str) -> None:
    found = doctest.testmod(import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
