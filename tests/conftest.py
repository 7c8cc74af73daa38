"""What holds for all tests."""

from __future__ import annotations

import os
import signal
from random import Random

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no failure.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
# The commands that tests start take each other's compiled modules, whatever the shell says of its own.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# A shell without job control starts what runs in the background deaf to Ctrl-C, which tests send to commands.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of a random order, which the same number gives again."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests in a random order, if one is asked for; those of a file stay together, as they share fixtures."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        random = Random(seed)  # noqa: S311 - no secret
        turn = {path: random.random() for path in sorted({item.path for item in items})}
        random.shuffle(items)
        items.sort(key=lambda item: turn[item.path])


def pytest_xdist_auto_num_workers() -> int | None:
    """Start a process more than there are cores: tests of batches and screens wait for much of their time."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else (os.cpu_count() or 1) + 1
