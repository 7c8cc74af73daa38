"""Domains that are sold: which sizes and blocks a technology of parts is offered in, and what asks for others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.parts import load_parts
from evo_libra.problem.designs import violations
from evo_libra.problem.problem import Problem

SOLD = {
    kit.technology: {
        (BLOCK_NAMES[other.block], size)
        for other in load_parts("parts-2024").kits
        if other.technology == kit.technology
        for size in other.domains or ()
    }
    for kit in load_parts("parts-2024").kits
    if kit.domains is not None
}
"""Block and size of the domains of each technology that is sold in some."""

PLANNED = ("llama3-405b-16k", "deepseek-v3-2k", "mixtral-8x7b-256", "megatron-1t-3072", "mixed-models-4k")
FAR = ("copper-400g", "optics-400g")


def problem_of(npus: int, technologies: Sequence[str], depth: int = 3, **more: Any) -> Problem:
    fabric = {"catalog": "parts-2024", "technologies": list(technologies), "max_dimensions": depth, **more}
    workload = {"model": "gpt-3-libra", "parallelism": {"tp": 4}, "compute_TFLOPS": 400}
    found = load_problem("gpt3-4k", [f"npus={npus}", f"fabric={fabric}", f"workloads={[workload]}", "bandwidth=ports"])
    assert isinstance(found, Problem)
    return found


def networks(problem: Problem) -> set[tuple[tuple[str, str, int], ...]]:
    """Return the technology, block and NPUs of each dimension of every structure."""
    table = problem.structures.table
    assert table is not None
    technologies = problem.catalog.technologies
    return {
        tuple(
            (technologies[t].name, technologies[t].blocks[0], n) for n, t in zip(npus, technology, strict=True) if n > 1
        )
        for npus, technology in zip(table.npus.T.tolist(), table.technology.T.tolist(), strict=True)
    }


def is_sold(network: tuple[tuple[str, str, int], ...]) -> bool:
    """Return whether each domain is a product: one dimension, whose NPUs with those inside are a size of its block."""
    inside = 1
    for name, group in groupby(network, key=lambda dimension: dimension[0]):
        dimensions = list(group)
        for _, block, npus in dimensions:
            inside *= npus
            if name in SOLD and (len(dimensions) > 1 or (block, inside) not in SOLD[name]):
                return False
    return True


@pytest.mark.slow
@given(
    st.sampled_from([72, 144, 256, 512, 576, 1024, 1536]),
    st.lists(st.sampled_from([*SOLD, *FAR]), min_size=1, max_size=3, unique=True),
    st.integers(1, 3),
)
@costly(40)
def test_networks_are_those_of_any_domain_that_are_sold(npus: int, technologies: list[str], depth: int) -> None:
    names = (*technologies, *(name for name in FAR if name not in technologies))
    every, sold = (problem_of(npus, names, depth, domains=domains) for domains in ("any", "products"))
    assert networks(sold) == {network for network in networks(every) if is_sold(network)}
    assert sold.counted.total == len(sold.counted.listed())
    assert problem_of(npus, names, depth).identity() == sold.identity()


@pytest.mark.parametrize(
    ("npus", "domains", "sizes"),
    [(512, {"nvlink4": [8, 16, 256]}, {8, 16, 256}), (512, {"nvlink4": [12]}, set()), (512, "products", {8})],
)
def test_a_file_asks_for_other_sizes(npus: int, domains: Any, sizes: set[int]) -> None:
    found = networks(problem_of(npus, ("nvlink4", "optics-400g"), domains=domains))
    assert {network[0][2] for network in found if network[0][0] == "nvlink4"} == sizes
    assert all(sum(name == "nvlink4" for name, _, _ in network) <= 1 for network in found)


def test_a_design_of_another_domain_breaks_a_limit() -> None:
    problem = problem_of(512, ("nvlink5", "optics-400g"), domains={"nvlink5": [8, 64]})
    cases = {
        "SW(8)@nvlink5:900_SW(64)@optics-400g:50": None,
        "SW(64)@nvlink5:900_SW(8)@optics-400g:50": None,
        "SW(16)@nvlink5:900_SW(32)@optics-400g:50": "dimension 0 has 16 NPUs; a domain of nvlink5 has 8 or 64 NPUs",
        "SW(8)@nvlink5:450_SW(8)@nvlink5:450_SW(8)@optics-400g:50": "dimension 1 is a second one of nvlink5",
    }
    for design, said in cases.items():
        sentences = violations(problem, problem.read(design))
        assert (problem.evaluate(design).violation[0] > 0) == (said is not None) == bool(sentences)
        assert said is None or sentences[0].startswith(said)


def test_what_is_inside_counts() -> None:
    problem = problem_of(512, ("ucie", "nvlink5", "optics-400g"))
    found = networks(problem)
    assert (("ucie", "fully-connected", 4), ("nvlink5", "switch", 2), ("optics-400g", "switch", 64)) in found
    assert all(is_sold(network) for network in found)


@pytest.mark.parametrize(
    ("fabric", "message"),
    [
        ({"domains": {"nvlink": [8]}}, "fabric.domains.nvlink: unknown technology 'nvlink'; allowed: nvlink4"),
        ({"domains": {"nvlink4": [8, 512]}}, "domains.nvlink4[1]: found 512; a domain of nvlink4 has at most 256"),
        ({"domains": {"nvlink4": []}}, "fabric.domains"),
        ({"domains": "all"}, "fabric.domains"),
        ({"blocks": ["hypercube", "switch"]}, "can build hypercube; only domains that are sold are offered"),
        ({"blocks": ["hypercube"]}, "no technology of the catalogue has one of these blocks; only domains that are"),
        ({"technologies": ["nvlink4"]}, "within the largest sizes (nvlink4 8 in a domain)"),
        ({"catalog": "libra", "technologies": ["pod"], "domains": {"pod": [8]}}, "of prices has no domains"),
    ],
)  # fmt: skip
def test_mistakes_say_what_is_allowed(fabric: dict[str, Any], message: str) -> None:
    given_ = {"technologies": ["nvlink4", "optics-400g"], **fabric}
    with pytest.raises(InputError) as error:
        problem_of(512, **given_)
    assert any(message in str(mistake) for mistake in error.value.mistakes), error.value


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PLANNED, "gpt3-175b-1536"])
def test_designs_of_the_problems_that_come_with_the_package_are_sold(name: str) -> None:
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    assert all(is_sold(network) for network in networks(problem))
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 100))
    assert (problem.unbuildable(designs) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense-1k", "moe-4k"])
def test_tables_of_layers_stay_inside_where_the_file_asks(name: str) -> None:
    far = {"dense-1k": "RI(1024)@optics-400g:100", "moe-4k": "SW(64)@copper-400g:100_SW(64)@optics-400g:100"}[name]
    inside, anywhere = (load_problem(name, [f"workloads[0].tp_domain={one}"]) for one in ("scale-up", "any"))
    shipped = load_problem(name)
    assert isinstance(shipped, Problem)
    assert isinstance(inside, Problem)
    assert isinstance(anywhere, Problem)
    assert [len(one.structures) for one in (shipped, inside)] == [len(inside.structures)] * 2
    assert len(inside.structures) < len(anywhere.structures)
    with pytest.raises(InputError, match="no scale-up domain of the design"):
        inside.evaluate([far])
    assert not anywhere.evaluate([far]).violation.any()
    first = {structure[0] for structure in networks(inside)}
    assert all(technology == "nvlink4" and npus % 8 == 0 for technology, _, npus in first), first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("resnet50-4k", "workloads[0].tp_domain=scale-up", "this workload has no tensor parallel group"),
        ("deepseek-v3-2k", "workloads[0].tp_domain=any", "that of a training step is `training.tp_domain`"),
    ],
)
def test_the_domain_of_tensor_groups_belongs_to_tables_with_such_groups(name: str, change: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        load_problem(name, [change])
    assert "workloads[0].tp_domain" in str(error.value)
