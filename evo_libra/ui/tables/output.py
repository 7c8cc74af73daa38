"""Functions that commands print with: sentences, tables, sections of both, files and JSON.

A command writes to standard output and the error stream through this module alone, and the streams are Python's own.
Text that has names from outside is cleaned here on its way, so that none steers the terminal. Plain commands do without
Rich.
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

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TaskID
    from rich.text import Text

    from evo_libra.explain.sheet import Section, Table


FIGURES = (".png", ".pdf", ".svg")
"""Endings of files of figures."""


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
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

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
    from rich.progress import Progress

    console = progress_console()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def may_be_terminal(stream: TextIO) -> bool:
    """Return whether Rich may take a stream for a terminal, as these variables make it take any stream for one."""
    return stream.isatty() or not os.environ.keys().isdisjoint(("FORCE_COLOR", "TTY_COMPATIBLE"))


class NoProgress:
    """A bar that is not shown, so that Rich is not imported for it."""

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


def print_narrow(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text] | None],
    **options: Any,  # noqa: ANN401 - those of `print_table`
) -> None:
    """Print a table of figures without lines between its columns, for many columns on a screen of 80."""
    from rich import box

    print_table(title, columns, rows, box=box.SIMPLE_HEAD, padding=0, **options)


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
    from rich.table import Table
    from rich.text import Text

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
    import polars as pl

    frame = cast("pl.DataFrame", value)
    if not all(column.is_finite().all() for column in frame.select(pl.col(pl.Float64)).iter_columns()):
        raise ValueError("a figure of a table is not finite")
    return frame.write_json()  # in a quarter of the time of the standard library


def print_folded(*sentences: object) -> None:
    """Print sentences, each folded to the width of the terminal."""
    from shutil import get_terminal_size
    from textwrap import fill

    for sentence in sentences:
        print(fill(str(sentence), get_terminal_size().columns, subsequent_indent="  ", break_on_hyphens=False))


def print_sections(sections: Iterable[Section]) -> None:
    """Print sections, with an empty line before each title that follows something."""
    for place, one in enumerate(sections):
        if one.title:
            print(*([""] if place else []), sep="", end="\n" if place else "")
            print_folded(one.title)
        for part in one.parts:
            if isinstance(part, str):
                print_folded(part)
            else:
                print_sheet_table(part)


def print_sheet_table(table: Table) -> None:
    """Print a table; cells that stand out are bold."""
    from rich.text import Text

    rows = [
        None
        if row is None
        else [Text(cell, style="bold" if (place, at) in table.strong else "") for at, cell in enumerate(row)]
        for place, row in enumerate(table.rows)
    ]
    print_table(table.title, table.columns, rows, left=table.words, fold=table.folds)
