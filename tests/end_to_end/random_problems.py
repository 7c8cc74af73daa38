"""Problem files of all kinds, drawn by whatever picks: a Hypothesis strategy or a generator of random numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evo_libra.chakra.trace import CollectiveType, Metadata
from evo_libra.chakra.write import collective_node, compute_node, write_trace
from evo_libra.errors import InputError

T = TypeVar("T")
Pick = Callable[[Sequence[Any]], Any]

LAYERS = (
    "HYBRID_TRANSFORMER\n2\n"
    "a -1 1000 ALLREDUCE {0} 2000 ALLREDUCE {0} 3000 ALLREDUCE {1} 0\n"
    "b -1 1500 ALLGATHER {0} 2500 NONE 0 3500 REDUCESCATTER {1} 0\n"
)
TECHNOLOGIES = {
    "parts-2024": {
        "nvlink4": ["ring", "fully-connected", "switch", "hypercube"],
        "ici-v5e": ["torus-2d"],
        "ici-v4": ["torus-3d"],
        "copper-400g": ["ring", "switch"],
        "optics-400g": ["ring", "switch", "fat-tree", "ocs-rail"],
    },
    "wafer": {"wafer-mesh": ["mesh-2d"], "wafer-fred": ["fred-a", "fred-b", "fred-c", "fred-d"]},
}


NPU = {
    "base": "h100-80gb",
    "ports": {"nvlink4": 18, "ici-v5e": 4, "ici-v4": 6},
    "sources": {"ports": "drawn, 2026"},
}
"""An accelerator that every technology can be wired with."""

OTHER = {
    "name": "other",
    "base": "h200-141gb",
    "ports": {"nvlink4": 9, "ici-v4": 6},
    "sources": {"ports": "drawn, 2026"},
}
"""Another one, which is not wired with every technology."""

REFUSALS = (
    "NPUs cannot be built", "does not exist; dimensions count", "no bandwidths within the allowed range",
    "is over scenarios, and no", "only domains that are sold are offered",
    "have tiers of switches to be oversubscribed", "holds the tensor parallel group",
    "no technology of the catalogue allows what is asked",
)  # fmt: skip
"""Why problems that are drawn cannot be built; any other reason is a fault of what is drawn."""


def refused(error: InputError) -> bool:
    return all(any(part in mistake.message for part in REFUSALS) for mistake in error.mistakes)


def some(pick: Pick, options: Sequence[T]) -> list[T]:
    """Return at least one of some options, in their order."""
    found = [option for option in options if pick([True, False])]
    return found or [pick(options)]


def shuffled(pick: Pick, items: Sequence[T]) -> list[T]:
    left, found = list(items), []
    while left:
        found.append(left.pop(pick(range(len(left)))))
    return found


def write_problem(folder: Path, pick: Pick) -> Path:
    """Write a problem and its files to a folder; return its path. Not every one can be built: see `REFUSALS`."""
    kind = pick(["linear", "linear", "own", "parts-2024", "parts-2024", "wafer"])
    time = pick(["libra", "libra", "astra", "themis"])
    npus = pick([16, 32, 48, 64, 128])
    workloads = [_workload(folder, pick, npus, n) for n in range(pick([1, 1, 2]))]
    for workload in workloads:
        if "training" in workload and pick([True, False]):
            workload["training"] |= _offloaded(pick, served=time == "libra")
    solved = time == "libra" and not any("trace" in workload for workload in workloads)
    trained = all("training" in workload or "serving" in workload for workload in workloads)
    served = any("serving" in workload for workload in workloads)
    data = {
        "name": "drawn",
        "npus": npus,
        **_system(pick),
        "fabric": _fabric(folder, pick, kind),
        "workloads": workloads,
        "time": _without_overlap(_time(pick, time, kind)) if trained else _time(pick, time, kind),
        "objectives": _objectives(pick, watts=kind == "parts-2024", trained=trained),
        **({"npu": _npu(pick, workloads)} if trained or served or _trains(workloads) else {}),
        "tco": {"years": 3, "usd_per_kWh": 0.1, "pue": 1.2},
        "constraints": pick([[], [], ["bw[0] >= bw[1]"], ["sum(bw) <= 2000 GB/s"], ["cost <= 9e9 USD"]]),
        "bandwidth": _bandwidth(pick, kind, solved=solved),
    }
    if kind not in TECHNOLOGIES:
        del data["tco"]
    elif pick([True, False]):
        data["faults"] = _faults(pick, npus)
        data["objectives"] += pick([[], ["goodput"], ["useful-share"]])
    if data["bandwidth"] != "optimal" and served:
        data["objectives"] += pick([[], ["ttft"], ["tpot"], ["tpot", "ttft"]])
    if data["bandwidth"] != "optimal" and pick([True, False]):
        data["objectives"] += _over_scenarios(pick, priced=kind == "parts-2024", workloads=workloads)
        data["uncertainty"] = {"scenarios": pick([1, 2, 20]), "seed": pick([0, 7])}
    if trained and all("sequence" in workload.get("training", {"sequence": 0}) for workload in workloads):
        data["memory"] = pick([{}, {"expansion": _expansion(pick)}])
    path = folder / "drawn.yaml"
    path.write_text(json.dumps(data))
    return path


def _expansion(pick: Pick) -> dict[str, Any]:
    """Return memory beside that of the NPUs, of which plans need some or none."""
    sizes = {"capacity_GB": pick([64, [0, 64], [0, 256, 4096]]), "bandwidth_GBps": pick([100, [250, 1000]])}
    return {**sizes, "shared_by": pick([1, 8]), "price_usd": [3, 8], "power_W": 0.3, "source": "test, 2026"}


def _trains(workloads: Sequence[Mapping[str, Any]]) -> bool:
    return any("training" in workload for workload in workloads)


def _faults(pick: Pick, npus: int) -> dict[str, Any]:
    more = {"interval_s": pick([None, 600]), "per_year": pick([None, {"npu": 3, "switch": 0}])}
    spares = pick([0, npus // 8, [0, 1, npus // 4], [npus // 2]])
    known = {"checkpoint_s": pick([0, 20]), "restart_s": pick([0, 300]), "host_npus": pick([1, 8]), "spares": spares}
    return known | {key: value for key, value in more.items() if value is not None}


def _npu(pick: Pick, workloads: Sequence[Mapping[str, Any]]) -> Any:
    """Return one accelerator or several; a recommendation model takes one."""
    decoders = all("sequence" in workload.get("training", {"sequence": 0}) for workload in workloads)
    return pick([NPU, [NPU, OTHER], [OTHER, NPU]]) if decoders else NPU


def _fabric(folder: Path, pick: Pick, kind: str) -> dict[str, Any]:
    depth = pick([1, 2, 3, 4])
    if kind in TECHNOLOGIES:
        return {"catalog": kind, "max_dimensions": depth, **_parts(pick, TECHNOLOGIES[kind])}
    if kind == "linear":
        return {"catalog": pick(["libra", "libra-cosearch"]), "max_dimensions": depth}
    technologies = {name: _technology(pick) for name in shuffled(pick, ["near", "mid", "far"])}
    own = {"name": "own", "source": "drawn", "technologies": technologies}
    (folder / "own.yaml").write_text(json.dumps(own))
    return {"catalog": "own.yaml", "max_dimensions": depth, "one_dimension_per_technology": pick([True, False])}


def _parts(pick: Pick, known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    technologies = shuffled(pick, some(pick, list(known)))
    blocks = dict.fromkeys(block for name in technologies for block in known[name])
    domains = pick(["products", "any", {technologies[0]: [4, 8, 16]}])
    ratios = pick([[], [], [2], [4, [1, 2], 8]])
    found = {"technologies": technologies, "blocks": some(pick, list(blocks)), "domains": domains}
    return found | ({"oversubscription": ratios} if ratios else {})


def _technology(pick: Pick) -> dict[str, Any]:
    prices = {f"{part}_usd_per_GBps": pick([0.5, 2, 7.8, 31.6]) for part in ("link", "switch")}
    prices["nic_usd_per_GBps"] = pick([0, 0, 2, 31.6])
    limits = {"largest_dimension": pick([None, 8, 64]), "bandwidth_cap_GBps": pick([None, 33.3, 700])}
    return {**prices, **{key: value for key, value in limits.items() if value is not None}}


def _workload(folder: Path, pick: Pick, npus: int, n: int) -> dict[str, Any]:
    kind = pick(
        ["gpt-3-libra", "moe", "dlrm-libra", "text", "resnet-50-libra", "trace", "trained", "trained", "served"]
    )
    weight = {"weight": pick([1, 0.3, {"low": 0.2, "value": 0.5, "high": 3}])}
    tp = pick([degree for degree in (1, 2, 4, 8, 16) if npus % degree == 0])
    whole = {"trace": lambda: _trace(folder, pick, npus, n), "trained": lambda: _trained(pick, npus),
             "served": lambda: _served(pick)}  # fmt: skip
    if kind in whole:
        return whole[kind]() | weight
    if kind == "dlrm-libra":
        return {"model": kind, "compute_TFLOPS": 234, **weight}
    if kind == "resnet-50-libra":
        return {"model": kind, "compute_scale": pick([1, 0.37]), **weight}
    if kind == "moe":
        ep = pick([degree for degree in (1, 2, 4, 8) if npus % (degree * tp) == 0])
        generator = {
            "kind": "moe", "hidden": 512, "expert_hidden": 1024, "experts": 16, "top_k": 2, "layers": 2,
            "sequence": 128, "batch": 4,
        }  # fmt: skip
        groups = shuffled(pick, [("tp", tp), ("ep", ep), ("dp", npus // tp // ep)])
        return {"generator": generator, "parallelism": _groups(pick, groups), "compute_TFLOPS": 234, **weight}
    groups = shuffled(pick, [("tp", tp), ("dp", npus // tp)])
    if kind == "gpt-3-libra":
        return {"model": kind, "parallelism": _groups(pick, groups), "compute_TFLOPS": 234, **weight}
    (folder / f"layers{n}.txt").write_text(LAYERS.format(pick([4096, 1_000_000]), pick([8192, 3_000_000])))
    return {"file": f"layers{n}.txt", "parallelism": _groups(pick, groups), **weight}


def _trained(pick: Pick, npus: int) -> dict[str, Any]:
    routed = pick([True, False])
    plan = {
        "tp": pick([1, 2, 4, [1, 2, 4]]), "cp": pick([1, 2]), "pp": pick([1, 2, "any"]),
        "ep": pick([1, 2, [1, 2]]) if routed else 1,
    }  # fmt: skip
    training = {
        "sequence": 2048,
        "global_batch": 4 * npus,
        "micro_batch": pick([1, 2, [1, 2]]),
        "zero": pick([0, 1, 3, [1, 3]]),
        "recompute": pick(["none", "selective", "full"]),
        "overlap": {"tp": pick([True, False]), "dp": pick([True, False])},
        "order": pick([["tp", "cp", "dp", "pp"], ["tp", "pp", "cp", "dp"]]),
    }  # fmt: skip
    training |= pick([{}, {"tp_domain": "any"}])
    plan["vp"] = pick([1, 2, "any"]) if plan["pp"] == 2 else 1
    return {"name": "decoder", "generator": _decoder(routed=routed), "training": training, "parallelism": plan}


def _machine(pick: Pick) -> dict[str, Any]:
    prices = {"price_usd": pick([9000, [5000, 9000]]), "ssd_price_usd": pick([300, [200, 310]])}
    rates = {"memory_GBps": 200, "GFLOPS": 800, "ssds": 4, "ssd_GBps": pick([0.1, 2])}
    return {**prices, **rates, "power_W": 700, "source": "drawn, 2026"}


def _system(pick: Pick) -> dict[str, Any]:
    """Return the hosts around the NPUs, which optimizers may use."""
    host = {**_machine(pick), "npus": pick([1, 8]), "link_GBps": pick([1, 20]), "memory_GB": 64}
    storage = {"capacity_TB": 50, "price_usd": 100, "power_W": 1, "source": "drawn, 2026"}
    return {"system": {"host": host, **pick([{}, {"storage": storage}])}}


def _offloaded(pick: Pick, *, served: bool) -> dict[str, Any]:
    """Return keys of training that leave the place of the optimizer open; servers are of LIBRA's time."""
    more = {"server": {"host": _machine(pick), "count": pick([1, 2]), "link_GBps": 12.5}} if served else {}
    places = ["npu", *some(pick, ["host", "nvme", *(["network"] if served else [])])]
    return {
        "zero": [1, 3], "micro_batch": "any", "recompute": pick(["none", "full"]),
        "optimizer": {"placement": places, "checkpoints": pick(["npu", "host"]), **more},
    }  # fmt: skip


