"""The commands about what files may say: catalog, init, schema, workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from cyclopts import App

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Json, app


@app.command
def catalog(name: str | None = None, *, json_: Json = False) -> int:
    """List what can be used in a problem file: catalogues with their prices, blocks, models, problems, engines.

    Parameters
    ----------
    name:
        Show just this catalogue (a name, or the path of a .yaml file); of parts, each with its figures and source.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.catalog import catalog_command  # noqa: PLC0415 - see `shared`

    return catalog_command(name, as_json=json_)


@app.command
def init(path: Path = Path("problem.yaml"), *, json_: Json = False) -> int:
    """Write a commented problem file to start from.

    Parameters
    ----------
    path:
        Where to write it; a file that is there is kept.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.init import STARTER  # noqa: PLC0415 - see `shared`

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        raise InputError(f"{path} exists already; name another path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    if json_:
        _print_json({"problem": str(path)})
    else:
        print(f"wrote {path}; try: evo-libra search {path}")
    return 0


@app.command
def schema(kind: Literal["problem", "experiment"] = "problem") -> int:
    """Print the JSON Schema of problem files or experiment files, for editors.

    Parameters
    ----------
    kind:
        Which of the two.
    """
    if kind == "experiment":
        from evo_libra.experiment.file.schema import ExperimentSpec  # noqa: PLC0415 - see `shared`

        _print_json(ExperimentSpec.model_json_schema())
    else:
        from evo_libra.problem.file.spec import ProblemSpec  # noqa: PLC0415 - see `shared`

        _print_json(ProblemSpec.model_json_schema())
    return 0


workload = App(name="workload", help="Look at execution traces of workloads.")
app.command(workload)


@workload.command(name="show")
def show_workload(
    trace: Path,
    *,
    peak: float | None = None,
    memory_bandwidth: float | None = None,
    rows: int = 20,
    json_: Json = False,
) -> int:
    """Show what Chakra execution traces hold: nodes, bytes, compute, the longest chain.

    Parameters
    ----------
    trace:
        A trace, or the prefix of PREFIX.<npu>.et for all NPUs.
    peak:
        TFLOP/s of an NPU; with the bandwidth of its memory it gives computations their time by a roofline.
    memory_bandwidth:
        GB/s of an NPU's memory.
    rows:
        Most rows of the table of collectives. JSON has all.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.workload import show_command  # noqa: PLC0415 - see `shared`

    return show_command(trace, peak=peak, memory_bandwidth=memory_bandwidth, rows=rows, as_json=json_)


def _print_json(data: Any) -> None:  # noqa: ANN401 - JSON-able data
    print(json.dumps(data, indent=2, allow_nan=False))
