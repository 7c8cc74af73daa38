"""The folders below a folder of results, by their names."""

from __future__ import annotations

import os
from pathlib import Path

from evo_libra.errors import InputError
from evo_libra.files.integrity import unreadable


def can_be_read(results: Path) -> bool:
    """Return whether there is a folder of results.

    Raises
    ------
    InputError : it is a file, or cannot be read.
    """
    try:
        with os.scandir(results):
            return True
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        raise no_folder(results) from None
    except OSError as error:
        raise unreadable(results, error) from None


def no_folder(results: Path) -> InputError:
    """Return the error for a folder of results that is a file, or lies below one."""
    file = next((part for part in (results, *results.parents) if part.is_file()), results)
    return InputError(f"{results} is no folder of results: {'it' if file == results else file} is a file")


def folder_names(folder: Path, notes: list[str]) -> list[str]:
    """Return the names of the folders in a folder, as text, since a thousand paths take a while; or note why not."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _is_folder(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        notes.append(f"what is in a folder is not listed: {unreadable(folder, error)}")
        return []
    odd = [name for name in names if not _is_text(name)]
    notes += [f"{os.fsencode(folder / name)!r} is not listed: its name is not UTF-8" for name in odd]
    return [name for name in names if name not in odd] if odd else names


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


def run_ids(results: Path, notes: list[str]) -> dict[str, None]:
    """Return the ids of the folders that may be runs, in order."""
    problems = [problem for problem in folder_names(results, notes) if not problem.startswith(".")]
    return {f"{problem}/{name}": None for problem in problems for name in folder_names(results / problem, notes)}
