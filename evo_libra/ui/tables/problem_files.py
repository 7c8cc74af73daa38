"""Problem files that commands write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from evo_libra.errors import InputError


def problem_name(out: Path) -> str:
    """Return the name of the problem in a file.

    >>> problem_name(Path("my cluster.yaml"))
    'my-cluster'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", out.stem).lstrip("._-")[:64] or "cluster"


def write_problem(out: Path, texts: Mapping[Path, str]) -> list[Path]:
    """Write a problem file, and those that it names; none stays if they cannot be read.

    Raises
    ------
    InputError : it is no name of a problem file, one of the files exists, or the problem is wrong.
    """
    from evo_libra.problem.file.registry import load_problem

    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"--problem: found {out}; a problem file ends in .yaml")
    made: list[Path] = []
    path = out
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
        load_problem(str(out.absolute()))
    except (OSError, InputError) as error:
        for one in made:
            one.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise InputError(f"{path} exists already; name another path") from None
        if isinstance(error, OSError):
            raise InputError(f"{out} cannot be written: {(error.strerror or str(error)).lower()}") from None
        raise
    return made
