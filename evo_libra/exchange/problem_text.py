"""Problem files made of what other programs' files say."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ruamel.yaml import YAML

from evo_libra.errors import InputError, printable
from evo_libra.exchange.formats import PARTS, Draft
from evo_libra.exchange.gpu_node import GpuNode, joined, npu_named
from evo_libra.exchange.node_fabric import CATALOG, OPTICS, NodeFabric, fabric_of, npu_of
from evo_libra.exchange.summary import summary_of
from evo_libra.exchange.systems_sold import Sold, sold_with
from evo_libra.problem.question import Question

_NPU = "h100-80gb"
_FABRICS = {
    "a100-80gb": {"technologies": ["nvlink3", "optics-200g"], "blocks": ["switch", "fat-tree"]},
    "h100-80gb": {"technologies": ["nvlink4", "optics-400g"], "blocks": ["switch", "fat-tree"]},
}
"""Networks to search for accelerators; for others all of the catalogue."""
_EFFICIENCY = 0.85
"""Rate that collectives reach on optics, over the wire rate, as `evo_libra.validation.training` assumes it."""
_WIDTH = 100
_OF_PLANS = {"zero", "recompute", "micro_batch", "optimizer"}
"""Keys of a training that are part of a plan."""
_LONG = 8192
"""Tokens of a sequence that Llama 3 is trained on without context parallelism (arXiv 2407.21783, table 4)."""


@dataclass(frozen=True)
class Made:
    """The data of a problem file, which question it asks and why, what was made, and what of it no file said."""

    data: Mapping[str, Any]
    asked: str
    left: tuple[str, ...]
    assumed: tuple[str, ...]
    summary: tuple[str, ...] = ()


def made_of(
    drafts: Mapping[str, Draft],
    name: str,
    npus: int | None = None,
    npu: str | None = None,
    nodes: int | None = None,
    *,
    question: Question | None = None,
) -> Made:
    """Return the problem that files say together: of an order where systems with the accelerator are sold.

    Parameters
    ----------
    drafts : what each file says, by its name.
    npus, npu : replace what the files say.
    nodes : how many servers there are, where a file describes one.
    question : what the problem asks for, in place of that.

    Raises
    ------
    InputError : two files differ, no file has a model, nothing says how many NPUs there are, or nothing can be ordered.
    """
    parts, assumed = _parts(drafts)
    if not parts["generator"]:
        raise InputError(f"{', '.join(drafts)}: no model; give a file that has one, such as a config.json, too")
    node = _node(drafts)
    machine = _machine(drafts, npus, npu) | ({} if nodes is None else {"npus": _npus_of(nodes, npus, node)})
    _name(machine, drafts, node, assumed)
    _complete(machine, parts, assumed, None if node is None else node[1])
    _batch(drafts, machine, parts, assumed)
    left = tuple(sentence for draft in drafts.values() for sentence in draft.left)
    files, sold = ", ".join(drafts), _sold(machine, parts, node)
    own = [file for file, draft in drafts.items() if "vocabulary" in draft.generator]
    drawn = None if node is None else node[1]
    summary = tuple(summary_of(parts["generator"], parts["training"], machine["npus"], own, node=drawn))
    if question == "order" and not sold.systems:
        raise InputError(f"{files}: nothing can be ordered: {sold.reason}")
    if sold.systems and question != "design":
        asked = f"an order because {' and '.join(sold.systems)} with {machine['npu']} can be bought"
        return Made(_order(name, sold, parts, files), asked, left, (*assumed, _SYSTEMS), summary)
    around = None if node is None else _around(drafts, *node, machine)
    assumed += [_networks(around=node is not None), *([] if around is None else around.assumed)]
    asked = f"a design: {'--question says so' if sold.systems else f'there is nothing to order, {sold.reason}'}"
    return Made(_problem(name, machine, parts, files, around), asked, left, tuple(assumed), summary)


def _sold(machine: Mapping[str, Any], parts: Mapping[str, Any], node: tuple[str, GpuNode] | None) -> Sold:
    """Return the systems that can be ordered: none where a file describes a server, or a plan has another number."""
    if node is not None:
        return Sold((), machine["npus"], reason=f"{node[0]} describes a server that exists")
    sold = sold_with(machine["npu"], machine["npus"])
    if "dp" in parts["parallelism"] and isinstance(sold.npus, dict):
        reason = f"the plan has {machine['npus']:,} NPUs, which {' and '.join(sold.systems)} do not make up exactly"
        return Sold((), machine["npus"], reason=reason)
    return sold


def _networks(*, around: bool) -> str:
    outside = " outside of the server" if around else ""
    return f"the networks to search{outside}, and {100 * _EFFICIENCY:.0f} % efficiency of optics: no file gives them"


_SYSTEMS = "the network to order, and the objectives: no file gives them"


def _parts(drafts: Mapping[str, Draft]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return what files say of the parts of a workload, and what they assume where none of them says it."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for part in PARTS:
        for file, draft in drafts.items():
            _merge(parts[part], getattr(draft, part), f"{file}: {part}")
    assumed = [sentence for draft in drafts.values() for sentence in draft.assumed]
    for part, key, value, sentence in (one for draft in drafts.values() for one in draft.suggested):
        if key not in parts[part]:
            parts[part][key] = value
            assumed.append(sentence)
    return parts, assumed


def _machine(drafts: Mapping[str, Draft], npus: int | None, npu: str | None) -> dict[str, Any]:
    """Return the number and the name of the NPUs, as far as they are known."""
    found: dict[str, Any] = {}
    for file, draft in drafts.items():
        _merge(found, {key: value for key in ("npus", "npu") if (value := getattr(draft, key)) is not None}, file)
    return found | {key: value for key, value in (("npus", npus), ("npu", npu)) if value is not None}


def _npus_of(nodes: int, npus: int | None, node: tuple[str, GpuNode] | None) -> int:
    """Return the NPUs of some servers."""
    if npus is not None:
        raise InputError("--nodes and --npus both say how many NPUs there are; give one of the two")
    if node is None:
        raise InputError("--nodes counts servers that a file describes; give --npus, or a topology of a server")
    return nodes * node[1].gpus


def _node(drafts: Mapping[str, Draft]) -> tuple[str, GpuNode] | None:
    """Return the server that a file describes, and the file."""
    found = [(file, draft.node) for file, draft in drafts.items() if draft.node is not None]
    if len(found) > 1:
        raise InputError(f"{found[0][0]} and {found[1][0]} describe a server each; one is needed")
    measured = [file for file, draft in drafts.items() if draft.bus is not None]
    if measured and not found:
        message = "measures collectives, and no file describes the server that they ran on; give its topology, too"
        raise InputError(f"{measured[0]}: {message}")
    return found[0] if found else None


def _around(drafts: Mapping[str, Draft], file: str, node: GpuNode, machine: Mapping[str, Any]) -> NodeFabric:
    tray, node = node, joined(node, machine["npu"], machine["npus"])
    if machine["npus"] % node.gpus:
        raise InputError(f"{file}: found {machine['npus']} NPUs; servers of {node.gpus} GPUs are needed, all of each")
    buses = [(name, *draft.bus, draft.collective) for name, draft in drafts.items() if draft.bus is not None]
    around = fabric_of(node, file, machine["npu"], buses)
    if node is tray:
        return around
    racks = f"that NVLink joins trays of {tray.gpus} GPUs to racks of {node.gpus}, as {machine['npu']} is sold"
    return replace(around, assumed=(racks, *around.assumed))


def _merge(into: dict[str, Any], values: Mapping[str, Any], where: str) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), Mapping):
            inner = dict(into[key])
            _merge(inner, value, f"{where}.{key}")
            into[key] = inner
        elif key in into and into[key] != value:
            raise InputError(f"{where}.{key}: found {value!r}, and another file says {into[key]!r}")
        else:
            into[key] = value


def _name(
    machine: dict[str, Any], drafts: Mapping[str, Draft], node: tuple[str, GpuNode] | None, assumed: list[str]
) -> None:
    """Set the accelerator that a measurement names; a server without NVLink needs a name."""
    if "npu" in machine:
        return
    named = {npu: file for file, draft in drafts.items() if (npu := npu_named(draft.gpu)) is not None}
    if len(named) > 1:
        raise InputError(f"{' and '.join(named.values())} are of {' and '.join(named)}; one accelerator is needed")
    for npu, file in named.items():
        machine["npu"] = npu
        assumed.append(f"the accelerator {npu}, as {file} calls its GPUs; --npu names another one")
    if not named and node is not None and node[1].gpus > 1 and not node[1].switched and not node[1].peers:
        raise InputError(f"{node[0]}: no GPU has NVLink, so the links name no accelerator; give --npu")


def _complete(
    machine: dict[str, Any], parts: dict[str, dict[str, Any]], assumed: list[str], node: GpuNode | None
) -> None:
    degrees = parts["parallelism"]
    shared = degrees.get("tp", 1) * degrees.get("cp", 1) * degrees.get("pp", 1)
    if "npus" not in machine and "dp" in degrees:
        machine["npus"] = shared * degrees["dp"]
    if "npus" not in machine:
        more = "" if node is None else " or --nodes"
        raise InputError(f"no file says how many NPUs there are; give --npus{more}")
    if "npu" not in machine:
        machine["npu"] = (node and npu_of(node)) or _NPU
        said = "as the server has it" if node is not None and node.npu else "because no file names one"
        assumed.append(f"the accelerator {machine['npu']}, {said}; --npu names another one")
    training = parts["training"]
    if not degrees and not training.keys() & _OF_PLANS:
        degrees |= {"tp": "any", "pp": "any"}
        training |= {"zero": [1, 3], "recompute": ["none", "full"]}
        assumed.append("that the search chooses the plan because no file has one")
    elif "recompute" not in training:
        training["recompute"] = "none"
        assumed.append("that no activations are computed again because no file says it")
    if unsaid := _useful_degrees(parts):
        if "any" not in degrees.values():
            assumed.append(f"that the search chooses {' and '.join(unsaid)}, which no file states")
        degrees |= dict.fromkeys(unsaid, "any")


def _batch(
    drafts: Mapping[str, Draft], machine: Mapping[str, Any], parts: Mapping[str, dict[str, Any]], assumed: list[str]
) -> None:
    """Set the batch of a step, and the copies of shards, where files say them by the number of replicas."""
    npus, training, degrees = machine["npus"], parts["training"], parts["parallelism"]
    sizes = [degree for name in ("tp", "cp", "pp") if isinstance(degree := degrees.get(name, 1), int)]
    replicas = max(npus // prod(sizes), 1)
    shard = next((draft.shard for draft in drafts.values() if draft.shard is not None), None)
    if shard is not None and replicas > shard and replicas % shard == 0:
        training["replicate"] = replicas // shard
    if "global_batch" in training:
        return
    steps = next((draft.accumulation for draft in drafts.values() if draft.accumulation is not None), None)
    micro = training.get("micro_batch", 1)
    training["global_batch"] = replicas * micro if steps is None else micro * steps * npus
    found = f"a global batch of {training['global_batch']:,}, "
    by = f"{micro} sequences x {steps} steps x {npus:,} NPUs, as DeepSpeed counts it"
    assumed.append(found + ("a microbatch of each replica" if steps is None else by))


def _useful_degrees(parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the groups that no file states and that the model can use: of experts, and of long sequences."""
    useful = {"ep": "experts" in parts["generator"], "cp": parts["training"].get("sequence", 0) > _LONG}
    return [name for name, uses in useful.items() if uses and name not in parts["parallelism"]]


