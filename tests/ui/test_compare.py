"""How fronts are shown beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.experiment.results.comparison import compare
from evo_libra.ui.commands.compare import _Problem, _show


def test_what_is_not_drawn_is_said_and_no_figure_is_cut_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    values = {f"group {n}": [np.array([[1.0 + n, 2.0], [2.0, 1.0 + n]])] for n in range(12)}
    problem = _Problem("some", {}, ("time_ms", "cost_usd"), {}, values, {}, dict.fromkeys(values, ()), "", {})
    _show(compare(problem.objectives, values), problem)
    shown = capsys.readouterr().out
    assert shown.count("(not drawn)") == 4
    assert "L  group 11  (not drawn)" in shown
    assert "A plot has room for 8" in shown
    assert "\u2026" not in shown
