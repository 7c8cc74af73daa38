"""Problem files to begin with: the question of a buyer or LIBRA's example; and the schema for editors."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.tables.output import print, print_folded, print_json

if TYPE_CHECKING:
    from evo_libra.ui.tables.answers import Init

STARTER = resources.files(__package__).joinpath("libra.yaml").read_text(encoding="utf-8")
"""The problem file that ``evo-libra init --example libra`` writes."""


@app.command
def init(  # noqa: PLR0913 - options of a command
    path: Path = Path("problem.yaml"),
    *,
    model: str | None = None,
    system: str | None = None,
    npus: int | None = None,
    budget: str | None = None,
    task: Literal["training", "serving"] | None = None,
    tokens: float | None = None,
    batch: int | None = None,
    rate: str | None = None,
    one_out: bool = False,
    example: Literal["libra"] | None = None,
    as_json: Json = False,
) -> int:
    """Write a commented problem file: which systems and network to buy for a model; asks for what no option says.

    Parameters
    ----------
    path:
        Path of the new file; an existing file is kept.
    model:
        A model of the catalogue, such as deepseek-v3, or the config.json of one.
    system:
        Systems or accelerators to compare, such as gb300-nvl72,b200; see `evo-libra catalog systems`.
    npus:
        Number of accelerators.
    budget:
        The most that the whole order may cost, such as "300 MUSD".
    task:
        Training or serving.
    tokens:
        Tokens to train in all, such as 15e12.
    batch:
        Sequences of a training step: the smaller it is, the more of a step is network.
    rate:
        Of serving: what must be answered, such as 20request/s or 10ktoken/s; then the fewest accelerators are sought.
    one_out:
        Of serving: the rate must be answered while a server, or a tray of a rack, is out.
    example:
        Write LIBRA's problem instead, which asks for the design of a network.
    """
    asked = {
        "model": model, "system": system, "npus": npus, "budget": budget, "task": task, "tokens": tokens,
        "batch": batch, "rate": rate, "one_out": one_out or None,
    }  # fmt: skip
    given = {name: value for name, value in asked.items() if value is not None}
    if example is not None and given:
        raise InputError(
            f"--example has no other options; leave out {', '.join(f'--{name}' for name in given).replace('_', '-')}"
        )
    text, assumed = (STARTER, "") if example is not None else _question(path, given, as_json=as_json)
    _write(path, text)
    if as_json:
        answer: Init = {"problem": str(path), "assumed": assumed}
        print_json(answer, indent=2)
    else:
        print(f"wrote {path}; try: evo-libra search {path}")
        if assumed:
            print_folded(f"Assumed: {assumed}. The answer depends on them; the file says where to change each.")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} exists already; name another path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None


def _question(path: Path, given: dict[str, Any], *, as_json: bool) -> tuple[str, str]:
    """Return the file of the question that options and answers make, and what is assumed in it.

    An `InputError` names what is wrong.
    """
    from evo_libra.exchange.first_question import (
        MODELS,
        NPUS,
        SYSTEMS,
        Question,
        known_model,
        question_file,
        systems_of,
    )
    from evo_libra.files.source import parse_source
    from evo_libra.problem.file.load import problem_of
    from evo_libra.ui.commands.shared import check_min
    from evo_libra.ui.tables.problem_files import problem_name

    if path.exists():
        raise InputError(f"{path} exists already; name another path")
    asks = not given and not as_json and sys.stdin.isatty()
    task = given.get("task") or _asked(asks, "training or serving", "training")
    if task not in MODELS:
        raise InputError(f"found '{task}'; training or serving is needed")
    model = given.get("model") or _asked(asks, "model, or the path of its config.json", MODELS[task])
    systems = given.get("system") or _asked(asks, "systems or accelerators", ",".join(SYSTEMS))
    npus = given["npus"] if "npus" in given else _whole(_asked(asks, "accelerators", str(NPUS[task])))
    budget = given.get("budget") or _asked(asks, "budget of the order, such as 300 MUSD; empty for none", "")
    check_min("npus", npus)
    check_min("batch", given.get("batch", 1))
    generator = _generator(model) if model.endswith(".json") else {}
    made = Question(
        name=problem_name(path), path=str(path), task="serving" if task == "serving" else "training",
        model=model if generator else known_model(model), npus=npus,
        systems=systems_of([name.strip() for name in systems.split(",") if name.strip()], npus),
        budget=_money(budget) if budget else "", tokens=given.get("tokens"), generator=generator,
        sequences=given.get("batch"), rate=_rate(given, task), one_out="one_out" in given,
    )  # fmt: skip
    text = question_file(made)
    problem_of(parse_source(text, f"the problem of {model}"), Path())
    chosen = "" if asks or "system" in given else f"the systems {systems.replace(',', ', ')}"
    return text, " and ".join(filter(None, (chosen, made.assumed)))


def _asked(asks: bool, what: str, default: str) -> str:  # noqa: FBT001 - one question, or its default
    """Return the answer to a question, and the default for an empty one or where no user is asked."""
    if not asks:
        return default
    print(f"{what}{f' [{default}]' if default else ''}: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or default


def _whole(text: str) -> int:
    number = text.replace(",", "")
    if not number.isdecimal():
        raise InputError(f"found '{text}'; a number of accelerators is needed")
    return int(number)


def _money(text: str) -> str:
    """Return an amount with its unit, as constraints have it; an `InputError` says that it is none."""
    from evo_libra.front.selection import in_unit_of

    try:
        usd = in_unit_of("cost_usd", text)
    except InputError as error:
        raise InputError(f"--budget: {error}") from None
    return f"{usd / 1e6:.12g} MUSD"


def _rate(given: dict[str, Any], task: str) -> float | None:
    """Return the tokens of answers per second; an `InputError` says that it is no rate, or has no use."""
    from evo_libra.exchange.first_question import ANSWER
    from evo_libra.ui.tables.rates import tokens_per_second

    text = given.get("rate")
    if text is None and "one_out" in given:
        raise InputError("--one-out: what must be answered then is open; add --rate")
    if text is not None and task != "serving":
        raise InputError("--rate: training has no requests; add --task serving")
    try:
        return None if text is None else tokens_per_second(text, lambda: ANSWER)
    except InputError as error:
        raise InputError(f"--rate: {error}") from None


def _generator(file: str) -> dict[str, Any]:
    """Return the keys of the model that a file of another program describes."""
    from evo_libra.exchange.registry import read_text_as
    from evo_libra.files.source import read_text
    from evo_libra.files.yaml_reader import MAX_BYTES

    _, draft = read_text_as(read_text(Path(file), MAX_BYTES), file)
    if not draft.generator:
        raise InputError(f"{file} describes no model; give a model's config.json")
    return dict(draft.generator)


@app.command
def schema(kind: Literal["problem", "order", "fabric", "experiment"] = "problem") -> int:
    """Print the JSON Schema of problem files, of those that ask for an order or a fabric, or of experiment files.

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
    elif kind == "fabric":
        from evo_libra.problem.file.switch_fabric_spec import SwitchFabricSpec

        print_json(SwitchFabricSpec.model_json_schema(schema_generator=CompleteSchema), indent=2)
    else:
        from evo_libra.problem.file.spec import ProblemSpec

        print_json(ProblemSpec.model_json_schema(schema_generator=CompleteSchema), indent=2)
    return 0
