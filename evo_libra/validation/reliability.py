"""Published failures of clusters: Llama 3's interruptions, Meta's research clusters, and Rail-only's discussion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.failures import FAILING, HOST, NPU, SOFTWARE, YEAR, Failures
from evo_libra.network.catalog.parts import load_parts
from evo_libra.network.faults import fault_figures, sparing
from evo_libra.problem.faults import Faults
from evo_libra.problem.network_faults import summed
from evo_libra.validation.fabrics import part
from evo_libra.validation.rail_only import GPUS, TWO_TIERS, optics
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource

_HOUR, _DAY = 3600.0, 86_400.0
_LLAMA_GPUS, _LLAMA_DAYS, _SERVER = 16_384, 54, 8
LLAMA_INTERRUPTIONS = {NPU: 268, HOST: 46, "nic": 7, SOFTWARE: 63, "network": 35}
"""Llama 3's 419 unexpected interruptions, table 5, by what has a rate here."""

LLAMA = Faults(checkpoint_s=10.0, restart_s=600.0, host_npus=_SERVER, spares=128)
"""Assumed seconds of its checkpoints and restarts. Its cluster had 8,192 more GPUs."""

NODE_RATES = {"RSC-1": 6.50, "RSC-2": 2.34}
"""Failures per 1,000 node-days of Kokolis et al."""

MTTF_HOURS = {1_024: 7.9, 16_384: 1.8, 131_072: 0.23}
"""Mean times between failures of jobs by their GPUs on RSC-1: the first one is measured, the others are projected."""

_ETTR = (128, 512, 2_048)
_RESTART, _WRITE, _INTERVAL = 300.0, 30.0, 1_800.0


def llama_kits() -> tuple[Kit, Kit]:
    """Return the kits of Llama 3's cluster: servers of NVSwitches, and a fat tree of 400 Gb/s."""
    kits = load_parts("parts-2024").kits
    wanted = (("nvlink4", "switch"), ("optics-400g", "fat-tree"))
    found = [
        kit for name, block in wanted for kit in kits
        if (kit.technology, BLOCK_NAMES[kit.block]) == (name, block)
    ]  # fmt: skip
    return found[0], found[1]


