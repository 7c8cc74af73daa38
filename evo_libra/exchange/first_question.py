"""The first problem file of a buyer: which systems, and which network between them, train or serve a model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evo_libra.errors import InputError, printable, unknown
from evo_libra.exchange.problem_text import problem_text
from evo_libra.exchange.systems_sold import sold_with
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.choices import CATALOG
from evo_libra.workload.models.decoder import load_decoders
from evo_libra.workload.models.layers.kept import ACTIVATION, EXPERT_ACTIVATION, LATENT_UP, NORM
from evo_libra.workload.plans.recomputation import named_modules

Task = Literal["training", "serving"]
SYSTEMS = ("hgx-b200", "hgx-b300", "gb200-nvl72", "gb300-nvl72", "mi355x-8")
MODELS: Mapping[str, str] = {"training": "deepseek-v3", "serving": "llama-3.1-70b"}
"""Models of the questions of users who name none."""
NPUS: Mapping[str, int] = {"training": 1024, "serving": 64}
_SEQUENCE = 4096
_MIN_BATCH = 256
_PUBLISHED: Mapping[str, tuple[int, str]] = {
    "deepseek-v3": (15360, "arXiv 2412.19437, section 4.2"),
    "kimi-k2": (16384, "arXiv 2507.20534: 67 million tokens"),
    "llama-3.1-405b": (4096, "arXiv 2407.21783, section 3.3: 16.8 million tokens"),
}
"""Sequences of `_SEQUENCE` tokens of a step, as the authors of models trained them, and who says so."""
ANSWER = 500
"""Tokens of an answer of the questions of users who state none."""
_SERVING = f"""serving:
  input: 1000                          # tokens of a request
  output: {ANSWER}                          # tokens of its answer
  concurrency: [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128]   # users of a replica
  weights: [bf16, fp8]
  kv_cache: [bf16, fp8]
parallelism: {{tp: [1, 2, 4, 8], pp: [1, 2]}}   # dp are the replicas: what is left of the NPUs"""
_WAITS = (
    "# ttft: if all users ask at once. tokens-per-s-one-out: tokens-per-s while a server, or a tray of a rack, is out"
)
_APART = "fabric: {families: [rail-optimised, tor, fat-tree, apart]}   # apart: no network; each system answers alone"
_SERVER, _FEW = 8, 64
_NO_LIMITS = '# constraints: ["order-cost <= 300 MUSD", "system-power <= 20 MW"]'


