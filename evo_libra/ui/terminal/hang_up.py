"""A terminal that vanishes without a signal: a parent that died, a connection that broke."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable


def on_hang_up(stream: int, gone: Callable[[], object]) -> None:
    """Call something, in another thread, once a terminal is not there any more.

    Who reads such a terminal is told of an end of file again and again, and takes a whole core to hear it.

    Parameters
    ----------
    stream : number of a file that is open on the terminal.
    gone : what is called.
    """
    if hasattr(select, "poll"):  # not on Windows, where a console ends its programs
        threading.Thread(target=_wait, args=(stream, gone), name="hang-up", daemon=True).start()


def _wait(stream: int, gone: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(stream, 0)  # nothing but what is always told: errors and hang-ups
    if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
        gone()
