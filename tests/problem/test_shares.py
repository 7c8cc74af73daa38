"""What process groups get of links: the same of prices as of parts, and LIBRA's where a file asks for them."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.arrays import IntArray, Population
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.spec import manifest_of, run_of, spec_of
from evo_libra.files.integrity import canonical_hash
from evo_libra.optimality.branch_and_bound import branch_and_bound
from evo_libra.problem.file.registry import with_time
from evo_libra.problem.link_limits import BeyondLinks, beyond_links
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.time_model import Placement

NPUS = 4096
EXPERTS = """\
name: moe
npus: 4096
fabric: {{catalog: {}, max_dimensions: 4}}
workloads:
  - name: experts
    generator: {{kind: moe, source: own, hidden: 8192, expert_hidden: 32768, experts: 64, top_k: 2, layers: 2,
                sequence: 1024, batch: 8}}
    parallelism: {{tp: 8, ep: 64}}
    compute_TFLOPS: 400
bandwidth: {}
"""
PRICES = "name: own\nsource: none\ntechnologies:\n" + "".join(
    f"  {name}: {{link_usd_per_GBps: {price}, switch_usd_per_GBps: 1, nic_usd_per_GBps: 1, latency_ns: {latency}}}\n"
    for name, price, latency in (("near", 1, 100), ("far", 2, 700))
)
PARTS = """\
kind: parts
name: own
source: none
parts:
  cable: {kind: link, price_usd: 1, power_W: 0, source: none, year: 2024}
  large: {kind: switch, price_usd: 1, power_W: 0, ports: 8192, source: none, year: 2024}
