"""Problem files to begin with: a commented one, and the schema for editors."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.tables.output import print, print_json

STARTER = resources.files(__package__).joinpath("starter.yaml").read_text(encoding="utf-8")
"""The problem file that ``evo-libra init`` writes."""


@app.command
def init(path: Path = Path("problem.yaml"), *, as_json: Json = False) -> int:
    """Write a commented problem file to start from.

    Parameters
    ----------
    path:
        Path of the new file; an existing file is kept.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        raise InputError(f"{path} exists already; name another path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    if as_json:
        print_json({"problem": str(path)}, indent=2)
    else:
        print(f"wrote {path}; try: evo-libra search {path}")
    return 0


@app.command
def schema(kind: Literal["problem", "order", "experiment"] = "problem") -> int:
    """Print the JSON Schema of problem files, of those that ask for an order, or of experiment files, for editors.

    Parameters
    ----------
    kind:
        Which of them.
    """
    from evo_libra.files.fields import CompleteSchema

    if kind == "experiment":
        from evo_libra.experiment.file.schema import ExperimentSpec

        print_json(ExperimentSpec.model_json_schema(), indent=2)
    elif kind == "order":
        from evo_libra.problem.file.order_spec import OrderSpec

        print_json(OrderSpec.model_json_schema(schema_generator=CompleteSchema), indent=2)
    else:
        from evo_libra.problem.file.spec import ProblemSpec

        print_json(ProblemSpec.model_json_schema(schema_generator=CompleteSchema), indent=2)
    return 0
