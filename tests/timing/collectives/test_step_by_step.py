"""Times of collectives against a plain simulation of all NPUs, chunks and messages, to the nanosecond."""

from __future__ import annotations

import json
from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest
from astra_simulation import Dimension, Rules, Simulation

from evo_libra.chakra.trace import CollectiveType
from evo_libra.chakra.write import collective_node, compute_node
from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import Implementation, Overheads
from evo_libra.timing.collectives.system import System
from evo_libra.timing.machine import ComputeModel, Machine
from evo_libra.timing.traces.execute import execute
from evo_libra.validation.astra import links_of

NAMES = [collective.value for collective in Collective]
SHARES = 10
EACH = 100


def of_golden(case: dict[str, Any]) -> tuple[Simulation, list[int]]:
    """Return the simulation of a golden case, and the dimensions that take part."""
    given, network, name = case["system"], case["network"], Collective[case["collective"]].value
    columns = (network[key] for key in ("topology", "npus_count", "bandwidth", "latency"))
    rules = Rules(
        given["endpoint-delay"], given["local-mem-bw"], given["preferred-dataset-splits"],
        given["active-chunks-per-dimension"], given["collective-optimization"] == "localBWAware",
        tuple(given[f"{name}-implementation"]), case["queues"],
    )  # fmt: skip
    used = [d for d in range(len(rules.algorithms)) if case["involved"] is None or case["involved"][d]]
    return Simulation([Dimension(*row) for row in zip(*columns, strict=True)], rules), used


def simulated_here(case: dict[str, Any]) -> bool:
    """Tell whether the simulation knows the rules of a golden case, and is quick."""
    plain = case["backend"] == "congestion_unaware" and not case["themis"]
    effort = prod(case["network"]["npus_count"]) * case["system"]["preferred-dataset-splits"]
    return plain and "doubleBinaryTree" not in str(case["system"]) and effort <= 128


@pytest.mark.slow
def test_the_simulation_takes_the_time_of_the_real_program() -> None:
    golden = json.loads((Path(__file__).parents[2] / "golden" / "astra_collectives.json").read_text())
    cases = list(filter(simulated_here, golden))
    for case in cases:
        simulation, used = of_golden(case)
        done = simulation.run(Collective[case["collective"]].value, case["bytes"], used)
        assert max(done.values()) == case["finish_ns"], case["id"]
    assert len(cases) > 200


def random_network(random: Random, shapes: list[tuple[int, ...]]) -> list[Dimension]:
    return [
        Dimension(
            random.choice(["Ring", "FullyConnected", "Switch"]), npus,
            random.choice([12.5, 50.0, random.uniform(0.01, 1), random.uniform(1, 500)]),
            random.choice([0.0, 500.0, 12.5, random.uniform(0, 2000)]),
        )
        for npus in random.choice(shapes)
    ]  # fmt: skip


def algorithm_of(random: Random, collective: str, npus: int) -> str:
    names = ["ring", "direct", f"direct{random.randint(1, npus)}"]
    if npus & (npus - 1) == 0 and collective != "all-to-all":
        names += ["halvingDoubling"] * 2
    return random.choice(names)


def random_rules(random: Random, collective: str, npus: list[int]) -> Rules:
    return Rules(
        random.choice([1, 10, random.randint(1, 99)]), random.choice([50.0, 1600.0, random.uniform(1, 100)]),
        random.randint(1, 6), random.randint(1, 4), random.random() < 0.7,
        tuple(algorithm_of(random, collective, n) for n in npus), random.choice([1, 1, 2, 3, 4]),
    )  # fmt: skip


def system_of(rules: Rules) -> System:
    rows = tuple(map(Implementation.read, rules.algorithms))
    overheads = Overheads(float(rules.endpoint), rules.memory)
    return System(dict.fromkeys(Collective, rows), rules.splits, rules.active, rules.shrinking, overheads, rules.queues)


