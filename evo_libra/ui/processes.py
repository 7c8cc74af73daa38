"""Command lines of this program's own processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

AGAIN = {"stale": "--rerun-stale", "failed": "--retry-failed"}
"""Status of runs that have ended -> the option of ``evo-libra run`` that runs them again."""


def program(words: Sequence[str]) -> list[str]:
    """Return the command that runs this program as a process of its own."""
    # With -P, so that no file of the current folder stands in for a module.
    return [sys.executable, "-P", "-c", "from evo_libra.ui.cli import main; main()", *words]
