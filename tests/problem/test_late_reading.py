"""What a search does not need takes no part of its start."""

from __future__ import annotations

import subprocess
import sys

import pytest
from designs import design_file

from evo_libra.problem.file.training import trained_models
from evo_libra.workload.layers.generators import load_models

ASK = """
import sys
from evo_libra.searching.generations import search
from evo_libra import load_problem
from evo_libra.workload.models import decoder
problem = load_problem(sys.argv[1])
problem.identity()
search(problem, engine="nsga2", evaluations=20, population=10, seed=0)
print(decoder._catalogue.cache_info().currsize, "evo_libra.optimality.certificate" in sys.modules)
"""


def read_and_imported(problem: str) -> str:
    command = [sys.executable, "-c", ASK, problem]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.slow
def test_models_as_a_whole_are_read_where_a_problem_has_training_steps() -> None:
    assert read_and_imported("gpt3-4k") == "0 False"
    assert read_and_imported(design_file("deepseek-v3-2k")).startswith("1 ")


def test_no_table_of_layers_has_the_name_of_a_model_as_a_whole() -> None:
    assert not load_models().keys() & trained_models().keys()
