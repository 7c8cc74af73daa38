from __future__ import annotations

import random

import numpy as np
import pytest

from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engines.deap import DeapEngine, borrowed_random
from evo_libra.searching.engines.survival import survivors


def states() -> tuple[object, ...]:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 - what must be left alone
    return random.getstate(), name, keys.tobytes(), *rest  # type: ignore[union-attr]


def test_shared_random_numbers_are_put_back_also_after_an_error() -> None:
    before = states()
    with pytest.raises(ZeroDivisionError), borrowed_random(np.random.default_rng(0)):
        _ = (random.random(), np.random.random(), 1 / 0)  # noqa: S311, NPY002 - what is borrowed
    assert states() == before


def test_what_is_borrowed_depends_on_the_engine_alone() -> None:
    def drawn() -> tuple[float, float]:
        with borrowed_random(np.random.default_rng(3)):
            return random.random(), np.random.random()  # noqa: S311, NPY002 - what is borrowed

    first = drawn()
    random.seed(0)
    assert drawn() == first


def test_survivors_of_nsga2_are_those_of_the_array_engine() -> None:
    generator = np.random.default_rng(8)
    for objectives in (2, 3):
        values = generator.random((objectives, 60))
        violation = np.where(generator.random(60) < 0.3, generator.random(60), 0.0)
        engine = DeapEngine("nsga2")
        state = engine.start(SampleProblem().genome, objectives, 25, seed=0)
        genes = SampleProblem().genome.sample(generator, 60)
        kept = engine.tell(state, genes, values, violation).arrays["objectives"]
        ours, *_ = survivors(values, violation, 25)
        assert sorted(map(tuple, kept.T)) == sorted(map(tuple, values[:, ours].T))


def test_niches_of_nsga3_do_not_depend_on_where_the_origin_is() -> None:
    sample = SampleProblem(3, width=3)
    genes = sample.genome.sample(np.random.default_rng(1), 80)
    evaluation = np.log10(sample.evaluate_genes(genes).objectives)
    found = []
    for shift in (0.0, 7.0):
        engine = DeapEngine("nsga3")
        state = engine.start(sample.genome, 3, 30, seed=0)
        for part in np.array_split(np.arange(80), 3):
            state = engine.tell(state, genes[:, part], evaluation[:, part] + shift, np.zeros(len(part)))
        found.append(state.arrays)
    np.testing.assert_array_equal(found[0]["genes"], found[1]["genes"])
    for name in ("best", "worst", "extreme"):
        np.testing.assert_allclose(found[0][name] + 7.0, found[1][name])
