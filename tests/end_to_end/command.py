"""The real command: how tests run it and wait for what it does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COMMAND = str(Path(sys.executable).parent / "evo-libra")


def run(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; it ends with a code, and never by surprise.

    A picture takes half of the time of a short search; tests that look at it say ``--plot``.
    """
    plain = ("--no-plot",) if words[:1] == ("search",) and "--plot" not in words else ()
    asked = [COMMAND, *words, *plain]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def run_json(folder: Path, *words: str, code: int = 0) -> Any:
    """Return the object that the command prints."""
    return json.loads(run(folder, *words, "--json", code=code).stdout)


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so; that it does not come is a failure."""
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