technologies:
""" + "".join(
    f"  {name}: {{port_GBps: 1, ports: 8192, latency_ns: {latency}, link: cable, switch: large, "
    "blocks: [ring, fully-connected, switch], source: none, year: 2024}\n"
    for name, latency in (("near", 100), ("far", 700))
)
BLOCKS = ("RI", "FC", "SW")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("shares")
    (found / "prices.yaml").write_text(PRICES)
    (found / "parts.yaml").write_text(PARTS)
    (found / "of_prices.yaml").write_text(EXPERTS.format("prices.yaml", "search"))
    (found / "of_parts.yaml").write_text(EXPERTS.format("parts.yaml", "ports"))
    (found / "libra.yaml").write_text(EXPERTS.format("libra", "search"))
    return found


def load(path: Path | str, *assignments: str) -> Problem:
    found = load_problem(str(path), assignments)
    assert isinstance(found, Problem)
    return found


def random_designs(seed: int, count: int) -> list[str]:
    """Return networks of 4,096 NPUs of up to four dimensions, of any blocks, the nearer technology inside."""
    random, found = np.random.default_rng(seed), []
    for _ in range(count):
        depth = int(random.integers(1, 5))
        cuts = np.sort(random.choice(np.arange(1, 12), depth - 1, replace=False))
        bits = np.diff([0, *cuts, 12])
        near = int(random.integers(0, depth + 1))
        parts = [
            f"{random.choice(BLOCKS)}({2 ** int(b)})@{'near' if d < near else 'far'}:{int(random.integers(1, 999))}"
            for d, b in enumerate(bits)
        ]
        found.append("_".join(parts))
    return found


def random_groups(designs: Population, seed: int) -> Placement:
    """Return groups that hold a random part of each dimension, at a random distance of their NPUs."""
    random, bits = np.random.default_rng(seed), np.log2(designs.npus).astype(np.int64)
    extent = random.integers(0, bits + 1)
    return Placement(2**extent, 2 ** random.integers(0, bits - extent + 1))


@pytest.mark.slow
@pytest.mark.parametrize("time", ["libra", pytest.param("{model: astra, chunks: 4}", marks=pytest.mark.slow)])
def test_prices_and_parts_of_one_network_take_the_same_time(folder: Path, time: str) -> None:
    priced, built = (load(folder / f"of_{kind}.yaml", f"time={time}") for kind in ("prices", "parts"))
    texts = random_designs(0, 1000)
    first, second = priced.read(texts), built.read(texts)
    np.testing.assert_allclose(priced.time(first), built.time(second), rtol=1e-12, atol=0)
    for collective in Collective:
        groups = random_groups(first, seed=len(collective.value))
        took = [one.time.seconds(collective, 2.0**30, groups, some) for one, some in ((priced, first), (built, second))]
        np.testing.assert_allclose(took[0], took[1], rtol=1e-12, atol=0)


@pytest.mark.slow
def test_a_ring_of_prices_is_as_slow_for_experts_as_its_links(folder: Path) -> None:
    # A group of experts is every 8th of 512 NPUs in a row: a line, on which 8 groups share each link. Over the link in
    # the middle each of 32 NPUs sends to each of the other 32.
    design, size = "RI(4096)@pod:100", 2.0**20
    physical, stated = load(folder / "libra.yaml"), load(folder / "libra.yaml", "time={shares: libra}")
    group = Placement(np.array([[64], [1], [1], [1]]), np.array([[8], [1], [1], [1]]))
    busiest = 8 * 32 * 32 * (size / 64)
    took = physical.time.seconds(Collective.ALL_TO_ALL, size, group, physical.read(design))
    assert took[0] == pytest.approx(busiest / 50e9, rel=1e-12)
    whole = [problem.time(problem.read(design))[0] for problem in (stated, physical)]
    assert whole[1] > 80 * whole[0]


def links_of_a_ring(npus: int, size: float) -> float:
    """Return the bytes over the busiest link and direction in an all-to-all of a ring, on shortest ways."""
    sent: Counter[tuple[int, int]] = Counter()
    for source, target in product(range(npus), repeat=2):
        forth = (target - source) % npus
        for way, part in (
            ((1, forth < npus / 2), (-1, forth > npus / 2)) if forth != npus / 2 else ((1, 0.5), (-1, 0.5))
        ):
            steps = forth if way == 1 else npus - forth
            for step in range(steps if part else 0):
                sent[(source + way * step) % npus, way] += part * size / npus  # type: ignore[assignment]
    return max(sent.values())


@pytest.mark.parametrize(("npus", "libra"), [(8, 0.4375), (16, 0.234375), (32, 0.12109375)])
def test_an_all_to_all_on_a_ring_takes_what_its_busiest_link_does(folder: Path, npus: int, libra: float) -> None:
    text, size = f"RI({npus})@near:100_SW({NPUS // npus})@far:100", 1e9
    needed = links_of_a_ring(npus, size) / 50e9  # half of the bandwidth each way round
    for shares, ratio in (("physical", 1.0), ("libra", libra)):
        problem = load(folder / "of_prices.yaml", f"time={{shares: {shares}}}")
        took = problem.time.seconds(Collective.ALL_TO_ALL, size, innermost(npus, 1), problem.read(text))
        assert took[0] / needed == pytest.approx(ratio, rel=1e-12)


@pytest.mark.parametrize(("npus", "members", "libra"), [(16, 4, 0.2), (32, 8, 7 / 31)])
@pytest.mark.parametrize("model", ["libra", "astra"])
def test_a_group_in_a_fully_connected_dimension_has_the_links_to_its_members(
    folder: Path, npus: int, members: int, libra: float, model: str
) -> None:
    text, size = f"FC({npus})@near:100_SW({NPUS // npus})@far:100", 2.0**33
    # Every member sends a part of the message to each other one and gets one back, each over a link of its own.
    needed = 2 * (size / members) / (100e9 / (npus - 1))
    for shares, ratio in (("physical", 1.0), ("libra", libra)):
        keys = f"model: {model}, shares: {shares}" + (", endpoint_delay_ns: 0, chunks: 1" if model == "astra" else "")
        problem = load(folder / "of_prices.yaml", f"time={{{keys}}}")
        took = problem.time.seconds(Collective.ALL_REDUCE, size, innermost(members, 2), problem.read(text))
        assert took[0] / needed == pytest.approx(ratio, rel=1e-12 if model == "libra" else 1e-5)


def innermost(members: int, stride: int) -> Placement:
    """Return a group in the innermost of four dimensions."""
    one: IntArray = np.ones((3, 1), dtype=np.int64)
    return Placement(np.concatenate([[[members]], one]), np.concatenate([[[stride]], one]))


@pytest.mark.slow
def test_recommended_designs_of_experts_are_no_ring_of_all_npus(folder: Path) -> None:
    front = search(load(folder / "libra.yaml"), evaluations=3000, population=100, seed=0)
    times = front.frame["time_ms"].to_numpy()
    problem = load(folder / "libra.yaml")
    assert times.min() * 1e-3 < problem.time(problem.read("RI(4096)@chiplet:700"))[0] / 5


SMALL = """\
name: small
npus: 8
fabric: {catalog: prices.yaml, max_dimensions: 2, technologies: [near, far]}
workloads: [{file: w.txt}]
bandwidth: {mode: optimal, min_GBps: 1, max_GBps: 100}
"""
EXCHANGE = "DATA\n1\nl -1 1000 ALLTOALL 4000000 1000 NONE 0 1000 ALLTOALL 4000000 0\n"


def test_no_design_of_prices_beats_the_exact_front(folder: Path) -> None:
    (folder / "w.txt").write_text(EXCHANGE)
    (folder / "small.yaml").write_text(SMALL)
    front = search(load(folder / "small.yaml"), engine="exhaustive", evaluations=50_000, population=400, seed=0)
    searched = load(folder / "small.yaml", "bandwidth={mode: search, min_GBps: 1, max_GBps: 100}")
    random = searched.genome.sample(np.random.default_rng(0), 20_000)
    time, cost = searched.evaluate_genes(random).objectives
    for seconds, usd in zip(front.frame["time_ms"] * 1e-3, front.frame["cost_usd"], strict=True):
        assert not ((time < seconds * (1 - 1e-3)) & (cost < usd * (1 - 1e-3))).any()
    fastest = time[cost <= front.frame["cost_usd"].max()].min()
    assert front.frame["time_ms"].min() * 1e-3 <= fastest * (1 + 1e-9)


def test_no_bound_excludes_a_block_that_costs_as_much_and_carries_more(folder: Path) -> None:
    # Links of a ring and of a fully connected dimension cost the same, and an all-to-all is faster on the second.
    (folder / "w.txt").write_text(EXCHANGE)
    (folder / "small.yaml").write_text(SMALL)
    problem = load(folder / "small.yaml")
    ring, full = (problem.evaluate(f"{code}(8)@near:100").objectives[:, 0] for code in ("RI", "FC"))
    assert ring[1] == full[1]
    assert full[0] < 0.6 * ring[0]
    *_, proof = branch_and_bound(problem, full[1:], np.array([np.inf]))
    assert proof.bound[0] <= full[0] * (1 + 1e-9)


@pytest.mark.parametrize(("keys", "line", "part"), [
    ("{shares: librra}", 9, "time.shares: found 'librra' (text); allowed: physical, libra; did you mean 'libra'?"),
    ("{model: astra, latency_ns: 1, shares: 1}", 9, "time.shares: found 1"),
])  # fmt: skip
def test_unknown_shares_are_refused_with_their_place(folder: Path, keys: str, line: int, part: str) -> None:
    file = folder / "wrong.yaml"
    text = EXPERTS.format("libra", "search").replace("bandwidth:", f"time: {keys}\nbandwidth:")
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_problem(str(file))
    assert str(caught.value).startswith(f"{file}:{line + 1}:")
    assert part in str(caught.value)


@pytest.mark.parametrize("shares", ["physical", "libra"])
def test_a_trace_has_no_shares_to_choose(tmp_path: Path, shares: str) -> None:
    file = tmp_path / "traced.yaml"
    file.write_text(
        "name: x\nnpus: 8\nfabric: {catalog: libra}\nworkloads: [{trace: t.et}]\n"
        f"time:\n  shares: {shares}\n  model: libra\n"
    )
    with pytest.raises(InputError) as caught:
        load_problem(str(file))
    assert f"{file}:6:3: time.shares: found {shares}; workloads[0] is a trace, whose groups" in str(caught.value)


@pytest.mark.slow
def test_shares_are_part_of_what_a_problem_is(folder: Path) -> None:
    hashes = {
        keys: canonical_hash(load(folder / "libra.yaml", f"time={keys}").identity())
        for keys in ("libra", "{shares: physical}", "{shares: libra}", "{model: libra, shares: libra}")
    }
    assert hashes["libra"] == hashes["{shares: physical}"]
    assert hashes["{shares: libra}"] == hashes["{model: libra, shares: libra}"]
    assert hashes["libra"] != hashes["{shares: libra}"]


@pytest.mark.slow
def test_a_run_of_a_version_without_shares_is_read_as_it_was(folder: Path) -> None:
    # Versions that knew no shares had LIBRA's of prices, and kept the file without the key.
    now = run_of(origin_of(str(folder / "libra.yaml"), ["time={shares: libra}"]), evaluations=100)
    manifest = manifest_of(now, load(folder / "libra.yaml", "time={shares: libra}"), (), folder)
    assert "shares" not in manifest["problem"]
    manifest["source"] = {**manifest["source"], "set": [], "data": {**manifest["source"]["data"], "time": "libra"}}
    before = spec_of(manifest)
    assert before.origin.data["time"] == {"model": "libra", "shares": "libra"}
    assert before.hash == now.hash
    physical = run_of(origin_of(str(folder / "libra.yaml"), ["time=libra"]), evaluations=100)
    manifest = manifest_of(physical, load(folder / "libra.yaml"), (), folder)
    assert spec_of(manifest).origin.data["time"] == "libra"


@pytest.mark.slow
def test_another_model_of_time_keeps_the_shares(folder: Path) -> None:
    for shares in ("physical", "libra"):
        problem = load(folder / "of_prices.yaml", f"time={{shares: {shares}}}")
        for model in ("astra", "libra"):
            other = load(folder / "of_prices.yaml", f"time={{shares: {shares}}}", *with_time(problem, model))
            assert bool(other.time.kits) == (shares == "physical")


def exceeding(problem: Problem, design: str) -> BeyondLinks:
    (found,) = beyond_links(problem, [design])
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("model", ["", "model: astra, latency_ns: 100, "])
def test_what_exceeds_its_links_is_named_with_the_time_that_these_take(folder: Path, model: str) -> None:
    design = "RI(4096)@chiplet:700"
    physical, stated = (load(folder / "libra.yaml", f"time={{{model}shares: {one}}}") for one in ("physical", "libra"))
    found = exceeding(stated, design)
    assert found.seconds == pytest.approx(stated.time(stated.read(design))[0], rel=1e-12)
    assert found.physical_seconds == pytest.approx(physical.time(physical.read(design))[0], rel=1e-12)
    first = found.traffic[0]
    assert (first.traffic, first.group, first.dimension, first.network) == ("all-to-all", "ep", 0, "RI(4096)")
    assert f"all-to-all on RI(4096): {first.times_faster:.3g} times faster than its links carry" in str(found)
    added = sum(one.added_ms for one in found.traffic)
    assert added == pytest.approx((found.physical_seconds - found.seconds) * 1e3, rel=1e-6)
    assert beyond_links(physical, [design]) == [None]


def test_an_all_to_all_exceeds_a_ring_by_the_bytes_of_its_busiest_link(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(EXCHANGE)
    (tmp_path / "p.yaml").write_text("name: p\nnpus: 16\nfabric: {catalog: libra}\nworkloads: [{file: w.txt}]\n")
    problem = load(tmp_path / "p.yaml", "time={shares: libra}")
    ring, switch = beyond_links(problem, ["RI(16)@node:100", "SW(16)@node:100"])
    assert switch is None
    assert ring is not None
    # 15 / 16 of the message over the whole bandwidth, instead of 2 B of every B over half of it.
    assert ring.traffic[0].times_faster == pytest.approx(links_of_a_ring(16, 1.0) * 2 / (15 / 16), rel=1e-12)


def test_designs_are_compared_together_as_each_alone(folder: Path) -> None:
    designs = random_designs(1, 20)
    problem = load(folder / "of_prices.yaml", "time={shares: libra}")
    together, alone = beyond_links(problem, designs), [beyond_links(problem, [one])[0] for one in designs]
    assert [one and one.json() for one in together] == [one and one.json() for one in alone]
    assert any(together)


@pytest.mark.slow
def test_shares_of_libra_with_parts_are_no_silent_wish() -> None:
    found = load_problem("moe-4k", ["time={model: libra, shares: libra}"])
    assert isinstance(found, Problem)
    assert [note.name for note in found.notes] == ["shares"]
    assert "no effect with a catalogue of parts" in found.notes[0].sentence
    plain = load_problem("moe-4k")
    assert isinstance(plain, Problem)
    assert plain.notes == ()
