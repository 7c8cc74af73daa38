"""The program: answers at once or runs a command, and ends with an exit code."""

from __future__ import annotations

import errno
import gc
import os
import sys
from types import TracebackType
from typing import TextIO

from evo_libra.ui.commands.names import answer
from evo_libra.ui.tables.output import open_streams, print

FAILED, INTERRUPTED = 1, 130
_ALLOCATIONS = 200_000
"""Objects between two collections of garbage; a start makes half as many, and hardly any garbage."""
_OF_STREAMS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong input, 3 runs of a batch failed, 130 interrupted."""
    gc.set_threshold(_ALLOCATIONS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # to look for some takes as long as to read a problem
    _take_window()
    is_open = open_streams()
    sys.excepthook = _print_internal_error
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
        if not is_open:
            print("evo-libra: standard output is closed; the rest of the output is lost", file=sys.stderr)
            code = code or FAILED
    except KeyboardInterrupt:
        print("evo-libra: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        _print_nowhere(sys.stdout)  # whoever read our output has closed it
        code = FAILED
    except OSError as error:
        if error.filename is not None or error.errno not in _OF_STREAMS:
            raise
        print(f"evo-libra: standard output cannot be written: {(error.strerror or '').lower()}", file=sys.stderr)
        _print_nowhere(sys.stdout)
        code = FAILED
    try:
        sys.stderr.flush()
    except OSError:
        _print_nowhere(sys.stderr)  # a terminal that is gone while a screen was drawn to it
    gc.freeze()  # or Python would visit every object once more, which takes as long as a short search
    sys.exit(code)


def _take_window() -> None:
    """Leave the size of a terminal to the terminal: shells that export COLUMNS leave that of an earlier window."""
    try:
        window = os.get_terminal_size(1)
    except (OSError, ValueError):
        return
    for name, size in (("COLUMNS", window.columns), ("LINES", window.lines)):
        if size:
            os.environ.pop(name, None)


def _print_internal_error(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Print an exception that nothing has caught, which may quote a name from outside."""
    from traceback import format_exception  # noqa: PLC0415 - help does not need it

    print("".join(format_exception(error)), end="", file=sys.stderr)


def _print_nowhere(stream: TextIO) -> None:
    """Let Python not complain at its end, too, about what it cannot write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(words: list[str]) -> int:
    text = answer(words)
    if text is None:
        from evo_libra.ui.commands.application import run  # noqa: PLC0415 - help does not need it

        return run(words)
    print(text)
    return 0
