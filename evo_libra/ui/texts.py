"""How commands print what programs read, and how they write times; imports next to nothing."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, counted
from evo_libra.experiment.results.catalogue import Catalogue, can_be_read, no_folder
from evo_libra.experiment.store.folder import MANIFEST, is_run
from evo_libra.files.source import refusal_of_file


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output."""
    print(json.dumps(data, allow_nan=False))


def duration(seconds: float) -> str:
    """Return a time for reading.

    >>> duration(0.43), duration(61), duration(7300), duration(200_000)
    ('0.43 s', '1 min 1 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 10:  # noqa: PLR2004 - short times read better with decimals
        return f"{seconds:.2g} s"
    for name, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if seconds >= size:
            return f"{int(seconds // size)} {name} {int(seconds % size // part)} {smaller}"
    return f"{seconds:.0f} s"


_UNITS = (
    ("ns", 1e-6, 1e-3), ("us", 1e-3, 1.0), ("ms", 1.0, 1e4), ("s", 1e3, 6e5), ("min", 6e4, 3.6e7),
    ("h", 3.6e6, 1.728e8), ("d", 8.64e7, 6.3e10), ("years", 3.15576e10, math.inf),
)  # fmt: skip
"""Units of time with their milliseconds, and the milliseconds from which on the next one reads better."""


def time_unit(milliseconds: float) -> tuple[str, float]:
    """Return the unit in which a time reads best, and its milliseconds.

    >>> time_unit(0.0002), time_unit(58.098), time_unit(1.2e11)
    (('ns', 1e-06), ('ms', 1.0), ('years', 31557600000.0))
    """
    return next(((name, size) for name, size, end in _UNITS if milliseconds < end), ("ms", 1.0))


def time_text(milliseconds: float) -> str:
    """Return a time for reading, in a unit that suits it.

    >>> time_text(58.0981), time_text(12_345), time_text(0.25)
    ('58.0981 ms', '12.345 s', '250 us')
    """
    name, size = time_unit(milliseconds)
    return f"{milliseconds / size:.6g} {name}"


def number(value: float) -> str:
    """Return a figure for reading."""
    return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.5g}"  # noqa: PLR2004 - large figures read better whole


def size_of_iteration(workload: Mapping[str, Any]) -> str:
    """Return how much one iteration of a workload is, for reading; empty where nothing is known.

    >>> size_of_iteration({"layers": 2, "sequence": 1024, "batch_per_replica": 32, "global_batch": 8192})
    '2 layers, sequences of 1,024 tokens, 32 per replica, 8,192 in all'
    >>> size_of_iteration({"layers": 54, "sequence": None, "batch_per_replica": None, "global_batch": None})
    '54 layers'
    """
    layers, tokens, batch = workload["layers"], workload["sequence"], workload["batch_per_replica"]
    parts = [] if layers is None else [f"{layers:,} layers" if layers != 1 else "1 layer"]
    if batch is not None:
        what = f"sequences of {tokens:,} tokens, {batch:,}" if tokens is not None else f"{batch:,} samples"
        parts += [f"{what} per replica", f"{workload['global_batch']:,} in all"]
    return ", ".join(parts)


def print_folded(text: str) -> None:
    """Print a sentence, folded to the width of the terminal."""
    from shutil import get_terminal_size  # noqa: PLC0415 - few need it, and all import this
    from textwrap import fill  # noqa: PLC0415 - the same

    print(fill(text, get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False))


def short_design(design: str) -> str:
    """Return the notation with bandwidths to four digits, for reading; files keep them all."""
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{float(bandwidth):.4g}" if colon else part)
    return " ".join(["_".join(parts), *options])


DEFAULT = Path("results")
"""The folder where none is named; before the first run it is not there, and empty."""


def looked_at(results: Path) -> Path:
    """Return a folder of results that can be looked at.

    Raises
    ------
    InputError : it is a file, cannot be read, or it is not there and not the default.
    """
    if not can_be_read(results) and results != DEFAULT:
        raise InputError(f"there is no folder of results {results}")
    return results


def written_to(results: Path) -> Path:
    """Return a folder of results that is there or can be made.

    Raises
    ------
    InputError : it is a file, or lies below one.
    """
    try:
        os.stat(f"{results}/")  # noqa: PTH116 - a path would lose the slash, which refuses a file
    except NotADirectoryError:
        raise no_folder(results) from None
    except (OSError, ValueError):  # whoever writes there says what is wrong
        return results
    return results


def run_folder(name: Path | str, results: Path = DEFAULT) -> Path:
    """Return the folder of a run.

    Parameters
    ----------
    name : its path; that of a folder with one run in it; its id, or a part of its id that no other has.
    results : the folder of results that ids belong to.

    Raises
    ------
    InputError : there is no such run, or there are several; the path is that of a file.
    """
    path = folder_at(name)
    if path is not None:
        return path
    catalogue = Catalogue.open(looked_at(results))
    try:
        return catalogue.find(str(name)).folder
    finally:
        catalogue.close()


def folder_at(name: Path | str) -> Path | None:
    """Return the folder of the one run at a path, or in it; None where there is no run.

    Raises
    ------
    InputError : there are several; the path is that of a file.
    """
    path = Path(name)
    if os.path.isfile(path):  # noqa: PTH113 - false for a name that is too long
        raise InputError(_refused(path))
    if os.path.isdir(path):  # noqa: PTH112 - the same
        inside = [path] if is_run(path) else _runs_in(path)
        if len(inside) == 1:
            return inside[0]
        if inside:
            shown = ", ".join(str(one) for one in inside[:3])
            raise InputError(f"{path} has {counted(len(inside), 'run')}, such as {shown}; name one")
    return None


def _runs_in(folder: Path) -> list[Path]:
    """Return the folders of runs in a folder of results, or in that of a problem's results."""
    return sorted(path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/{MANIFEST}"))


def _refused(path: Path) -> str:
    """Return the sentence that refuses a file where the folder of a run is needed."""
    if (path.parent / MANIFEST).is_file():
        return f"{path} is a file of a run; use the run's folder, {path.parent}"
    return f"{path}: {refusal_of_file(path) or 'this is a file'}; here the folder of a run is needed"
