"""The program: runs a command, and turns what goes wrong into a sentence and an exit code."""

from __future__ import annotations

import os
import sys

from cyclopts import CycloptsError

from evo_libra.errors import EvoLibraError, InputError
from evo_libra.ui.command_line import designs, experiments, files, fronts, searching  # noqa: F401 - adds their commands
from evo_libra.ui.command_line.shared import app

DONE, FAILED, WRONG_INPUT, INTERRUPTED = 0, 1, 2, 130


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong input, 3 runs of a batch failed, 130 interrupted."""
    try:
        code = app(sys.argv[1:], exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        _complain(f"{error}")
        code = WRONG_INPUT
    except InputError as error:
        _complain(str(error))
        code = WRONG_INPUT
    except EvoLibraError as error:
        _complain(str(error))
        code = FAILED
    except KeyboardInterrupt:
        _complain("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has closed it; Python must not complain about that at its end either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    sys.exit(code if isinstance(code, int) else DONE)


def _complain(text: str) -> None:
    for line in text.splitlines():
        print(f"evo-libra: {line}", file=sys.stderr)


app.register_install_completion_command(add_to_startup=False)
