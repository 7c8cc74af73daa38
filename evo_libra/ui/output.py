"""Functions that commands print with: sentences, tables, files and JSON, of which none steers the terminal; figures.

A command writes to standard output and the error stream through this module alone, and the streams are Python's own.
Text that has names from outside is cleaned here on its way. Plain commands do without Rich.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO, cast, runtime_checkable

from evo_libra.control_characters import CONTROLS, escape_controls
from evo_libra.quantities import money_text, money_unit, number, time_text, time_unit

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TaskID
    from rich.text import Text

__all__ = [
    "NoProgress",
    "bandwidth_text",
    "duration",
    "groups_text",
    "label_of",
    "may_be_terminal",
    "money_text",
    "money_unit",
    "new_console",
    "number",
    "open_streams",
    "print",
    "print_file",
    "print_folded",
    "print_json",
    "print_styled",
    "print_table",
    "progress_bar",
    "progress_console",
    "short_design",
    "size_of_iteration",
    "time_text",
    "time_unit",
]


def open_streams() -> bool:
    """Make the streams of this process take any text as it is; return whether standard output is open.

    A closed stream becomes a stream to nowhere. Line ends stay as they are, and a character that the encoding of a
    stream lacks is written as an escape.
    """
    is_open = sys.stdout is not None
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace", newline="")
    return is_open


def print(*texts: object, sep: str = " ", end: str = "\n", file: TextIO | None = None, flush: bool = False) -> None:  # noqa: A001 - commands have no other
    """Print sentences as Python does, with the characters of names that a terminal obeys as escapes."""
    builtins.print(escape_controls(sep.join(map(str, texts))), end=end, file=file, flush=flush)


def print_file(text: str) -> None:
    """Print a file: to a pipe the bytes of the file, and to a terminal none that it obeys."""
    if sys.stdout.isatty():
        print(text.replace("\r\n", "\n"), end="")
    else:
        builtins.print(text, end="")  # noqa: T201 - the one place that prints


def new_console(**options: Any) -> Console:  # noqa: ANN401 - those of Rich's console
    """Return a console of Rich that leaves out what a terminal would obey, wherever it stands in what is printed."""
    from rich.console import Console, ConsoleOptions, RenderableType  # noqa: PLC0415 - plain commands do without
    from rich.segment import Segment  # noqa: PLC0415 - the same

    class CleanConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Render what is printed."""
            for segment in super().render(renderable, options):
                if segment.control or not CONTROLS.search(segment.text):
                    yield segment
                else:
                    yield Segment(CONTROLS.sub("", segment.text), segment.style)

    return CleanConsole(**options)


def progress_console() -> Console:
    """Return a console on the error stream for lines that move, which shows them on a terminal that can erase only."""
    console = new_console(stderr=True)
    return new_console(stderr=True, force_terminal=False) if console.is_dumb_terminal else console


def progress_bar(*columns: ProgressColumn) -> Progress:
    """Return a bar on the error stream, which is shown on a terminal only and vanishes at its end."""
    from rich.progress import Progress  # noqa: PLC0415 - plain commands do without

    console = progress_console()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def may_be_terminal(stream: TextIO) -> bool:
    """Return whether Rich may take a stream for a terminal, as these variables make it take any stream for one."""
    return stream.isatty() or not os.environ.keys().isdisjoint(("FORCE_COLOR", "TTY_COMPATIBLE"))


