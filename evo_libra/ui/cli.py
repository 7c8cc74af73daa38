"""The program: answers at once or runs a command, and ends with an exit code."""

from __future__ import annotations

import os
import sys

from evo_libra.ui.command_line.at_once import answer

FAILED, INTERRUPTED = 1, 130


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong input, 3 runs of a batch failed, 130 interrupted."""
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("evo-libra: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has closed it; Python must not complain about that at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    sys.exit(code)


def _run(words: list[str]) -> int:
    text = answer(words)
    if text is None:
        from evo_libra.ui.command_line.application import run  # noqa: PLC0415 - help does not need it

        return run(words)
    print(text)
    return 0
