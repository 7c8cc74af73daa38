"""What holds for all tests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, settings

from evo_libra.named_code import own_trust

# A busy machine is no failure. A run of minutes tries fewer examples of each property than `.ci/run`; see `effort`.
EXAMPLES = 100 if "EVO_LIBRA_THOROUGH" in os.environ else 40
settings.register_profile("suite", max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
# The commands that tests start take each other's compiled modules, whatever the shell says of its own.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A shell without job control starts what runs in the background deaf to Ctrl-C, which tests send to commands.
signal.signal(signal.SIGINT, signal.default_int_handler)
BEGUN = time.monotonic()
FIRST = ("tests/problem/test_mutations.py", "tests/end_to_end/", "tests/problem/", "tests/ui/", "tests/searching/")
"""Files and folders whose tests take longest, so that none of them is what the others wait for in the end."""


@pytest.fixture(name="own_trust")
def _own_trust() -> Iterator[None]:
    """Give a test a trust in names of code of its own, as each command has it."""
    with own_trust():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of a random order, which the same number gives again."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order")
    parser.addoption("--seconds", type=float, help="begin no test later than that, and say how many were left")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which there is no time left."""
    seconds = item.config.getoption("--seconds")
    if seconds is not None and time.monotonic() - BEGUN > seconds:
        pytest.skip("no time is left of --seconds")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files that take long first, or all in a random order; tests of a file stay together for their fixtures."""
    seed = config.getoption("--shuffle")
    if seed is None:
        items.sort(key=lambda item: next((turn for turn, part in enumerate(FIRST) if part in item.nodeid), len(FIRST)))
    else:
        # The turn of a test depends on no other test, so that a new one moves none of them.
        items.sort(key=lambda item: (_turn(seed, item.nodeid.partition("::")[0]), _turn(seed, item.nodeid)))


def _turn(seed: int, name: str) -> float:
    return Random(f"{seed} {name}").random()  # noqa: S311 - no secret


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Start a process more than there are cores for the slow tests, of which batches and screens wait much.

    Each process reads all test files, which the others need not wait for.
    """
    stated = "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or "not slow" in config.option.markexpr
    return None if stated else (os.cpu_count() or 1) + 1