def _llama() -> FloatArray:
    """Return (figure, item, 2) what failures of Llama 3's network do."""
    index, npus = np.array([[0], [1]]), np.array([[_SERVER], [_LLAMA_GPUS // _SERVER]])
    ports = np.array([[18.0], [1.0]])
    return fault_figures(llama_kits(), index, npus, ports, LLAMA.failures, whole=True)[..., 0]


def llama_stops() -> Mapping[str, float]:
    """Return the interruptions of Llama 3's cluster in as many days, by what has a rate here."""
    stops = _llama()[0].sum(axis=1)
    nics = float(stops[3])
    found = {kind: float(figures[0]) for kind, figures in LLAMA.of_npus(_LLAMA_GPUS).items()}
    found |= {"nic": nics, "network": float(stops.sum()) - nics}
    return {kind: rate * _LLAMA_DAYS * _DAY for kind, rate in found.items()}


def llama_useful() -> float:
    """Return the useful share of Llama 3's time with what is assumed."""
    figures = summed(_llama()[..., None]).sum(axis=1)
    figures[:2] += np.asarray(sum(LLAMA.of_npus(_LLAMA_GPUS).values()))[:, None]
    index, npus = np.array([[0], [1]]), np.array([[_SERVER], [_LLAMA_GPUS // _SERVER]])
    units = sparing(llama_kits(), index, npus, _SERVER).units(np.array(LLAMA.spare_choices))
    return float(LLAMA.useful(figures, units)[0])


def _interruptions() -> Iterator[PublishedRow]:
    ours = llama_stops()
    for kind, theirs in LLAMA_INTERRUPTIONS.items():
        yield PublishedRow(f"interruptions in 54 days, {kind}", theirs, ours[kind], "")
    yield PublishedRow("interruptions in 54 days, all", sum(LLAMA_INTERRUPTIONS.values()), sum(ours.values()), "")


def _effective_time() -> Iterator[PublishedRow]:
    yield PublishedRow("effective training time, more than", 90.0, 100.0 * llama_useful(), "percent")


def nodes_alone(rate: float, *, interval: float | None = None) -> Faults:
    """Return failures of nodes of 8 GPUs alone, some per 1,000 node-days, which take no repair."""
    per_year = dict.fromkeys(FAILING, 0.0) | {HOST: rate / 1000.0 * YEAR / _DAY}
    return Faults(
        checkpoint_s=_WRITE, restart_s=_RESTART, interval_s=interval, host_npus=_SERVER, per_year=per_year,
        repair_h={HOST: 0.0},
    )  # fmt: skip


def _mean_times() -> Iterator[PublishedRow]:
    faults = nodes_alone(NODE_RATES["RSC-1"])
    for gpus, hours in MTTF_HOURS.items():
        stops = float(faults.of_npus(gpus)[HOST][0])
        yield PublishedRow(f"mean time to failure, {gpus} GPUs", hours, 1.0 / stops / _HOUR, "h")


def _node_rates() -> Iterator[PublishedRow]:
    per_node = sum(llama_stops().values()) / (_LLAMA_GPUS // _SERVER * _LLAMA_DAYS) * 1000.0
    for name, rate in NODE_RATES.items():
        yield PublishedRow(f"failures per 1000 node-days, {name}", rate, per_node, "")


def _ratios() -> Iterator[PublishedRow]:
    rate = NODE_RATES["RSC-1"]
    faults = nodes_alone(rate, interval=_INTERVAL)
    for nodes in _ETTR:
        lost = nodes * rate / 1000.0 / _DAY * (_RESTART + _INTERVAL / 2.0)
        stops = faults.of_npus(nodes * _SERVER)[HOST][0]
        ours = float(faults.useful(np.array([[stops], [0.0], [0.0]]), 0.0)[0])
        yield PublishedRow(f"effective training time, {nodes} nodes", (1 - lost) / (1 + _WRITE / _INTERVAL), ours, "")


def network_stops(block: str, domain: int) -> float:
    """Return how often per second the network outside of domains of some GPUs stops a job of 32,768 GPUs."""
    outside = replace(optics(), block=BLOCK_NAMES.index(block))
    inside = replace(outside, block=BLOCK_NAMES.index("switch"), switch=part("switch", 0.0, ports=domain))
    npus = np.array([[domain], [GPUS // domain]])
    found = fault_figures([inside, outside], np.array([[0], [1]]), npus, np.ones((2, 1)), Failures({}, {}), whole=True)
    return float(found[0, :, 1].sum())


def _rails() -> Iterator[PublishedRow]:
    everybody = network_stops("fat-tree", TWO_TIERS)
    ours = network_stops("switch", TWO_TIERS) / everybody
    yield PublishedRow("stops by switches and links of rails, over those of a fat tree", 1.0, ours, "")


RELIABILITY = (
    PublishedSource("llama-interruptions", "failures", "Llama 3 (arXiv 2407.21783), table 5: interruptions by cause",
           _interruptions, note="rates of NPUs, hosts, NICs and software are of this table; those of links and "
           "switches are Alibaba's", basis=Basis.FITTED),
    PublishedSource("llama-effective-time", "failures", "Llama 3 (arXiv 2407.21783), section 3.3.4: effective training "
           "time", _effective_time, note="the paper says more than 90 %; a checkpoint of 10 s, a restart of 10 min and "
           "128 spare GPUs are assumptions"),
    PublishedSource("meta-mean-times", "failures", "Kokolis et al. 2024 (arXiv 2410.21680): mean times to failure",
           _mean_times, note="from its rate of nodes; of 1,024 GPUs it measured more failures than its own rate gives"),
    PublishedSource("meta-node-rates", "failures", "Kokolis et al. 2024 (arXiv 2410.21680): failures of nodes",
           _node_rates, note="of A100; ours are the rates of the catalogue, most of them of H100"),
    PublishedSource("meta-effective-time", "failures", "Kokolis et al. 2024 (arXiv 2410.21680): its approximation of "
           "the effective training time", _ratios, note="nodes of RSC-1, restarts of 5 min, checkpoints of 30 s every "
           "30 min; the approximation neglects failures of the same interval", basis=Basis.EQUATIONS),
    PublishedSource("rail-only-failures", "failures", "Rail-only (arXiv 2307.12169): failures of switches and links",
           _rails, note="the paper argues that they cut off the same GPUs as those of a rail-optimised network",
           basis=Basis.EQUATIONS),
)  # fmt: skip