def _decoder(*, routed: bool) -> dict[str, Any]:
    generator = {
        "kind": "decoder", "layers": 4, "hidden": 1024, "heads": 8, "kv_heads": 4, "feed_forward": 2816, "gated": True,
        "vocabulary": 32000,
    }  # fmt: skip
    return {**generator, **({"experts": {"count": 8, "per_token": 2, "feed_forward": 1408}} if routed else {})}


def _served(pick: Pick) -> dict[str, Any]:
    routed = pick([True, False])
    serving = {
        "input": pick([100, 2000]),
        "output": pick([2, 300]),
        "concurrency": pick([1, 8, [1, 4, 32]]),
        "weights": pick(["bf16", "int4", ["bf16", "fp8"]]),
        "kv_cache": pick(["bf16", ["bf16", "fp8", "int8"]]),
        "prefill": pick([0, 0.25, [0, 0.25, 0.5]]),
    }
    plan = {"tp": pick([1, 2, [1, 2, 4], "any"]), "pp": pick([1, [1, 2], "any"])}
    if routed:
        plan["ep"] = pick([1, 2, [1, 2]])
    return {"name": "served", "generator": _decoder(routed=routed), "serving": serving, "parallelism": plan}


def _groups(pick: Pick, groups: Sequence[tuple[str, int]]) -> Any:
    return dict(groups) if pick([True, False]) else [list(group) for group in groups]


