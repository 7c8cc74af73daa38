"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
# The commands that tests start take each other's compiled modules, whatever the shell says of its own.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_xdist_auto_num_workers() -> int | None:
    """Start two processes more than there are cores: tests of batches and screens wait for much of their time."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else (os.cpu_count() or 1) + 2
