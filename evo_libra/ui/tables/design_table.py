"""Tables of designs, printed or written for other programs as CSV, Markdown and Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError
from evo_libra.explain.labels import bandwidths_text, short_design
from evo_libra.explain.sheet import band_note
from evo_libra.network.transport import LABEL
from evo_libra.problem.bands import BAND
from evo_libra.problem.written_designs import NOTE
from evo_libra.quantities import number, reading_unit
from evo_libra.ui.tables.output import print_file, print_folded, print_table

if TYPE_CHECKING:
    import polars as pl

    from evo_libra.front.front import Front


NETWORK, BANDWIDTH, PLAN, ORDER = "network", "GB/s", "plan", "order"
_WIDE = 10_000


def show_designs(front: Front, shown: pl.DataFrame, title: str, *, wide: bool = False) -> None:
    """Print a table of designs of a front: ids, objectives and what tells the designs apart.

    Options that all plans of the table share stand below it. With `wide`, designs are in the notation, one in a line.
    """
    times = [column for column in front.objectives if column.endswith("_ms")]
    units = dict.fromkeys(front.objectives, ("", 1.0))
    units |= {column: reading_unit(column, shown[column].to_list()) for column in times}
    heads = ["id", *(column.removesuffix("ms") + unit if unit else column for column, (unit, _) in units.items())]
    if "design" not in shown.columns:
        heads = list(map(folded_head, heads))  # designs in words need the room
    names, shared = ({"design": _whole(shown, front)}, "") if wide else described(front, shown)
    rows = [
        [str(row["id"]), *_figures(row, units, front.ends(row)), *cells]
        for row, *cells in zip(shown.to_dicts(), *names.values(), strict=True)
    ]
    fold = () if wide else tuple(names)
    print_table(title, (*heads, *names), rows, left=tuple(names), fold=fold, min_width=_WIDE if wide else 0)
    if shared:
        print_folded(f"all plans: {shared}")
    print_folded(*band_notes(shown))
    if noted(shown):
        print_folded(LABEL)


def _figures(
    row: Mapping[str, Any], units: Mapping[str, tuple[str, float]], ends: Mapping[str, tuple[float, float]]
) -> list[str]:
    """Return the objectives of a design in their units, each with its band in a line of its own."""
    texts = {column: number(row[column] / size) for column, (_, size) in units.items()}
    bands = {column: " - ".join(f"{end / units[column][1]:.4g}" for end in both) for column, both in ends.items()}
    return [f"{text}\n{bands[column]}" if column in bands else text for column, text in texts.items()]


def band_notes(shown: pl.DataFrame) -> list[str]:
    """Return what the bands of the rows of a table are; nothing where no row has one."""
    return band_note(shown[BAND].to_list()) if BAND in shown.columns else []


def noted(shown: pl.DataFrame) -> bool:
    """Return whether some design of a table has a transport."""
    return NOTE in shown.columns and any(shown[NOTE])


def folded_head(column: str) -> str:
    r"""Return the name of a column with its unit in a line of its own.

    >>> folded_head("error_rate_percent"), folded_head("id")
    ('error_rate\npercent', 'id')
    """
    return "\n".join(filter(None, column.rpartition("_")[::2]))


def described(front: Front, shown: pl.DataFrame) -> tuple[dict[str, list[str]], str]:
    """Return columns that tell some designs of a front apart in little room, and the words that all plans have.

    Networks have the short names of their families. Bandwidths are of the dimensions in order, and evaluate to the same
    figures.
    """
    from evo_libra.front.families import families_of
    from evo_libra.front.front import SYSTEM
    from evo_libra.problem.question import FABRIC

    if FABRIC in shown.columns:
        return {FABRIC: shown[FABRIC].to_list()}, ""
    if "design" not in shown.columns:
        return {"design": _whole(shown, front)}, ""
    if SYSTEM in shown.columns:
        columns = {ORDER: [text.partition(" | ")[0] for text in shown["design"]]}
        return _with_plans(columns, shown)
    place = dict(zip(front.frame["id"].to_list(), families_of(front).labels, strict=True))
    columns = {
        NETWORK: [place[one] for one in shown["id"]],
        BANDWIDTH: [bandwidths_text(text) for text in shown["design"]],
    }
    options = [text.partition(" | ")[0].partition(" ")[2] for text in shown["design"]]
    if any(options):
        columns["options"] = options
    return _with_plans(columns, shown)


def _with_plans(columns: dict[str, list[str]], shown: pl.DataFrame) -> tuple[dict[str, list[str]], str]:
    """Return columns with what tells plans apart, and the words that all plans have."""
    from evo_libra.front.families import short_plans

    plans = [text.partition(" | ")[2] for text in shown["design"]]
    if not any(plans):
        return columns, ""
    short, shared = short_plans(plans)
    return columns | ({PLAN: short} if any(short) else {}), shared


def _whole(shown: pl.DataFrame, front: Front) -> list[str]:
    return [_design(row, front.objectives) for row in shown.to_dicts()]


def _design(row: Mapping[str, Any], objectives: Sequence[str]) -> str:
    """Return what tells a design from others: the notation, or what a problem written in Python says of it."""
    if "design" in row:
        return short_design(str(row["design"]))
    others = {key: value for key, value in row.items() if key not in ("id", "family") and key not in objectives}
    return ", ".join(f"{key}={number(value) if isinstance(value, float) else value}" for key, value in others.items())


_STANDARD_OUTPUT = Path("-")


def columns_of(found: Front, names: str | None) -> pl.DataFrame:
    """Return the table with some columns alone, the family among them where it is asked for."""
    from evo_libra.front.selection import column_of, with_families

    frame = with_families(found).frame
    if names is None:
        return frame
    asked = [column_of(frame.columns, name.strip()) for name in names.split(",") if name.strip()]
    if not asked:
        raise InputError(f"--columns: found '{names}'; names are needed, such as id,time,cost")
    return frame.select(list(dict.fromkeys(asked)))


def cells(frame: pl.DataFrame) -> list[list[str]]:
    """Return the rows of a table as texts, figures with all their digits."""
    return [["" if one is None else one if isinstance(one, str) else repr(one) for one in row] for row in frame.rows()]


def write_files(frame: pl.DataFrame, files: dict[str, Path | None]) -> None:
    """Write a table to files in their formats; `-` prints it."""
    from evo_libra.explain.bill_table import frame_csv

    for kind, path in files.items():
        if path is None:
            continue
        if kind == "parquet" and path == _STANDARD_OUTPUT:
            raise InputError("--parquet: a Parquet file is no text for standard output; name a file")
        text = frame_csv(frame) if kind == "csv" else _markdown(frame)
        if path == _STANDARD_OUTPUT:
            print_file(text)
        elif kind == "parquet":
            with path.open("wb") as file:
                frame.write_parquet(file)
        else:
            path.write_text(text, encoding="utf-8")


def _markdown(frame: pl.DataFrame) -> str:
    """Return a table in Markdown, figures flush right and without a bar that would end a cell."""
    rules = ["--:" if frame[name].dtype.is_numeric() else "---" for name in frame.columns]
    rows = [[cell.replace("|", "\\|") for cell in row] for row in cells(frame)]
    return "".join(f"| {' | '.join(row)} |\n" for row in ([*frame.columns], rules, *rows))
