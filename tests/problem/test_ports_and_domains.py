"""Designs that are accepted keep the ports of their accelerator and the domains that are sold, by the files alone."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
import pytest
from designs import design_file, design_names
from effort import costly
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.accelerators import load_accelerator_specs
from evo_libra.network.catalog.parts import load_parts_spec
from evo_libra.network.fabric import fabrics_of, parse_fabric
from evo_libra.problem.file.registry import problem_names
from evo_libra.problem.pricing.catalog import KitTechnology
from evo_libra.problem.problem import Problem

KITS = {**load_parts_spec("luwu-2024").technologies, **load_parts_spec("products-2025").technologies}
PORTS = {name: spec.ports for name, spec in load_accelerator_specs().items()}
"""Ports of each accelerator, by link technology."""

OF_SOME = {port for ports in PORTS.values() for port in ports}
"""What only some accelerators have: NVLink, ICI, Infinity Fabric."""

WIRED = sorted(name for name, ports in PORTS.items() if ports.keys() & KITS.keys())
FAR = ("copper-400g", "optics-100g", "optics-400g", "infiniband-ndr", "roce-400g", "spectrum-x")
GIGA = 1e9


def broken(design: str, npu: str | None) -> list[str]:
    """Return what of the files' ports and domains a design breaks; the accelerator is its own if it names one."""
    fabric = parse_fabric(design)
    has = PORTS.get(fabric.npu or str(npu), {})  # a problem's own accelerator has no ports of a product
    inside, used, times = 1, Counter[str](), Counter[str]()
    found = []
    for one in fabric.dimensions:
        # An oversubscribed fat tree is of the technologies that build one of 1:1.
        # A transport of a technology, such as roce-400g.dcqcn, has its ports.
        name, block = str(one.technology), re.sub(r"(-[0-9]+)+$", "", BLOCKS[one.block].name)
        name = name if name in KITS else name.rpartition(".")[0]
        kit, inside = KITS[name], inside * one.npus
        used[name] += round((one.bandwidth or 0.0) / (kit.port_GBps * GIGA))
        times[name] += 1
        if name in OF_SOME and name not in has:
            found.append(f"no ports of {name}")
        if kit.domains is not None and (times[name] > 1 or inside not in kit.domains.get(block, ())):
            found.append(f"a domain of {inside} by a {block} of {name} is not sold")
        if block not in kit.blocks or inside > (kit.domain_size or inside):
            found.append(f"no {block} of {inside} by {name}")
    return found + [f"{n} ports of {name}" for name, n in used.items() if n > min(KITS[name].ports, has.get(name, n))]


def problem_of(npus: int, accelerators: list[str], technologies: list[str], depth: int = 3) -> Problem:
    own = sorted({name for npu in accelerators for name in PORTS[npu] if name in KITS and not name.startswith("pcie")})
    fabric = {"catalog": "products-2025", "technologies": [*own, *technologies], "max_dimensions": depth}
    workload = {"model": "gpt-3-libra", "parallelism": {"tp": 4}, "compute_TFLOPS": 400}
    assignments = [f"npus={npus}", f"npu={accelerators}", f"fabric={fabric}", f"workloads={[workload]}"]
    found = load_problem("gpt3-4k", [*assignments, "bandwidth=ports"])
    assert isinstance(found, Problem)
    return found


@cache
def one_accelerator(npu: str) -> Problem:
    return problem_of(576 if npu == "gb200" else 512, [npu], ["copper-400g", "optics-400g"])


ACCELERATORS = st.lists(st.sampled_from(WIRED), min_size=1, max_size=2, unique=True)
TECHNOLOGIES = st.lists(st.sampled_from(FAR[1:]), min_size=1, max_size=2, unique=True)
NPUS = st.sampled_from([64, 256, 576, 1024])


@pytest.mark.slow
@given(NPUS, ACCELERATORS, TECHNOLOGIES, st.integers(0, 2**32 - 1))
@costly(12)
def test_what_search_finds_keeps_ports_and_domains(
    npus: int, accelerators: list[str], technologies: list[str], seed: int
) -> None:
    problem = problem_of(npus, accelerators, technologies)
    for engine in ("nsga2", "exhaustive"):
        front = search(problem, engine=engine, evaluations=300, population=50, seed=seed % 1000)
        for design in front.frame["design"].to_list():
            assert broken(design, accelerators[0]) == []
    designs = problem.decode(problem.genome.sample(np.random.default_rng(seed), 60))
    accepted = problem.evaluate(designs).violation == 0
    assert accepted.any()
    texts, owners = fabrics_of(designs, problem.catalog.names), problem.sources.npu.named(designs.technology)
    for n in np.flatnonzero(accepted).tolist():
        assert broken(str(texts[n]), owners[n]) == []


