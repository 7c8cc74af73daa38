"""The commands that a user types one after the other say one figure of one design."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, run, run_json

from evo_libra.errors import InputError
from evo_libra.experiment.store.folder import RunFolder

CHANGES = ("npus=512", "fabric.max_dimensions=3")
SET = [word for change in CHANGES for word in ("--set", change)]
NUMBERS = ("--evaluations", "300", "--population", "50")
EQUAL = 1e-12


@pytest.mark.slow
def test_a_design_has_one_figure_whichever_command_says_it(tmp_path: Path) -> None:
    found = run_json(tmp_path, "search", "moe-4k", *NUMBERS, *SET)
    front, result = found["front"], Path(found["result"])
    assert len(front) > 1
    # A search and a batch are the same run: what the search has left counts as done, elsewhere it is done again.
    (tmp_path / "e.yaml").write_text(
        "problem: moe-4k\nset: {npus: 512, fabric.max_dimensions: 3}\nevaluations: 300\npopulation: 50\n"
    )
    assert "0 of 1 run" in run(tmp_path, "run", "e.yaml").stderr
    run(tmp_path, "run", "e.yaml", "--out", "batch")
    assert RunFolder(tmp_path / "batch" / result.relative_to("results")).read_front().rows() == front
    # Results that have moved say it, too.
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    moved = str(Path("elsewhere") / result.relative_to("results"))
    for row in front[-1:]:
        written = run_json(tmp_path, "evaluate", "moe-4k", "--design", row["design"], *SET)
        numbered = run_json(tmp_path, "evaluate", moved, "--id", str(row["id"]))
        assert numbered == written
        for key in ("time_ms", "cost_usd"):
            assert written[key] == pytest.approx(row[key], rel=EQUAL, abs=0)
        assert written["design"] == row["design"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "a design is needed: RESULT#ID, PROBLEM#DESIGN, or --design or --id after one of both"),
        (("--design", "RI(4)", "--id", 0), "--design and --id both name a design"),
        (("--id", 0), "there is no run 'moe-4k'"),
    ],
)
def test_a_design_is_named_in_one_way(words: tuple[object, ...], part: str) -> None:
    with pytest.raises(InputError, match=part):
        call("evaluate", "moe-4k", *words)
