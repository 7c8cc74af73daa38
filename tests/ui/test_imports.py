from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEARCH = """
import sys
from evo_libra.ui.cli import main
sys.argv = ["evo-libra", "search", "gpt3-4k", "--evaluations", "1000", "--json"]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
SLOW = (
    "rich", "matplotlib", "scipy", "distributed", "pymoo", "deap", "clarabel", "textual",
    "evo_libra.astra_sim", "evo_libra.chakra", "evo_libra.exchange", "evo_libra.network.catalog.accelerators",
    "evo_libra.network.catalog.hosts", "evo_libra.problem.file.serving", "evo_libra.problem.file.system",
    "evo_libra.problem.file.training", "evo_libra.problem.file.training_spec", "evo_libra.problem.faults",
    "evo_libra.problem.scenarios", "evo_libra.problem.system", "evo_libra.problem.time_models.astra",
    "evo_libra.timing.collectives", "evo_libra.timing.fidelity", "evo_libra.timing.trace_time",
    "evo_libra.timing.traces", "evo_libra.validation", "evo_libra.plugins.repurpose", "evo_libra.workload.serving",
    "evo_libra.workload.models", "evo_libra.workload.plans", "evo_libra.workload.training",
)  # fmt: skip
"""What a search of tables of layers under LIBRA's time, whose answer is JSON, takes longer to import than to do."""


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}])
def test_a_search_imports_what_its_problem_has(tmp_path: Path, environment: dict[str, str]) -> None:
    given = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    done = subprocess.run(
        [sys.executable, "-c", SEARCH], capture_output=True, text=True, check=True, cwd=tmp_path,
        env=given | environment,
    )  # fmt: skip
    slow = [name for name in SLOW if name in done.stderr.split("\n")[-2].split()]
    assert slow == (["rich"] if environment else [])


EMPTY_SCREEN = """
import asyncio
import sys
from pathlib import Path
from evo_libra.ui.terminal.app import TerminalUI

print(*sys.modules)


async def look():
    app = TerminalUI(Path("results"))
    async with app.run_test(size=(160, 45)) as pilot:
        for _ in range(5000):
            await pilot.pause(0.02)
            if any("no runs yet" in line.text for line in app.screen._compositor.render_strips()):
                break
        else:
            raise AssertionError("it never says that there are no runs")


asyncio.run(look())
print(*sys.modules)
"""
NOT_ON_AN_EMPTY_SCREEN = ("numpy", "polars", "matplotlib", "pydantic", "ruamel", "textual.widgets._text_area")


@pytest.mark.slow
def test_the_terminal_ui_imports_no_arrays_until_there_is_something_to_plot(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EMPTY_SCREEN], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    imported, after = (set(line.split()) for line in done.stdout.splitlines())
    assert [name for name in NOT_ON_AN_EMPTY_SCREEN if name in imported] == []
    assert [name for name in NOT_ON_AN_EMPTY_SCREEN if name in after] == []
