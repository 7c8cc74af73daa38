"""Two batches on one folder of results survive kills; `kill_batches.py` alone takes as many as it is told to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_fifty_kills_lose_nothing() -> None:
    script = Path(__file__).with_name("kill_batches.py")
    words = [sys.executable, str(script), "--kills", "50"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("50 kills")
