"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# A busy machine is no failure.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
# The commands that tests start take each other's compiled modules, whatever the shell says of its own.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