class NoProgress:
    """Takes the place of a bar that nobody would see, so that Rich is not imported for it."""

    disable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Show nothing."""

    def add_task(self, *_: object, **__: object) -> TaskID:
        """Show nothing."""
        return cast("TaskID", 0)

    def update(self, *_: object, **__: object) -> None:
        """Show nothing."""


def print_styled(text: str) -> None:
    """Print a text as it is: one that has escapes of its own, and none from elsewhere."""
    builtins.print(text)  # noqa: T201 - the one place that prints


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text] | None],
    *,
    left: Collection[str] = (),
    fold: Collection[str] = (),
    min_width: int = 0,
    **options: Any,  # noqa: ANN401 - those of Rich's table
) -> None:
    """Print a table of figures, which are flush right and never cut.

    Parameters
    ----------
    rows : texts for each column; None draws a line.
    left : columns of words, flush left.
    fold : columns of words that fold where the terminal is narrow.
    min_width : columns of the table at least; a narrower terminal folds its lines.
    """
    from rich.table import Table  # noqa: PLC0415 - plain commands do without
    from rich.text import Text  # noqa: PLC0415 - the same

    table = Table(title=Text(title) if title else None, title_justify="left", caption_justify="left", **options)
    for column in columns:
        words = column in left or column in fold
        table.add_column(
            Text(column), justify="left" if words else "right", no_wrap=column not in fold, overflow="fold"
        )
    for row in rows:
        if row is None:
            table.add_section()
        else:
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    console = new_console()
    console.width = max(console.width, min_width)
    console.print(table)


def print_json(data: Mapping[str, Any], indent: int | None = None) -> None:
    """Print one JSON object to standard output; its tables are lists of rows.

    Raises a ValueError where a figure is not finite.
    """
    if any(isinstance(value, _Table) for value in data.values()):
        text = f"{{{', '.join(f'{json.dumps(key)}: {_json(value)}' for key, value in data.items())}}}"
    else:
        text = json.dumps(data, allow_nan=False, indent=indent)
    builtins.print(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))  # noqa: T201 - the one place that prints


@runtime_checkable
class _Table(Protocol):
    """A data frame of Polars, which plain commands do without."""

    def write_json(self) -> str: ...


def _json(value: Any) -> str:  # noqa: ANN401 - what JSON can state
    if not isinstance(value, _Table):
        return json.dumps(value, allow_nan=False)
    import polars as pl  # noqa: PLC0415 - whoever has a table has imported it

    frame = cast("pl.DataFrame", value)
    if not all(column.is_finite().all() for column in frame.select(pl.col(pl.Float64)).iter_columns()):
        raise ValueError("a figure of a table is not finite")
    return frame.write_json()  # in a quarter of the time of the standard library


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


def size_of_iteration(workload: Mapping[str, Any]) -> str:
    """Return how much one iteration of a workload is, for reading; empty where nothing is known.

    >>> size_of_iteration({"layers": 2, "sequence": 1024, "batch_per_replica": 32, "global_batch": 8192})
    '2 layers, sequences of 1,024 tokens, 32 per replica, 8,192 in all'
    >>> size_of_iteration({"layers": 54, "sequence": None, "batch_per_replica": None, "global_batch": None})
    '54 layers'
    """
    layers, tokens, batch = workload["layers"], workload["sequence"], workload["batch_per_replica"]
    micro = workload.get("micro_batch")
    parts = [] if layers is None else [f"{layers:,} layers" if layers != 1 else "1 layer"]
    if batch is None and workload.get("global_batch") is not None:
        parts.append(f"{workload['global_batch']:,} sequences of {tokens:,} tokens in all")
    if "plans" in workload:
        parts.append(f"{workload['plans_that_fit']:,} of {workload['plans']:,} plans fit the memory")
    if batch is not None:
        what = f"sequences of {tokens:,} tokens, {batch:,}" if tokens is not None else f"{batch:,} samples"
        parts += [f"{what} per replica", f"{workload['global_batch']:,} in all"]
        parts += [f"microbatches of {micro:,}"] if micro not in (None, batch) else []
    return ", ".join(parts)


def groups_text(workload: Mapping[str, Any]) -> str:
    """Return the plan or the process groups of a workload, for reading.

    >>> groups_text({"parallelism": {"tp": 8, "dp": 4}})
    'tp=8 dp=4'
    """
    if "plan" in workload:
        return str(workload["plan"])
    return " ".join(f"{name}={degree}" for name, degree in workload["parallelism"].items())


def print_folded(*sentences: object) -> None:
    """Print sentences, each folded to the width of the terminal."""
    from shutil import get_terminal_size  # noqa: PLC0415 - few need it, and all import this
    from textwrap import fill  # noqa: PLC0415 - the same

    for sentence in sentences:
        print(fill(str(sentence), get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False))


def short_design(design: str) -> str:
    """Return the notation with bandwidths to ten digits, which evaluate to the same figures; files keep them all.

    >>> short_design("RI(4)@chip:699.9999999999995_SW(32)@pod:51.66666666666664 chunks=4")
    'RI(4)@chip:700_SW(32)@pod:51.66666667 chunks=4'
    """
    network, *options = design.split(" ")
    parts = []
    for part in network.split("_"):
        head, colon, bandwidth = part.partition(":")
        parts.append(f"{head}{colon}{bandwidth_text(float(bandwidth))}" if colon else part)
    return " ".join(["_".join(parts), *options])


def bandwidth_text(gigabytes: float) -> str:
    """Return GB/s to ten digits: rounded so, a design has the same figures and keeps all limits.

    >>> bandwidth_text(213.3333333333332), bandwidth_text(1234567.0), bandwidth_text(0.0000125)
    ('213.3333333', '1234567', '1.25e-05')
    """
    return f"{gigabytes:.10g}"


_LABELS = {"time_ms": "iteration time [ms]", "cost_usd": "network cost [USD]"}


def label_of(column: str) -> str:
    """Return what an axis calls an objective.

    >>> label_of("time_ms"), label_of("power_MW"), label_of("hops")
    ('iteration time [ms]', 'power [MW]', 'hops')
    """
    name, _, unit = column.rpartition("_")
    return _LABELS.get(column, f"{name} [{unit}]" if name else column)
