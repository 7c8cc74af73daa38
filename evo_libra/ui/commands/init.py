"""Problem files to begin with: a commented one, and the schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Json, app

STARTER = """\
# A problem for evo-libra: which networks train these workloads fastest for their price?
#   evo-libra search problem.yaml      finds the Pareto front
#   evo-libra catalog                  lists technologies with their prices, models and engines
#   evo-libra schema                   prints the JSON Schema of this file, for your editor
version: 1
name: my-cluster
npus: 1024                             # every design has this many NPUs

fabric:
  catalog: libra-cosearch              # or `libra` (no limits), or the path of your own .yaml
  # technologies: [package, node, pod] # use just these, the innermost first
  # blocks: [ring, switch]             # use just these of ring, fully-connected, switch
  max_dimensions: 4
  one_dimension_per_technology: true
  # shape: RI(4)_FC(8)_SW(32)          # pins the whole network; parts of it with @technology and :GB/s
  # pin: [{dimension: 0, block: ring}] # or pins parts of single dimensions

workloads:                             # one or more; their weighted times are added up
  - model: gpt-3-libra                 # 2 of the 96 layers of GPT-3, as in LIBRA's study; the batch is per replica
                                       # or `file: workload.txt` (ASTRA-sim 1.0 text), or `generator: {...}`
    parallelism: {tp: 16}              # data parallelism takes the NPUs that are left
    compute_TFLOPS: 234                # of one NPU
    weight: 1

time: libra                            # or {model: libra, overlap: tp-dp, weights: normalised}
objectives: [time, cost]
constraints:                           # dimension 0 is the innermost; one a design lacks has 0 GB/s
  - sum(bw) <= 1000 GB/s
  # - bw[0] >= bw[1] >= bw[2]
  # - bw[pod] <= 50 GB/s
  # - cost <= 20 MUSD
bandwidth: {mode: search, min_GBps: 1, max_GBps: 700}   # per NPU and dimension; mode optimal solves for them
search: {engine: nsga2, evaluations: 50000, population: 650, seed: 0}
"""
"""The problem file that ``evo-libra init`` writes."""


@app.command
def init(path: Path = Path("problem.yaml"), *, as_json: Json = False) -> int:
    """Write a commented problem file to start from.

    Parameters
    ----------
    path:
        Where to write it; an existing file is kept.
    as_json:
        Print one JSON object and nothing else.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        raise InputError(f"{path} exists already; name another path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    if as_json:
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
        from evo_libra.experiment.file.schema import ExperimentSpec

        _print_json(ExperimentSpec.model_json_schema())
    else:
        from evo_libra.problem.file.spec import ProblemSpec

        _print_json(ProblemSpec.model_json_schema())
    return 0


def _print_json(data: Any) -> None:  # noqa: ANN401 - JSON-able data
    print(json.dumps(data, indent=2, allow_nan=False))