def network_file(network: list[Dimension]) -> dict[str, list[Any]]:
    return {
        "topology": [dimension.topology for dimension in network],
        "npus_count": [dimension.npus for dimension in network],
        "bandwidth": [dimension.bandwidth for dimension in network],
        "latency": [dimension.latency for dimension in network],
    }


WORLDS = [(2,), (3,), (4,), (5,), (8,), (2, 2), (4, 2), (3, 4), (2, 6), (2, 2, 2), (2, 3, 2), (4, 2, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_collectives_of_dimensions_take_as_long_as_their_messages(share: int) -> None:
    random = Random(share)  # noqa: S311 - no secret
    for _ in range(EACH):
        collective, network = random.choice(NAMES), random_network(random, WORLDS)
        rules = random_rules(random, collective, [dimension.npus for dimension in network])
        size = random.choice([random.randint(rules.splits, 999), random.randint(1000, 2**26)])
        used = sorted(random.sample(range(len(network)), random.randint(1, len(network))))
        done = Simulation(network, rules).run(collective, size, used)
        involved = [d in used for d in range(len(network))]
        links = links_of(network_file(network))
        found = collective_time(Collective(collective), size, links, system_of(rules), involved)
        assert found.tolist() == [max(done.values())] == [min(done.values())], (network, rules, collective, size, used)


def alike(random: Random, dimension: Dimension) -> tuple[int, ...]:
    """Return listed members whose links are the same for each of them."""
    if dimension.topology != "Ring":
        return tuple(random.sample(range(dimension.npus), random.randint(2, dimension.npus - 1)))
    apart = random.choice([n for n in range(2, dimension.npus) if dimension.npus % n == 0])
    first = random.randrange(apart)
    return tuple(range(first, dimension.npus, apart))


def with_list(random: Random, collective: str) -> tuple[list[Dimension], Rules, tuple[int, ...]]:
    """Return a network with listed members: alike ones of a dimension with any algorithm, or any that are a ring."""
    shapes = [(6,), (8,), (12,)] if random.random() < 0.6 else [(4, 2), (3, 4), (2, 2, 3)]
    network = random_network(random, shapes)
    if len(network) == 1:
        members = alike(random, network[0])
        algorithms = (algorithm_of(random, collective, len(members)),)
        if algorithms[0] == "halvingDoubling" and network[0].npus & (network[0].npus - 1):
            algorithms = ("ring",)
    else:
        total = prod(dimension.npus for dimension in network)
        members = tuple(random.sample(range(total), random.randint(2, total - 1)))
        algorithms = ("direct",) * len(network)
    # A system file has no number of queues.
    return network, replace(random_rules(random, collective, [1]), algorithms=algorithms, queues=1), members


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_collectives_of_lists_take_as_long_as_their_messages(share: int) -> None:
    random = Random(1000 + share)  # noqa: S311 - no secret
    for _ in range(EACH):
        collective = random.choice(NAMES)
        network, rules, members = with_list(random, collective)
        size = random.choice([random.randint(rules.splits, 999), random.randint(1000, 2**26)])
        ring = len(network) > 1 or rules.algorithms == ("ring",)
        starts = [random.choice([0, random.randint(0, 9) * 1000]) if ring else 0 for _ in members]
        done = Simulation(network, rules, members).run(collective, size, starts=starts)
        total = prod(dimension.npus for dimension in network)
        traces = [[compute_node(0, "", duration=1)] for _ in range(total)]
        for member, start in zip(members, starts, strict=True):
            wait = [compute_node(0, "", duration=start // 1000)] if start else []
            node = collective_node(1, "", CollectiveType[Collective(collective).name], size, group="1")
            traces[member] = [*wait, replace(node, control=(0,) if start else ())]
        machine = Machine(links_of(network_file(network)), system_of(rules), ComputeModel())
        found = execute(traces, {"1": members}, machine).finish
        assert found[list(members)].tolist() == list(done.values()), (network, rules, collective, size, members, starts)
