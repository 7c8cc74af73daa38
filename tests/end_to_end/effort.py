"""How much of a property is tried, and how much work something may be.

A test run of minutes tries a part of the examples of a property, `.ci/run` tries all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Test = TypeVar("Test", bound=Callable[..., object])
THOROUGH = "EVO_LIBRA_THOROUGH" in os.environ
PART = 10
LITTLE_SECONDS = 5.0


@contextmanager
def little_work() -> Iterator[None]:
    """Fail if something takes this thread long; what a busy machine keeps it waiting does not count."""
    begun = time.thread_time()
    yield
    assert time.thread_time() - begun < LITTLE_SECONDS


def costly(examples: int, part: int = PART, **options: Any) -> Callable[[Test], Test]:
    """Try a property that takes seconds on a part of its examples; with EVO_LIBRA_THOROUGH=1, on all of them."""
    tried = settings(max_examples=examples if THOROUGH else max(examples // part, 2), **options)

    def marked(test: Test) -> Test:
        return pytest.mark.costly(tried(test))

    return marked