@dataclass(frozen=True)
class Question:
    """A question of a buyer.

    Attributes
    ----------
    name : of the problem; `path` : of its file.
    model : a name of the catalogue, or what a model's file is called; `generator` : its keys, where a file has them.
    systems : that are compared; `budget` : the most that the order may cost, as it is written; empty for no limit.
    tokens : that are trained in all; None leaves the deadline open.
    sequences : of a training step; None for those of the model's authors, or half as many as accelerators.
    rate : tokens of answers per second that must be served; None asks for the price of a token of a full cluster.
    one_out : whether they must be while a server or a tray is out, too.
    """

    name: str
    path: str
    task: Task
    model: str
    npus: int
    systems: tuple[str, ...]
    budget: str = ""
    tokens: float | None = None
    generator: Mapping[str, Any] = field(default_factory=dict)
    sequences: int | None = None
    rate: float | None = None
    one_out: bool = False

    @property
    def batch(self) -> int:
        """Sequences of a training step: as stated, of the model's authors, or one for two accelerators."""
        known, _ = _PUBLISHED.get(self.model, (max(_MIN_BATCH, self.npus // 2), ""))
        return known if self.sequences is None else self.sequences

    @property
    def rate_text(self) -> str:
        """The rate that must be served, in requests where these are whole."""
        requests = (self.rate or 0.0) / ANSWER
        return f"{requests:.12g} request/s" if requests.is_integer() else f"{self.rate:.12g} token/s"

    @property
    def assumed(self) -> str:
        """Figures that the user has not stated and that decide the answer; empty for none."""
        if self.task == "serving":
            known = f"requests of 1,000 tokens, answers of {ANSWER}, ttft <= 2 s, tpot <= 50 ms"
            if not self.rate:
                return f"{known}, and a cluster that is always full, without `--rate`"
            return known if self.one_out else f"{known}, and no server to spare, without `--one-out`"
        whose = ", which its authors trained it with" if self.model in _PUBLISHED else ""
        return "" if self.sequences else f"steps of {self.batch:,} sequences of {_SEQUENCE:,} tokens{whose}"


def systems_of(names: Sequence[str], npus: int) -> tuple[str, ...]:
    """Return systems by their names, or by the accelerators that they carry.

    Raises
    ------
    InputError : there is no such system or accelerator, or none with it is sold.

    >>> systems_of(["hgx-h200", "gb300"], 1024)
    ('hgx-h200', 'gb300-nvl72')
    """
    systems, found = load_products(CATALOG).systems, list[str]()
    for name in names:
        carried = [system.npu for system in systems.values()]
        if name not in systems and name not in carried:
            raise InputError(unknown("system or accelerator", name, [*systems, *sorted(set(carried))]))
        sold = sold_with(name, npus) if name not in systems else None
        if sold is not None and not sold.systems:
            raise InputError(f"{name} cannot be ordered: {sold.reason}")
        found += [name] if sold is None else sold.systems
    return tuple(dict.fromkeys(found))


def known_model(name: str) -> str:
    """Return the name of a model of the catalogue; an `InputError` says that there is none."""
    if name not in load_decoders():
        raise InputError(unknown("model", name, load_decoders()))
    return name


def question_file(asked: Question) -> str:
    """Return the commented problem file of a question."""
    verb = "train" if asked.task == "training" else "serve"
    tco = "tco: {years: 4, usd_per_kWh: 0.10, pue: 1.2}      # what an hour of the system costs"
    limits = [f'"order-cost <= {asked.budget}"'] if asked.budget else []
    limits += ['"ttft <= 2 s"', '"tpot <= 50 ms"'] if asked.task == "serving" else []
    what = "tokens-per-s-one-out" if asked.one_out else "tokens-per-s"
    limits += [f'"{what} >= {asked.rate_text}"'] if asked.rate else []
    exact = asked.task == "serving" and asked.npus % 8 == 0 and all("nvl72" not in one for one in asked.systems)
    count = str(asked.npus) if exact else f"{{about: {asked.npus}, within: 0.02}}"
    if asked.rate and asked.npus % 8 == 0:
        count = f"{_counts(asked.npus)}   # as few as carry the load"
    whole = f"{'at most ' if asked.rate else ''}{asked.npus:,} accelerators"
    first = "time" if asked.task == "training" else "tpot"
    objectives = f"[{first}, {'order-cost' if asked.rate or first == 'time' else 'usd-per-Mtoken'}]"
    return "\n".join([
        f"# Which systems should {verb} {printable(asked.model)} on {whole}, on which network?",
        f"#   evo-libra search {asked.path}   finds the front of time and cost",
        "#   evo-libra recommend last   says which order to buy, and why",
        "#   evo-libra catalog systems   lists systems; `catalog models` and `catalog accelerators` likewise",
        "# The reference of problem files has all keys: parts, prices, limits, rooms, several workloads.",
        "version: 1",
        f"name: {asked.name}",
        "question: order                        # `design` asks for a network that is not sold yet",
        f"systems: [{', '.join(asked.systems)}]",
        f"npus: {count}",
        "workloads:",
        *textwrap.indent(_workload(asked), "  ").split("\n"),
        *([_APART] if asked.task == "serving" else []),
        tco,
        *([_WAITS] if asked.task == "serving" else []),
        f"objectives: {objectives}",
        f"constraints: [{', '.join(limits)}]" if limits else _NO_LIMITS,
        "",
    ])  # fmt: skip


def _counts(most: int) -> list[int]:
    """Return numbers of accelerators up to one: all of a few servers, then powers of two and those half as large again.

    >>> _counts(128)
    [8, 16, 24, 32, 40, 48, 56, 64, 96, 128]
    """
    few = range(_SERVER, min(most, _FEW) + 1, _SERVER)
    sizes = (size for power in range(20) for size in (_FEW << power, 3 * _FEW // 2 << power))
    return [*few, *(size for size in sizes if _FEW < size <= most)]


def _workload(asked: Question) -> str:
    """Return the one workload as an entry of a list."""
    if asked.generator:
        generator = {"kind": "decoder", **asked.generator, "source": printable(asked.model)}
        model = f"- name: model\n  generator:\n{textwrap.indent(problem_text(generator).rstrip(), '    ')}"
    else:
        model = f"- model: {asked.model}"
    part = _training(asked) if asked.task == "training" else _SERVING
    return f"{model}\n{textwrap.indent(part, '  ')}"


def _training(asked: Question) -> str:
    batch = asked.batch
    tokens = "# tokens: 1.5e+13                    # trained in all: `recommend --deadline 60d` then knows the days"
    return "\n".join([
        "training:",
        f"  sequence: {_SEQUENCE}",
        f"  global_batch: {{about: {batch}, within: 0.02}}   # sequences: {batch * _SEQUENCE / 1e6:.3g} million tokens",
        "  micro_batch: [1, 2]",
        "  precision: [bf16, fp8]",
        f"  recompute: [none, {'+'.join(_cheap_modules(asked))}, full]",
        "  zero: [1, 2, 3]",
        f"  {tokens if asked.tokens is None else f'tokens: {asked.tokens:g}'}",
        "parallelism: {tp: any, pp: any, vp: any, ep: any}   # dp takes the NPUs that are left",
    ])  # fmt: skip


def _cheap_modules(asked: Question) -> tuple[str, ...]:
    """Return the modules of the model whose recomputation frees much and takes little, as in training DeepSeek-V3."""
    cheap = (NORM, ACTIVATION, EXPERT_ACTIVATION, LATENT_UP)
    if not asked.generator:
        known = named_modules(load_decoders()[asked.model])
        return tuple(name for name in cheap if name in known)
    return (NORM,)
