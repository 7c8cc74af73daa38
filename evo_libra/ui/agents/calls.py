"""Command lines of tools: each runs in a confined process of its own, answers as JSON, and can be stopped."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.experiment.results.index import CACHE
from evo_libra.experiment.store.folder import EVENTS
from evo_libra.experiment.store.messages import last_progress

_CONFINED = (
    "import sys; from pathlib import Path; from evo_libra.ui.cli import main; "
    "from evo_libra.ui.agents.confined import confine; confine(Path(sys.argv.pop(1))); main()"
)
"""The program in a confined process; its first word is the folder."""
_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 10.0
Tell = Callable[[int], Awaitable[None]]
"""Takes the number of evaluations that a search has made."""


@dataclass(frozen=True)
class Place:
    """The folder of a server, whose files tools read and write, and one for temporary files."""

    folder: Path
    temporary: Path

    def environment(self) -> dict[str, str]:
        """Return the environment of processes: everything that libraries keep is temporary."""
        kept = ("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", CACHE)
        return {
            **os.environ, **dict.fromkeys(kept, str(self.temporary)), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "120",
        }  # fmt: skip


def command_line(command: str, listed: Sequence[str], options: Mapping[str, object]) -> list[str]:
    """Return the words of a command; values cannot be options, and None, False and an empty text are left out.

    >>> command_line("front", ["last"], {"where": "-zero3", "sort": None, "rows": 0})
    ['front', '--where=-zero3', '--rows=0', '--json', '--', 'last']
    """
    words = [command]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, list | tuple):
            words += [f"{option}={one}" for one in value]
        elif value is not None and value is not False and value != "":
            words.append(f"{option}={value}")
    return [*words, "--json", "--", *listed]


async def call(place: Place, words: Sequence[str], tell: Tell | None = None) -> dict[str, Any]:
    """Run a command line and return its JSON.

    A process that is not finished when the call is cancelled is interrupted, so that a search keeps its checkpoint.

    Parameters
    ----------
    tell : called with the evaluations of a search while it runs.

    Raises
    ------
    EvoLibraError : the command says that something is wrong, in its sentence.
    """
    started = [sys.executable, "-P", "-c", _CONFINED, str(place.folder), *words]
    found: dict[str, bytes] = {}
    before = frozenset(_events(place.folder))
    async with await anyio.open_process(
        started, stdin=-3, cwd=place.folder, env=place.environment()
    ) as process, anyio.create_task_group() as group:  # fmt: skip
        for name, stream in (("out", process.stdout), ("error", process.stderr)):
            assert stream is not None, "both are pipes"  # noqa: S101 - internal error
            group.start_soon(_read, stream, name, found)
        if tell is not None:
            group.start_soon(_follow, place.folder, process, before, tell)
        try:
            await process.wait()
        except anyio.get_cancelled_exc_class():
            await _stop(process)
            raise
    return _answer(found.get("out", b""), found.get("error", b""))


async def _read(stream: ByteReceiveStream, name: str, found: dict[str, bytes]) -> None:
    found[name] = b"".join([part async for part in stream])


async def _stop(process: Process) -> None:
    """Interrupt a process, and kill it where it takes too long to end."""
    with anyio.CancelScope(shield=True):
        process.send_signal(signal.SIGINT)
        with anyio.move_on_after(_PATIENCE_SECONDS):
            await process.wait()
            return
        process.kill()
        await process.wait()


def _answer(out: bytes, error: bytes) -> dict[str, Any]:
    """Return the JSON of a command; the sentence of one that has none is an error."""
    try:
        found = json.loads(out)
    except ValueError:
        said = error.decode(errors="replace").strip().replace("evo-libra: ", "")
        raise EvoLibraError(said or "the command ended without an answer") from None
    return found if isinstance(found, dict) else {"found": found}


def _events(folder: Path) -> Iterator[tuple[Path, float]]:
    """Return the files of events of the runs in the folder, with their times of change."""
    for path in folder.glob(f"results/*/*/{EVENTS}"):
        try:
            yield path, path.stat().st_mtime
        except FileNotFoundError:
            continue


async def _follow(folder: Path, process: Process, before: frozenset[tuple[Path, float]], tell: Tell) -> None:
    """Tell how far the run is that has changed since a search began."""
    last = 0
    while process.returncode is None:
        await anyio.sleep(_POLL_SECONDS)
        changed = sorted(((time, path) for path, time in _events(folder) if (path, time) not in before), reverse=True)
        progress = last_progress(changed[0][1].parent) if changed else None
        if progress is not None and progress.evaluations > last:
            last = progress.evaluations
            await tell(last)


def without_code(**names: str | None) -> None:
    """Refuse names of code, ``module:object``; an `InputError` names the one that is refused."""
    for name, value in names.items():
        module, colon, rest = (value or "").partition("#")[0].partition(":")
        if colon and module.replace(".", "").isidentifier() and rest.replace(".", "").isidentifier():
            raise InputError(f"{name}: '{value}' names code, and tools run no code of a user")


def thinned(answer: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Return an answer with at most some rows of its front, in even steps with both ends, and their number."""
    front = answer.get("front")
    if not isinstance(front, list):
        return dict(answer)
    last, kept = len(front) - 1, max(min(rows, len(front)), 1)
    places = sorted({round(last * place / max(kept - 1, 1)) for place in range(kept)}) if front else []
    return {**answer, "front": [front[place] for place in places], "designs": len(front)}
