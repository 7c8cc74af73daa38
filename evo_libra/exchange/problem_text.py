"""Problem files made of what other programs' files say."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML

from evo_libra.errors import InputError, printable
from evo_libra.exchange.reader import PARTS, Draft

_NPU = "h100-80gb"
_FABRICS = {
    "a100-80gb": {"technologies": ["nvlink3", "optics-200g"], "blocks": ["switch", "fat-tree"]},
    "h100-80gb": {"technologies": ["nvlink4", "optics-400g"], "blocks": ["switch", "fat-tree"]},
}
"""Networks to search for accelerators; for others all of the catalogue."""
_EFFICIENCY = 0.85
"""Rate that collectives reach on optics, over the wire rate, as `evo_libra.validation.training` assumes it."""
_WIDTH = 100


@dataclass(frozen=True)
class Made:
    """The data of a problem file, and what of it no file said."""

    data: Mapping[str, Any]
    left: tuple[str, ...]
    assumed: tuple[str, ...]


def made_of(drafts: Mapping[str, Draft], name: str, npus: int | None = None, npu: str | None = None) -> Made:
    """Return the problem that files say together.

    Parameters
    ----------
    drafts : what each file says, by its name.
    npus, npu : replace what the files say.

    Raises
    ------
    InputError : two files differ, no file has a model, or nothing says how many NPUs there are.
    """
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for part in PARTS:
        for file, draft in drafts.items():
            _merge(parts[part], getattr(draft, part), f"{file}: {part}")
    machine: dict[str, Any] = {}
    for file, draft in drafts.items():
        _merge(machine, {key: value for key in ("npus", "npu") if (value := getattr(draft, key)) is not None}, file)
    machine |= {key: value for key, value in (("npus", npus), ("npu", npu)) if value is not None}
    assumed = [sentence for draft in drafts.values() for sentence in draft.assumed]
    if not parts["generator"]:
        raise InputError(f"{', '.join(drafts)}: no model; give a file that has one, such as a config.json, too")
    _complete(machine, parts, assumed)
    left = tuple(sentence for draft in drafts.values() for sentence in draft.left)
    return Made(_problem(name, machine, parts, ", ".join(drafts)), left, tuple(assumed))


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


def _complete(machine: dict[str, Any], parts: dict[str, dict[str, Any]], assumed: list[str]) -> None:
    degrees = parts["parallelism"]
    shared = degrees.get("tp", 1) * degrees.get("cp", 1) * degrees.get("pp", 1)
    if "npus" not in machine and "dp" in degrees:
        machine["npus"] = shared * degrees["dp"]
    if "npus" not in machine:
        raise InputError("no file says how many NPUs there are; give --npus")
    if "npu" not in machine:
        machine["npu"] = _NPU
        assumed.append(f"the accelerator {_NPU}, as no file names one; --npu names another one")
    assumed.append("the networks that are searched, and an efficiency of their optics")
    training = parts["training"]
    if "global_batch" not in training:
        replicas = max(machine["npus"] // shared, 1)
        training["global_batch"] = replicas * training.get("micro_batch", 1)
        assumed.append(f"a global batch of {training['global_batch']}, a microbatch of each replica")


def _problem(name: str, machine: Mapping[str, Any], parts: Mapping[str, Any], files: str) -> dict[str, Any]:
    fabric: dict[str, Any] = {"catalog": "parts-2024", **_FABRICS.get(machine["npu"], {}), "max_dimensions": 3}
    generator = {"kind": "decoder", **parts["generator"], "source": printable(files)}
    workload = {"name": name, "generator": generator, "training": parts["training"]}
    if parts["parallelism"]:
        workload["parallelism"] = parts["parallelism"]
    optics = [name for name in fabric.get("technologies", ()) if name.startswith("optics")]
    time = {"model": "libra", "efficiency": dict.fromkeys(optics, _EFFICIENCY)} if optics else "libra"
    return {
        "version": 1, "name": name, "npus": machine["npus"], "npu": machine["npu"], "fabric": fabric,
        "workloads": [workload], "time": time, "objectives": ["time", "cost"], "bandwidth": "ports",
    }  # fmt: skip


def problem_text(data: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """Return a problem file; text that YAML would read as something else, such as 2024 or true, is quoted."""
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = _WIDTH
    stream = io.StringIO()
    yaml.dump(dict(data), stream)
    return "".join(f"# {printable(line)}\n" for line in comments) + stream.getvalue()
