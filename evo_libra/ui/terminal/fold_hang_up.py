"""The end of the process when its terminal vanishes, or when an error leaves threads behind that nobody ends."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn

GRACE_SECONDS = 3.0
"""Time that a process has to leave a terminal that is gone."""


def on_hang_up(stream: int, gone: Callable[[], object]) -> None:
    """Call something once a terminal is not there any more, and end the process if that does not.

    A thread that reads such a terminal gets an end of file again and again: it takes a whole core, and Python waits for
    it before it exits.

    Parameters
    ----------
    stream : number of a file that is open on the terminal.
    gone : what is called, in another thread.
    """
    if hasattr(select, "poll"):  # not on Windows, where a console ends its programs
        threading.Thread(target=_wait, args=(stream, gone), name="hang-up", daemon=True).start()


def _wait(stream: int, gone: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(stream, 0)  # nothing but what is always told: errors and hang-ups
    if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
        try:
            gone()
            time.sleep(GRACE_SECONDS)
        finally:
            end_process(1)


def end_process(code: int) -> NoReturn:
    """End the process with an exit code, whatever its threads do; what was printed is written first."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            stream.flush()
    os._exit(code)