def _trace(folder: Path, pick: Pick, npus: int, n: int) -> dict[str, Any]:
    kinds = [CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.ALL_TO_ALL]
    nodes = [
        compute_node(1, "work", operations=10**9, size=10**6),
        collective_node(2, "all", pick(kinds), pick([65_536, 4_000_000]), control=[1]),
        collective_node(3, "again", CollectiveType.REDUCE_SCATTER, 131_072),
    ]
    groups = {}
    if pick([True, False]):
        width = pick([2, 4, 8])
        members = {str(1 + g): list(range(g * width, (g + 1) * width)) for g in range(npus // width)}
        (folder / f"groups{n}.json").write_text(json.dumps(members))
        for npu in range(npus):
            mine = collective_node(4, "part", CollectiveType.ALL_REDUCE, 1_000_000, group=str(1 + npu // width))
            write_trace(folder / f"trace{n}.{npu}.et", Metadata(), [*nodes, mine])
        groups = {"groups": f"groups{n}.json"}
    else:
        write_trace(folder / f"trace{n}", Metadata(), nodes)
    return {"trace": f"trace{n}", "compute_TFLOPS": 234, "memory_GBps": 1000, **groups}


def _without_overlap(time: Any) -> Any:
    """Return a time without the overlap of tables of layers, which training steps refuse."""
    return time if isinstance(time, str) else {key: value for key, value in time.items() if key != "overlap"}


def _time(pick: Pick, model: str, kind: str) -> Any:
    if model == "libra":
        weights = pick(["absolute", "normalised"])
        return pick(["libra", {"model": "libra", "overlap": "tp-dp"}, {"model": "libra", "weights": weights}])
    schedulers = ["baseline", "round-robin", "offline-greedy", "offline-greedy-flex", "themis-paper", "ideal"]
    if kind == "wafer":
        schedulers = schedulers[:-2]  # those of Themis' paper are not of trees
    more = {
        "scheduler": pick([None, *schedulers, ["baseline", "offline-greedy", "round-robin"]]),
        "chunks": pick([1, 3, 8, [1, 2, 4]]),
        "algorithms": pick([None, "natural", "search"]),
        "policy": pick([None, "first-come", "smallest-first"]),
        "endpoint_delay_ns": pick([None, 0, 7]),
        "local_memory_GBps": pick([None, 1000]),
        "active_chunks": pick([None, 2]),
        "collective_optimization": pick([None, "baseline"]),
        "overlap": pick(["none", "tp-dp"]),
        "latency_ns": pick([300, 512.5]),
        "ocs_setting_us": pick([None, 10]),
    }
    return {"model": model, **{key: value for key, value in more.items() if value is not None}}


def _objectives(pick: Pick, *, watts: bool, trained: bool) -> list[str]:
    more = ["power", "energy", "tco", "bisection"] if watts else ["time-cost", "bisection"]
    more += (
        ["tokens-per-s", "memory", "system-cost", *(["energy-per-token", "usd-per-Mtoken"] if watts else [])]
        if trained
        else []
    )
    return ["time", "cost", *pick([[], [], [], [pick(more)], more[:2]])]


def _over_scenarios(pick: Pick, *, priced: bool, workloads: Sequence[Mapping[str, Any]]) -> list[str]:
    weighted = any(isinstance(workload["weight"], dict) for workload in workloads)
    figures = ["cost"] * priced + ["time"] * weighted
    return [f"{figure}.{pick(['mean', 'p50', 'p95', 'worst'])}" for figure in figures]


def _bandwidth(pick: Pick, kind: str, *, solved: bool) -> Any:
    if kind in TECHNOLOGIES:
        return pick(["ports", "optimal"] if solved else ["ports"])
    return pick([{"mode": "search", "max_GBps": 777.7}, "optimal" if solved else "search"])
