"""A Dask worker of this machine that lives as long as the program that started it.

    python -m evo_libra.experiment.local_worker ADDRESS

Dask's own way to start workers gives up when one of them is killed before it has reached the scheduler.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field

from evo_libra.errors import EvoLibraError
from evo_libra.experiment.task import ONE_THREAD

_EARLY_ENDS = 5
_END_SECONDS = 5.0


@dataclass
class LocalWorkers:
    """Worker processes, each with a thread of its own; those that die are replaced.

    Attributes
    ----------
    address : of the scheduler.
    count : how many there are to be.
    """

    address: str
    count: int
    _living: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _early: int = 0

    def mend(self) -> None:
        """Start what is missing.

        Raises
        ------
        EvoLibraError : workers end by themselves, again and again.
        """
        ended = [one for one in self._living if one.poll() is not None]
        # One that was killed has a negative code; a positive one says that it could not be started.
        self._early += sum((one.returncode or 0) > 0 for one in ended)
        if self._early > _EARLY_ENDS:
            self.end()
            raise EvoLibraError("workers cannot be started on this machine; --workers 0 does without them")
        for one in ended:
            _close(one)
        self._living = [one for one in self._living if one not in ended]
        while len(self._living) < self.count:
            self._living.append(_start(self.address))

    def end(self) -> None:
        """End all workers."""
        for one in self._living:
            _close(one)
        for one in self._living:
            try:
                one.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        self._living = []


def _start(address: str) -> subprocess.Popen[bytes]:
    # In a session of its own, so that Ctrl-C reaches the program that started it alone.
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "evo_libra.experiment.local_worker", address],
        stdin=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD},
        start_new_session=True,
    )


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()


def _end_with_parent() -> None:
    """Wait for the end of the pipe from the program that started this one; whatever ended it, this one ends, too."""
    sys.stdin.buffer.read()
    os._exit(0)


async def _serve(address: str) -> None:
    from distributed import Worker  # noqa: PLC0415 - not needed by who starts workers

    async with Worker(address, nthreads=1, memory_limit=0, silence_logs=logging.CRITICAL) as worker:
        await worker.finished()


def main() -> None:
    """Serve the scheduler whose address is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import asyncio  # noqa: PLC0415 - the same

    import dask  # noqa: PLC0415 - the same

    import evo_libra.experiment.worker  # noqa: F401, PLC0415 - before the first run has to wait for it

    dask.config.set({"distributed.worker.profile.enabled": False})
    asyncio.run(_serve(sys.argv[1]))


if __name__ == "__main__":
    main()
