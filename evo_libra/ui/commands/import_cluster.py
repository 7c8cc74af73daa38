"""A cluster of ASTRA-sim, read as a design and a problem file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.texts import print_json

if TYPE_CHECKING:
    from evo_libra.astra_sim.importing import Imported


@app.command(name="import")
def import_cluster(*, network: Path, system: Path, problem: Path | None = None, as_json: Json = False) -> int:
    """Read a cluster of ASTRA-sim as a design in the notation and the section `time` of a problem file.

    Parameters
    ----------
    network:
        ASTRA-sim's network file.
    system:
        ASTRA-sim's system file.
    problem:
        Problem file to write, with the network pinned, and a catalogue beside it.
    as_json:
        Print one JSON object and nothing else.
    """
    from evo_libra.astra_sim.importing import imported
    from evo_libra.files.source import read_source
    from evo_libra.timing.input_files.network_file import parse_network
    from evo_libra.timing.input_files.system_file import parse_system

    links = parse_network(read_source(network))
    file = parse_system(read_source(system), links)
    found = imported(links, file)
    notices = [*(f"{network}: {n}" for n in links.notices), *(f"{system}: {n}" for n in file.notices)]
    written = [] if problem is None else _write(found, problem)
    if as_json:
        print_json({
            "design": str(found.fabric), "npus": found.fabric.npus, "time": dict(found.time),
            "compute_TFLOPS": found.compute, "notices": notices, "without_counterpart": list(found.without),
            "written": [str(path) for path in written],
        })  # fmt: skip
    else:
        _show(found, notices, written)
    return 0


def _write(found: Imported, out: Path) -> list[Path]:
    """Write a problem file and its catalogue; neither stays if they cannot be read."""
    from evo_libra.astra_sim.importing import problem_texts
    from evo_libra.problem.file.registry import load_problem

    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"--problem: found {out}; a problem file ends in .yaml")
    catalog = out.with_name(f"{out.stem}.catalog.yaml")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", out.stem).lstrip("._-")[:64] or "cluster"
    made: list[Path] = []
    try:
        for path, text in zip((out, catalog), problem_texts(found, name, catalog.name), strict=True):
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
        load_problem(str(out.absolute()))
    except FileExistsError:
        _remove(made)
        raise InputError(f"{catalog if made else out} exists already; name another path") from None
    except OSError as error:
        _remove(made)
        raise InputError(f"{out} cannot be written: {(error.strerror or str(error)).lower()}") from None
    except InputError:
        _remove(made)
        raise
    return made


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _show(found: Imported, notices: list[str], written: list[Path]) -> None:
    from evo_libra.astra_sim.importing import time_text

    print(f"design, in GB/s of 10^9 bytes per NPU:\n  {found.fabric}\n\ntime:\n{time_text(found.time)}", end="")
    if found.compute is not None:
        print(f"\nan NPU computes {found.compute:g} TFLOP/s at most")
    for title, sentences in (("without a counterpart:", found.without), ("passed over:", notices)):
        if sentences:
            print(f"\n{title}")
        for sentence in sentences:
            print(f"- {sentence}")
    for path in written:
        print(f"wrote {path}")
