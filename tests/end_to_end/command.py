"""The command: how tests run it, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from patience import run_to_end

from evo_libra.ui.cli import main
from evo_libra.ui.commands.application import execute

COMMAND = str(Path(sys.executable).parent / "evo-libra")


class Done(NamedTuple):
    """What a command printed, and the code that it ended with."""

    stdout: str
    stderr: str
    returncode: int


class _Kept(io.BytesIO):
    """Bytes that can be read once the program has closed its stream."""

    def close(self) -> None:
        pass


def _words(words: tuple[object, ...]) -> list[str]:
    """Return a command line; a picture takes half of the time of a short search: who looks at it says ``--plot``."""
    plain = ("--no-plot",) if words[:1] == ("search",) and "--plot" not in words else ()
    return [str(word) for word in (*words, *plain)]


@contextlib.contextmanager
def own_modules(folder: Path) -> Iterator[None]:
    """Forget what was imported from a folder: the next command imports it again, as a process of its own does."""
    path = sys.path.copy()
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(folder)):
                del sys.modules[name]


def run(folder: Path, *words: object, code: int = 0) -> Done:
    """Run the program in a folder and in this process; it ends with a code, and never by surprise."""
    buffers = _Kept(), _Kept()
    out, err = (io.TextIOWrapper(buffer, "utf-8", newline="") for buffer in buffers)
    with (
        contextlib.chdir(folder),
        own_modules(folder),
        mock.patch.object(sys, "argv", ["evo-libra", *_words(words)]),
        mock.patch.multiple(sys, stdout=out, stderr=err),
        pytest.raises(SystemExit) as end,
    ):
        main()
    ended, texts = end.value.code, [buffer.getvalue().decode() for buffer in buffers]
    assert ended == code, texts[1]
    assert "Traceback" not in texts[1]
    return Done(*texts, code)


def run_process(folder: Path, *words: object, code: int = 0) -> Done:
    """Run the program as `run` does, in a process of its own."""
    done = run_to_end([COMMAND, *_words(words)], cwd=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return Done(done.stdout, done.stderr, code)


def run_json(folder: Path, *words: object, code: int = 0) -> Any:
    """Return the object that the program prints."""
    return json.loads(run(folder, *words, "--json", code=code).stdout)


def process_json(folder: Path, *words: object, code: int = 0) -> Any:
    """Return the object that the program prints in a process of its own."""
    return json.loads(run_process(folder, *words, "--json", code=code).stdout)


def call(*words: object) -> int:
    """Run a command in the current folder; what it prints goes where this process prints, and its errors are raised."""
    return execute(_words(words))


def call_json(*words: object) -> Any:
    """Return the object that a command prints; its errors are raised."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        call(*words, "--json")
    return json.loads(printed.getvalue())


def options(values: Mapping[str, object]) -> list[str]:
    """Return values as options of a command."""
    return [word for key, value in values.items() for word in (f"--{key.replace('_', '-')}", str(value))]


def sets(assignments: Iterable[str]) -> list[str]:
    """Return assignments as options of a command."""
    return [word for assignment in assignments for word in ("--set", assignment)]