BLOCK = {"ring": "RI", "fully-connected": "FC", "switch": "SW", "fat-tree": "CL", "hypercube": "HC",
         "torus-2d": "TO", "torus-3d": "TC", "mesh-2d": "ME", "ocs-rail": "OC"}  # fmt: skip


@pytest.mark.slow
@given(st.data(), st.sampled_from(["h100-80gb", "tpu-v4", "mi300x", "gb200"]))
@settings(max_examples=40, deadline=None)
def test_what_evaluate_accepts_keeps_ports_and_domains(data: st.DataObject, npu: str) -> None:
    """Designs are drawn as text, with any technology, any size and any number of ports."""
    problem = one_accelerator(npu)
    names = [*dict.fromkeys(technology.name for technology in problem.catalog.technologies), "nvlink3", "ici-v5e"]
    dimensions, left = [], problem.npus
    while left > 1 and len(dimensions) < 3:
        size = data.draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0]))
        size, left = (left, 1) if len(dimensions) == 2 else (size, left // size)
        name = data.draw(st.sampled_from(names))
        kit = KITS[name]
        block = data.draw(st.sampled_from(kit.blocks))
        ports = data.draw(st.integers(1, kit.ports + 2))
        dimensions.append(f"{BLOCK[block]}({size})@{name}:{ports * kit.port_GBps:g}")
    design = "_".join(dimensions)
    try:
        accepted = problem.evaluate(design).violation[0] == 0
    except InputError:
        return
    assert not (accepted and broken(design, npu)), (design, broken(design, npu))


def shipped() -> list[str]:
    """Return the problems of the package and the studies that are built of parts that are sold.

    Orders have checks of their own, and the links of a wafer are not sold.
    """
    found = [load_problem(name) for name in [*problem_names(), *map(design_file, design_names())]]
    return [
        one.name
        for one in found
        if isinstance(one, Problem)
        and one.book is None
        and not one.name.startswith("wafer-")
        and one.sources.npu.names
        and any(isinstance(technology, KitTechnology) for technology in one.catalog.technologies)
    ]


SHIPPED = (
    "deepseek-v3-2k", "dense-1k", "dense-32k", "dense-4k", "dlrm-1k-parts", "gpt3-175b-1536",
    "llama2-70b-xeon", "llama3-405b-16k", "llama3-70b-serving", "megatron-1t-3072", "mixed-models-4k",
    "mixtral-8x7b-256", "moe-4k", "opt-175b-offload", "roce-128", "transformer-1t-memory",
)  # fmt: skip


@pytest.mark.slow
def test_no_problem_of_parts_is_left_out() -> None:
    assert sorted(shipped()) == sorted(SHIPPED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in ("mixed-models-4k", "deepseek-v3-2k") else name
             for name in SHIPPED],
)  # fmt: skip
def test_no_design_of_a_shipped_front_breaks_ports_or_domains(name: str) -> None:
    problem = load_problem(design_file(name))
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=1000, population=100, seed=0)
    assert len(front) > 1
    for design in front.frame["design"].to_list():
        assert broken(design, problem.sources.npu.names[0]) == []


def test_the_check_itself_finds_what_is_broken() -> None:
    assert broken("SW(8)@nvlink4:450_SW(128)@optics-400g:50", "h100-80gb") == []
    assert broken("SW(8)@nvlink4:475_SW(128)@optics-400g:50", "h100-80gb") == ["19 ports of nvlink4"]
    assert broken("RI(8)@nvlink4:450_SW(128)@optics-400g:50", "h100-80gb")
    assert broken("SW(16)@nvlink4:450_SW(64)@optics-400g:50", "h100-80gb")
    assert broken("TC(64)@ici-v4:270_SW(16)@optics-400g:50", "h100-80gb") == ["no ports of ici-v4"]
    assert broken("SW(8)@nvlink4:450_SW(128)@optics-400g:50 npu=tpu-v4", None) == ["no ports of nvlink4"]
    assert broken("RI(8)@optics-400g:50_SW(128)@optics-400g:100", "h100-80gb") == ["3 ports of optics-400g"]
