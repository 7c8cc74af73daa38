"""How much of a property is tried: a part of its examples in a test run of minutes, all of them under `.ci/run`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Test = TypeVar("Test", bound=Callable[..., object])
THOROUGH = "EVO_LIBRA_THOROUGH" in os.environ
PART = 5


def costly(examples: int, **options: Any) -> Callable[[Test], Test]:
    """Try a property that takes seconds on a fifth of its examples; with EVO_LIBRA_THOROUGH=1, on all of them."""
    tried = settings(max_examples=examples if THOROUGH else max(examples // PART, 2), **options)

    def marked(test: Test) -> Test:
        return pytest.mark.costly(tried(test))

    return marked