def _order(name: str, sold: Sold, parts: Mapping[str, Any], files: str) -> dict[str, Any]:
    """Return the problem of an order; the batch may differ a little where the number of NPUs may."""
    workload = _workload(name, parts, files)
    if isinstance(sold.npus, dict):
        workload["training"] = {**workload["training"], "global_batch": {"about": parts["training"]["global_batch"]}}
    return {
        "version": 1, "name": name, "question": "order", "systems": list(sold.systems), "npus": sold.npus,
        "workloads": [workload], "objectives": ["time", "order-cost" if sold.priced else "power"],
    }  # fmt: skip


def _workload(name: str, parts: Mapping[str, Any], files: str) -> dict[str, Any]:
    generator = {"kind": "decoder", **parts["generator"], "source": printable(files)}
    workload = {"name": name, "generator": generator, "training": parts["training"]}
    return workload | ({"parallelism": parts["parallelism"]} if parts["parallelism"] else {})


def _problem(
    name: str, machine: Mapping[str, Any], parts: Mapping[str, Any], files: str, around: NodeFabric | None
) -> dict[str, Any]:
    fabric: dict[str, Any] = {"catalog": CATALOG, **_FABRICS.get(machine["npu"], {}), "max_dimensions": 3}
    if around is not None:
        fabric = dict(around.fabric)
    optics = [name for name in fabric.get("technologies", ()) if name.startswith(OPTICS)]
    efficiency = {**dict.fromkeys(optics, _EFFICIENCY), **(around.efficiency if around else {})}
    time = {"model": "libra", "efficiency": efficiency} if efficiency else "libra"
    return {
        "version": 1, "name": name, "npus": machine["npus"], "npu": machine["npu"], "fabric": fabric,
        "workloads": [_workload(name, parts, files)], "time": time, "objectives": ["time", "cost"],
        "bandwidth": "ports",
    }  # fmt: skip


def problem_text(data: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """Return a problem file; text that YAML would read as something else, such as 2024 or true, is quoted."""
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = _WIDTH
    stream = io.StringIO()
    yaml.dump(dict(data), stream)
    return "".join(f"# {printable(line)}\n" for line in comments) + stream.getvalue()
