"""Two batches on one folder of results survive kills: a few here, 50 in `.ci/run`, any number by `kill_batches.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_kills_lose_nothing() -> None:
    script = Path(__file__).with_name("kill_batches.py")
    words = [sys.executable, str(script), "--kills", "12"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("12 kills and stops")
