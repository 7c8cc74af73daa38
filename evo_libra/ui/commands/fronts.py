"""The commands that look at a front: front, certify, rescore, prices."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from evo_libra.ui.commands.shared import Assignments, Json, TrustCode, app


@app.command
def front(result: Path, *, rows: int = 12, json_: Json = False) -> int:
    """Show the front of a result.

    Parameters
    ----------
    result:
        Folder of a run, or one with a single run in it, such as results/gpt3-4k; or a part of a run's name.
    rows:
        Most rows of the table; they are spread along the front. JSON has all designs.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.front import front_command  # noqa: PLC0415 - see `shared`

    return front_command(result, rows, as_json=json_)


@app.command
def certify(
    result: Path,
    *,
    problem: str | None = None,
    set_: Assignments = None,
    seconds: float | None = None,
    trust_code: TrustCode = False,
    json_: Json = False,
) -> int:
    """Prove how far the front of a result is from optimal.

    Parameters
    ----------
    result:
        Folder of a run, or one with a single run in it, such as results/gpt3-4k; or a part of a run's name.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, as in the run; only together with --problem.
    seconds:
        After which a proof over a large space stops as tight as it is by then; so does Ctrl-C.
    trust_code:
        Run the code of a problem that the result names as module:object.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.proofs import certify_command  # noqa: PLC0415 - see `shared`

    return certify_command(result, problem, set_ or [], seconds, trust_code=trust_code, as_json=json_)


@app.command
def rescore(
    result: Path,
    *,
    time: Literal["libra", "astra", "themis"],
    problem: str | None = None,
    set_: Assignments = None,
    rows: int = 12,
    trust_code: TrustCode = False,
    json_: Json = False,
) -> int:
    """Look at the front of a result under another model of time: who moves, who is still on the front.

    Parameters
    ----------
    result:
        Folder of a run, or one with a single run in it, such as results/gpt3-4k; or a part of a run's name.
    time:
        The other model of time.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated.
    rows:
        Most rows of the table; they are spread along the front. JSON has all designs.
    trust_code:
        Run the code of a problem that the result names as module:object.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.rescore import rescore_command  # noqa: PLC0415 - see `shared`

    return rescore_command(result, time, problem, set_ or [], rows, trust_code=trust_code, as_json=json_)


@app.command
def prices(
    result: Path,
    *,
    scenarios: int = 1000,
    seed: int = 0,
    score: Literal["mean", "worst", "regret"] = "mean",
    problem: str | None = None,
    set_: Assignments = None,
    rows: int = 12,
    trust_code: TrustCode = False,
    json_: Json = False,
) -> int:
    """Look at the front of a result under uncertain prices of parts: what it costs, who is still on the front.

    Parameters
    ----------
    result:
        Folder of a run on a catalogue of parts, or one with a single run in it; or a part of its name.
    scenarios:
        Scenarios to draw; in each every part has one price of its range, with the stated one as the likeliest.
    seed:
        Of the draws.
    score:
        What decides: mean cost, worst cost, or largest regret: what is paid above the cheapest that is no slower.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, on top of those of the run, such as fabric.catalog=dearer.yaml; may be repeated.
    rows:
        Most rows of the table; they are spread along the front. JSON has all designs.
    trust_code:
        Run the code of a problem that the result names as module:object.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.prices import prices_command  # noqa: PLC0415 - see `shared`

    options = {"scenarios": scenarios, "seed": seed, "rows": rows}
    return prices_command(result, options, score, problem, set_ or [], trust_code=trust_code, as_json=json_)
