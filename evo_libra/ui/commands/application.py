"""The commands at work: finds the one that is asked for, runs it, and says in a sentence what went wrong."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from evo_libra.errors import ConflictError, EvoLibraError, InputError, MachineError, ignore_numeric_warnings, shortened
from evo_libra.named_code import own_trust
from evo_libra.ui.commands.names import COMMANDS
from evo_libra.ui.tables.output import print

DONE, FAILED, WRONG_INPUT = 0, 1, 2
_NO_THREAD = "can't start new thread"
"""Message of Python's error."""
_SPACE, _SPACE_PER_CORE = 1_300 * 10**6, 100 * 10**6
"""Bytes of addresses that libraries take, and more for the threads that they start for each core."""
_UI_FLAGS = {"--light", "--ascii"}


def run(words: list[str]) -> int:
    """Run a command line; return the exit code: 0 done, 1 failed, 2 wrong input, 3 runs of a batch failed.

    Parameters
    ----------
    words : the command line without the program's name.
    """
    ignore_numeric_warnings()
    try:
        _refuse_small_space()
        return execute(words)
    except ConflictError as error:
        complain(str(error))
        return FAILED
    except InputError as error:
        complain(str(error))
        return WRONG_INPUT
    except EvoLibraError as error:
        complain(str(error))
        return FAILED
    except OSError as error:
        if error.filename is None:
            raise
        complain(f"{error.filename}: {(error.strerror or str(error)).lower()}")
        return FAILED
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and _NO_THREAD not in str(error):
            raise
        complain("this process has not enough memory, or may start no more threads; finished work is kept")
        return FAILED


def _refuse_small_space() -> None:
    """Raise a `MachineError` where the address space is too small: libraries abort there, without a sentence."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    limit, needed = resource.getrlimit(resource.RLIMIT_AS)[0], _SPACE + _SPACE_PER_CORE * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise MachineError(
            f"the address space of this process is limited to {limit / 1e6:,.0f} MB (ulimit -v); "
            f"{needed / 1e6:,.0f} MB are needed"
        )


def complain(text: str) -> None:
    """Say on the error stream what went wrong."""
    for line in text.split("\n"):
        print(f"evo-libra: {shortened(line)}", file=sys.stderr)


def plain_ui(words: list[str]) -> tuple[str, frozenset[str]] | None:
    """Return the folder and the flags of a plain call of the UI; None for every other command line.

    >>> plain_ui(["ui", "somewhere", "--light"])
    ('somewhere', frozenset({'--light'}))
    """
    if words[:1] != ["ui"]:
        return None
    folders = [word for word in words[1:] if word not in _UI_FLAGS]
    if len(folders) > 1 or any(not word or word.startswith("-") for word in folders):
        return None
    return folders[0] if folders else "results", frozenset(words[1:]) & _UI_FLAGS


def execute(words: list[str]) -> int:
    """Run a command line as `run` does, but raise what went wrong."""
    with own_trust():
        return _execute(words)


def _execute(words: list[str]) -> int:
    # The library that parses command lines takes a tenth of the time until the UI is there.
    plain = plain_ui(words)
    if plain is None:
        return _parsed(words)
    from evo_libra.ui.terminal.app import run_ui

    folder, flags = plain
    return run_ui(Path(folder), light="--light" in flags, ascii_only="--ascii" in flags)


def _parsed(words: list[str]) -> int:
    from cyclopts import CycloptsError, UnknownOptionError, UnusedCliTokensError

    from evo_libra.ui.commands.shared import app

    load(words[0] if words else "")
    try:
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except UnknownOptionError as error:
        raise InputError(f"{str(error).rstrip('.')}; a name that begins with a dash goes after `--`") from error
    except UnusedCliTokensError as error:
        found = ", ".join(f"'{token}'" for token in error.unused_tokens or ())
        raise InputError(f"found {found}, which nothing takes; an option with several values is repeated") from error
    except CycloptsError as error:
        raise InputError(str(error)) from error
    return code if isinstance(code, int) else DONE


def load(command: str) -> None:
    """Import the module of a command, which adds the command to the application; all, for a name that is none."""
    modules = {"completion", *(module for module, _ in COMMANDS.values())}
    for module in {COMMANDS[command][0]} if command in COMMANDS else modules:
        importlib.import_module(f"evo_libra.ui.commands.{module}")
