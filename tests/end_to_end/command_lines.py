"""Command lines of every command with its main options, on problems that take a moment, and wrong inputs.

`prepare` makes the files and results that they name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from node_samples import matrix, table, topology
from order_files import order_data

Line = tuple[object, ...]

CASES = Path(__file__).parents[1] / "exchange" / "cases"
DESIGN = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
DESIGNS, ORDERS, TOKENS = "designs/last", "orders/last", "tokens/last"
FABRICS, WAFERS, PYTHON = "fabrics/last", "wafers/last", "python/last"
SIMULATED = (
    "--workload-configuration", "astra/traces/gpt-3-libra", "--system-configuration", "astra/system.json",
    "--network-configuration", "astra/network.yml", "--comm-group-configuration", "astra/groups.json",
)  # fmt: skip
SHORT = ("--evaluations", 300, "--population", 50)

SEARCHES: Sequence[Line] = (
    ("search", "gpt3-4k", *SHORT, "--out", "designs", "--seed", 1),
    ("search", "gpt3-4k", *SHORT, "--out", "designs", "--keep", "designs"),
    ("search", "gpt3-4k", *SHORT, "--out", "more", "--start-from", "designs/last", "--plot"),
    ("search", "gpt3-4k", "--evaluations", 1500, "--stagnation", 200, "--restarts", 1, "--out", "more"),
    ("search", "gpt3-4k", *SHORT, "--growth", 0.5, "--stagnation", 100, "--engine", "random", "--out", "more"),
    ("search", "gpt3-4k", "--evaluations", 90_000, "--seconds", 0.1, "--out", "more"),
    ("search", "gpt3-4k", "--evaluations", 400, "--gap", 99, "--gap-every", 100, "--out", "more"),
    ("search", "small.yaml", "--evaluations", 3000, "--out", "orders"),
    ("search", "qwen3-235b-256", "--evaluations", 600, "--out", "tokens"),
    ("search", "fabric-256", "--evaluations", 200, "--out", "fabrics"),
    ("search", "wafer-20", "--out", "wafers"),
    ("search", "wafer-20", "--engine", "exhaustive", "--out", "more"),
    ("search", "two-tier", *SHORT, "--out", "python"),
    ("search", "themis-resnet-50", *SHORT, "--out", "more"),
    ("search", "opt-175b-offload", "--evaluations", 200, "--out", "more"),
    ("search", "dense-1k", *SHORT, "--out", "priced"),
    ("search", "gpt3-4k", *SHORT, "--set", "npus=64", "--set", "workloads[0].parallelism={tp: 4}", "--out", "few"),
)

EXPORT: Line = ("export", "few/last", 0, "--astra-sim", "astra", "--time", "astra", "--set", "time.latency_ns=500")

LINES: Mapping[str, Sequence[Line]] = {
    "search": [words[1:] for words in SEARCHES],
    "bench": [("gpt3-4k", "--engines", "nsga2", "random", "--seeds", 2, *SHORT, "--workers", 1, "--out", "bench")],
    "catalog": [
        (),
        ("problems",),
        ("accelerators",),
        ("systems",),
        ("models",),
        ("engines",),
        ("blocks",),
        ("parts-2024",),
        ("products-2025",),
        ("products-2025", "--sources"),
        ("h100-80gb",),
        ("--all",),
        ("gb200-nvl72",),
        ("deepseek-v3",),
        ("--stale", 2024),
        ("parts-2024", "--sources"),
        ("accelerators", "--sources"),
        ("systems", "--sources"),
    ],
    "certify": [(DESIGNS, "--seconds", 1), (WAFERS,), (ORDERS, "--seconds", 1), (TOKENS, "--seconds", 1)],
    "compare": [
        ("designs/last", "more/gpt3-4k/last"),
        ("problem:gpt3-4k", "--out", "designs", "--figure", "fronts.svg"),
    ],
    "diff": [
        (f"{DESIGNS}#fastest", f"{DESIGNS}#cheapest"),
        (f"{DESIGNS}#0", f"{DESIGNS}#0"),
        (f"{ORDERS}#fastest", f"{ORDERS}#cheapest"),
        (f"{ORDERS}#0", f"{ORDERS}#1"),
        (f"{TOKENS}#0", f"{TOKENS}#1"),
        (f"{WAFERS}#0", f"{WAFERS}#1"),
    ],
    "draw": [
        (f"{DESIGNS}#knee",),
        (f"{ORDERS}#fastest",),
        (f"{TOKENS}#knee", "-o", "order.svg"),
        (DESIGN, "--ascii"),
        (f"{DESIGNS}#0", "-o", "graph.dot"),
    ],
    "evaluate": [
        (f"{DESIGNS}#0",),
        (f"gpt3-4k#{DESIGN}",),
        (f"{ORDERS}#0",),
        (f"{TOKENS}#0",),
        (f"{WAFERS}#0",),
        (f"{DESIGNS}#0", "--json"),
        (f"{ORDERS}#0", "--json"),
        (f"{TOKENS}#0", "--json"),
        (f"{FABRICS}#knee",),
        ("zcube(64, 2)",),
    ],
    "explain": [(f"{DESIGNS}#{end}",) for end in ("knee", "fastest", "cheapest")]
    + [(f"{ORDERS}#{end}",) for end in ("fastest", "cheapest")]
    + [
        (f"{TOKENS}#knee",),
        (f"{TOKENS}#fastest",),
        (f"{TOKENS}#cheapest",),
        (f"{WAFERS}#knee",),
        (f"gpt3-4k#{DESIGN}",),
        (f"{ORDERS}#fastest", "--json"),
        (f"{DESIGNS}#knee", "--json"),
        ("more/last",),
    ],
    "export": [
        *[
            (f"{ORDERS}#fastest", "--to", name, "-o", f"made-{name}")
            for name in ("megatron-arguments", "bill-csv", "netbox", "graphviz")
        ],
        (f"{DESIGNS}#0", "--to", "graphviz"),
        (f"{FABRICS}#0", "--to", "graphviz", "-o", "fabric.dot"),
        (f"{FABRICS}#0", "--to", "cables-csv", "-o", "c.csv"),
        (f"{ORDERS}#fastest", "--to", "megatron-arguments"),
        ("few/last", 0, "--astra-sim", "again", "--time", "astra", "--set", "time.latency_ns=500"),
    ],
    "fit-npu": [("gemm_perf.txt", "--npu", "h100-80gb")],
    "front": [
        (DESIGNS,),
        (ORDERS,),
        (TOKENS,),
        (FABRICS,),
        (WAFERS,),
        (PYTHON,),
        (DESIGNS, "--families"),
        (ORDERS, "--systems"),
        (ORDERS, "--families"),
        (ORDERS, "--wide"),
        (DESIGNS, "--sort", "-cost", "--rows", 3),
        (ORDERS, "--csv", "-"),
        (ORDERS, "--markdown", "-"),
        (DESIGNS, "--json"),
    ],
    "import": [
        ("megatron.args", "topology.xml", "--npus", 64, "--npu", "h200-141gb", "--problem", "megatron.yaml"),
        ("megatron.args", "--npus", 256, "--npu", "b200", "--question", "design", "--problem", "design.yaml"),
        ("--network", "astra/network.yml", "--system", "astra/system.json", "--problem", "back.yaml"),
    ],
    "init": [
        ("mine.yaml", "--model", "mixtral-8x7b", "--system", "hgx-b200", "--npus", 256, "--budget", "20 MUSD"),
        ("serve.yaml", "--model", "llama-4-scout", "--system", "hgx-b200", "--task", "serving", "--rate", "9request/s"),
        ("libra.yaml", "--example", "libra"),
    ],
    "mcp": [],
    "optimize": [
        ("gpt3-4k", "--shape", "RI(4)_FC(8)_RI(4)_SW(32)", "--total", 500),
        (f"{DESIGNS}#knee",),
        (f"{DESIGNS}#0", "--objective", "time-cost"),
        ("gpt3-4k", "--shape", "RI(4)_FC(8)_RI(4)_SW(32)", "--cost", 5e6),
    ],
    "plan": [("experiment.yaml",), ("experiment.yaml", "--out", "batch")],
    "prices": [(ORDERS, "--scenarios", 20), ("priced/last", "--scenarios", 20, "--score", "regret")],
    "recommend": [
        *[(result, "--seconds", 1) for result in (DESIGNS, ORDERS, TOKENS, FABRICS, WAFERS, PYTHON)],
        (ORDERS, "--seconds", 0, "--max-cost", "99MUSD"),
        (ORDERS, "--seconds", 0, "--max-time", "99s"),
        (ORDERS, "--seconds", 0, "--max-power", "9MW"),
        (ORDERS, "--seconds", 0, "--value", "3USD/GPU-hour"),
        (ORDERS, "--seconds", 0, "--price", "gb200-nvl72=-30%"),
        (ORDERS, "--seconds", 0, "--power", "0.3USD/kWh"),
        (ORDERS, "--seconds", 0, "--fail", "leaf"),
        (ORDERS, "--seconds", 0, "--fail", "nic", "--fail", "npu"),
        (ORDERS, "--seconds", 0, "--without", "gb200-nvl72"),
        (ORDERS, "--seconds", 0, "--npus", 288),
        (DESIGNS, "--seconds", 0, "--value", "2USD/NPU-hour"),
        (DESIGNS, "--seconds", 0, "--max-cost", "20MUSD"),
        (TOKENS, "--seconds", 0, "--rate", "20request/s"),
        (ORDERS, "--seconds", 0, "--plot", "tornado.png"),
        (ORDERS, "--seconds", 0, "--json"),
        (TOKENS, "--seconds", 0, "--json"),
        (DESIGNS, "--seconds", 0, "--json"),
    ],
    "report": [
        (DESIGNS, "-o", "designs.html", "--seconds", 1),
        (ORDERS, "-o", "orders.html", "--seconds", 1),
        (TOKENS, "-o", "tokens.html"),
        (FABRICS, "-o", "fabrics.html"),
        (WAFERS, "-o", "wafers.html"),
        (DESIGNS, "more/gpt3-4k/last", "-o", "two.html"),
    ],
    "reproduce": [(DESIGNS,), (WAFERS,)],
    "rescore": [(DESIGNS, "--time", "astra", "--set", "time.latency_ns=500"), (WAFERS, "--time", "astra")],
    "results": [("--out", "more"), ("--out", "designs")],
    "run": [
        ("experiment.yaml", "--out", "batch", "--workers", 0),
        ("experiment.yaml", "--out", "batch", "--workers", 0),
    ],
    "schema": [(), ("order",), ("fabric",), ("experiment",)],
    "show": [(DESIGNS,), (ORDERS,), ("more/last",), (PYTHON,), (FABRICS,)],
    "simulate": [SIMULATED],
    "ui": [],
    "validate": [("--group", "luwu"), ("--group", "luwu", "--rows"), ("--group", "small messages")],
    "workload": [("show", "astra/traces/gpt-3-libra")],
}
"""Options of each command; `WRONG` has those of commands that need a terminal or a client."""

WRONG: Sequence[Line] = (
    ("mcp", "nowhere"),
    ("ui", "nowhere"),
    ("search", "nowhere"),
    ("search", "bad.yaml"),
    ("search", "gpt3-4k", "--engine", "x"),
    ("search", "gpt3-4k", "--evaluations", -1),
    ("search", "gpt3-4k", "--set", "npus=seven"),
    ("search", "gpt3-4k", "--set", "npu=4"),
    ("evaluate", "gpt3-4k#SW(8)"),
    ("evaluate", f"{ORDERS}#SW(8)"),
    ("explain", f"{DESIGNS}#9999"),
    ("front", "nowhere"),
    ("front", DESIGNS, "--where", "time<<3"),
    ("front", DESIGNS, "--sort", "colour"),
    ("recommend", ORDERS, "--max-cost", "much"),
    ("recommend", DESIGNS, "--fail", "leaf"),
    ("prices", DESIGNS),
    ("rescore", DESIGNS, "--time", "astra"),
    ("diff", f"{DESIGNS}#0", f"{ORDERS}#0"),
    ("report", DESIGNS, ORDERS),
    ("catalog", "nothing"),
    ("export", f"{DESIGNS}#0", "--to", "netbox"),
    ("export", f"{DESIGNS}#0", "--to", "nothing"),
    ("import", "bad.yaml"),
    ("run", "bad.yaml"),
    ("plan", "gpt3-4k"),
    ("simulate", "--npus", 4),
    ("validate", "--group", "nothing"),
    ("certify", PYTHON),
    ("init", "x.yaml", "--model", "nothing", "--system", "hgx-b200", "--npus", 8),
    ("draw", "SW8("),
    ("search", "mixtral-8x7b-256", "--set", "npus=257"),
    ("search", "mixtral-8x7b-256", "--set", "systems=[tpu]"),
    ("search", "wafer-20", "--set", "npus=21"),
    ("evaluate", f"{ORDERS}#zcube(16, 2)"),
    ("export", f"{FABRICS}#0", "--to", "nothing"),
    ("workload", "show", "nowhere"),
    ("nothing",),
    ("search", "gpt3-4k", "--objectives", "x"),
    ("compare",),
    ("bench", "gpt3-4k"),
    ("fit-npu", "bad.yaml", "--npu", "x"),
    ("reproduce", "nowhere"),
    ("draw", f"{FABRICS}#knee"),
    ("explain", f"{FABRICS}#knee"),
    ("diff", f"{FABRICS}#0", 1),
    ("fit-npu", "gone.txt", "--npu", "h100-80gb"),
    ("results", "--out", "nowhere"),
    ("import", "megatron.args"),
    ("import", "topology.xml"),
    ("import", "matrix.txt"),
    ("import", "nccl.log", "topology.xml"),
    ("import", "deepspeed.json", "megatron.args"),
    ("init", "y.yaml", "--model", "qwen3-235b", "--npus", 8),
)
"""Wrong inputs."""

UNKEPT: Sequence[Line] = (
    ("recommend", ORDERS, "--max-cost", "1USD"),
    ("recommend", ORDERS, "--rate", "99999Mtoken/s"),
    ("recommend", DESIGNS, "--max-time", "1us"),
    ("front", DESIGNS, "--where", "time<1us"),
)
"""Questions without an answer, whose exit code is 1."""


KERNELS = "\n".join([
    "framework,version,device,gemm_dtype,m,n,k,latency",
    *(f"TRTLLM,1.2.0,NVIDIA H100,bfloat16,{m},4096,4096,{0.004 + m * 6e-5:.5f}" for m in range(64, 2048, 64)),
    "TRTLLM,1.2.0,NVIDIA H100,fp8_block,1024,1024,1024,0.1", "",
])  # fmt: skip
EXPERIMENT = "problem: gpt3-4k\nevaluations: 200\npopulation: 50\nrepeats: 2\n"


def prepare(folder: Path) -> None:
    """Write the files that the command lines name, and the input files of ASTRA-sim."""
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    (folder / "small.yaml").write_text(json.dumps(order_data()))
    (folder / "gemm_perf.txt").write_text(KERNELS)
    (folder / "bad.yaml").write_text("version: 1\nname: bad\nnpu: 4\nworkloads: 3\n")
    (folder / "topology.xml").write_text(topology())
    (folder / "matrix.txt").write_text(matrix("NV18", 8))
    (folder / "nccl.log").write_text(table())
    for name, source in {
        "megatron.args": "megatron_gpt_oss_120b.args", "deepspeed.json": "deepspeed_accumulation.json",
        "system.json": "calculon_system_a100_80g.json",
    }.items():  # fmt: skip
        shutil.copy(CASES / source, folder / name)
