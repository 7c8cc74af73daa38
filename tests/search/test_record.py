"""Every design evaluated, on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.search import record as record_module
from evo_libra.search.engine import load_engine
from evo_libra.search.memetic import usual
from evo_libra.search.record import Record, recorded, recorded_genes
from evo_libra.search.run import Options, Snapshot, generations


def test_every_design_is_kept_in_order_across_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_module, "PART", 700)
    problem = load_problem("gpt3-4k")
    numbers = {"population": 100, "seed": 1, "evaluations": 7000}

    def run(folder: Path, stop: int, resume: Snapshot | None = None) -> Snapshot:
        record = Record(folder, problem, resume.evaluations if resume else 0)
        options = Options(improve=usual(problem, "nsga2"), observe=record)
        last = resume
        for last in generations(problem, load_engine("nsga2", problem), **numbers, resume=resume, options=options):
            if last.evaluations == stop:
                record.flush()
        record.flush()
        assert last is not None
        return last

    whole = run(tmp_path / "whole", 0)
    frame = recorded(tmp_path / "whole").collect()
    assert frame["evaluation"].to_list() == list(range(7000))
    worth = problem.evaluate_genes(recorded_genes(frame))
    np.testing.assert_allclose(frame["time_ms"].to_numpy() * 1e-3, worth.objectives[0], rtol=1e-12)
    np.testing.assert_array_equal(frame["violation"].to_numpy(), worth.violation)
    assert frame["time_ms"].min() == whole.archive.objectives[0].min() * 1e3
    files = sorted((tmp_path / "whole").iterdir())
    assert len(files) > 8
    assert all(file.suffix == ".parquet" for file in files)

    # Killed after it wrote more than its last checkpoint knows.
    snapshots = list(
        generations(problem, load_engine("nsga2", problem), **numbers, options=Options(improve=usual(problem, "nsga2")))
    )
    halfway = snapshots[33]
    run(tmp_path / "cut", halfway.evaluations)
    run(tmp_path / "cut", 0, halfway)
    assert recorded(tmp_path / "cut").collect().equals(frame)


def test_record_that_lacks_designs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 0 evaluated designs, but the search that goes on has evaluated 500"):
        Record(tmp_path / "record", load_problem("gpt3-4k"), 500)
