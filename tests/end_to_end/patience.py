"""Waiting for what other processes do, however busy the machine is: limits are counted in work, not in seconds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil

LOOK_SECONDS, LOOKS = 0.05, 200
SOME_WORK, IDLE = 0.3, 12
"""Seconds of a processor that are little work in so many looks, and how often in a row there may be so little."""


def work() -> float:
    """Return the seconds of a processor that the processes of this environment have had, but for this one."""
    found = 0.0
    for process in psutil.process_iter(["cmdline", "cpu_times"]):
        words, times = process.info["cmdline"], process.info["cpu_times"]
        if words and times and words[0].startswith(sys.prefix) and process.pid != psutil.Process().pid:
            found += times.user + times.system
    return found


class Patience:
    """Ends when nobody works any more."""

    def __init__(self) -> None:
        self.known, self.idle = work(), 0

    def look(self, waited_for: object) -> None:
        """Fail if nobody has done much for long: what is waited for does not come then."""
        now = work()
        self.idle = self.idle + 1 if abs(now - self.known) < SOME_WORK else 0
        self.known = now
        assert self.idle < IDLE, f"nobody works any more, and it never comes: {waited_for}"


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is so; that it does not come is a failure."""
    patience, looks = Patience(), 0
    while not condition():
        time.sleep(LOOK_SECONDS)
        looks += 1
        if looks % LOOKS == 0:
            patience.look(condition)


def ended(process: subprocess.Popen[Any]) -> tuple[Any, Any]:
    """Return what a process prints, where that is piped, once it has ended; it is killed if it never does."""
    patience = Patience()
    while True:
        try:
            return process.communicate(timeout=LOOK_SECONDS * LOOKS)
        except subprocess.TimeoutExpired:
            try:
                patience.look(process.args)
            except AssertionError:
                process.kill()
                raise


def code_of(process: subprocess.Popen[Any]) -> int:
    """Return the exit code of a process that ends."""
    ended(process)
    return int(process.returncode)


def run_to_end(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command as `subprocess.run` does, which captures its text."""
    captured = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    with subprocess.Popen(words, **captured) as process:
        out, err = ended(process)
    return subprocess.CompletedProcess(words, process.returncode, out, err)
