"""Calculon's files: an application, an execution and a system (Isaev et al., SC 2023)."""

from __future__ import annotations

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft, Reader, without_none
from evo_libra.exchange.key_lists import judge
from evo_libra.exchange.keys import Keys
from evo_libra.files.source import Source
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.units import bytes_of_gib

_RECOMPUTE = {"full": "full", "attn_only": "selective", "none": "none"}
_DATATYPES = {"float16": "bf16", "bfloat16": "bf16", "float8": "fp8"}
_SPLIT = {"ar": False, "p2p_rs_ag": True, "rs_ag": True}
_OVERLAP = {"none": False, "ring": True, "pipe": True}
_ATTENTION = {"multihead": None, "multiquery": 1}
_OFFLOAD = ("weight_offload", "activations_offload", "optimizer_offload")
_VOCABULARY = 51200
_PEAK_OFF, _CAPACITY_OFF = 0.02, 0.1


def _has(source: Source, *keys: str) -> bool:
    return isinstance(source.data, dict) and all(key in source.data for key in keys)


def _application(source: Source) -> Draft:
    keys = Keys(source)
    hidden, heads = keys.needed("hidden"), keys.needed("attn_heads")
    generator = without_none({
        "layers": keys.needed("num_blocks"), "hidden": hidden, "heads": heads, "head_width": keys.size("attn_size"),
        "feed_forward": keys.needed("feedforward"), "gated": False, "vocabulary": _VOCABULARY, "tied": True,
        "sequence": keys.needed("seq_size"),
    })  # fmt: skip
    judge(keys, "calculon")
    keys.check()
    return Draft(
        generator, {"sequence": generator["sequence"]}, left=tuple(keys.left()),
        assumed=(f"a vocabulary of {_VOCABULARY}, which Calculon's applications do not have",),
    )  # fmt: skip


def _execution(source: Source) -> Draft:
    keys = Keys(source)
    if keys.flag("training") is False:
        keys.wrong(("training",), "found false; only training is read")
    degrees = {"tp": "tensor_par", "pp": "pipeline_par", "vp": "pipeline_interleaving", "dp": "data_par"}
    parallelism = {name: keys.size(key) or 1 for name, key in degrees.items()}
    fused = keys.flag("fused_activation")
    if fused is not None:
        keys.unsupported(("fused_activation",), "element-wise work is as the accelerator's constants have it")
    if keys.choice(_ATTENTION, "attention_type") == 1:
        keys.wrong(("attention_type",), "found multiquery, which belongs to the model; give it in a config.json")
    if keys.flag("seq_par_ag_redo") is not None:
        keys.unsupported(("seq_par_ag_redo",), "sequence parallelism always gathers again")
    for name in _OFFLOAD:
        if keys.flag(name):
            keys.unsupported(
                (name,),
                "is not carried over; `training.optimizer.placement` says it, with hosts in `system`",
            )
    overlap = {"tp": bool(keys.choice(_OVERLAP, "tensor_par_overlap")), "pp": False,
               "dp": bool(keys.flag("data_par_overlap"))}  # fmt: skip
    training = without_none({
        "global_batch": keys.needed("batch_size"), "micro_batch": keys.size("microbatch_size"),
        "precision": keys.choice(_DATATYPES, "datatype"), "gradients": "bf16",
        "recompute": keys.choice(_RECOMPUTE, "activation_recompute"),
        "sequence_parallel": keys.choice(_SPLIT, "tensor_par_comm_type"),
        "zero": int(bool(keys.flag("optimizer_sharding"))), "attention": "unfused", "overlap": overlap,
    })  # fmt: skip
    npus = keys.needed("num_procs")
    judge(keys, "calculon")
    keys.check()
    return Draft(training=training, parallelism=parallelism, npus=npus, left=tuple(keys.left()),
                 assumed=("attention that is not fused, and gradients in bf16, as Calculon has them",))  # fmt: skip


def _peak(keys: Keys) -> float | None:
    """Return the TFLOP/s of matrices in 16 bits of a file that has them by type."""
    return keys.number("matrix", "float16", "tflops") or keys.number("matrix", "bfloat16", "tflops")


def _system(source: Source) -> Draft:
    keys = Keys(source)
    peak = keys.number("matrix", "tflops") if keys.raw("matrix", "tflops") is not None else _peak(keys)
    capacity = keys.number("mem1", "GiB")
    keys.check()
    if peak is None or capacity is None:
        needed = "`matrix.float16.tflops` or `matrix.tflops`, and `mem1.GiB`, are needed to know the accelerator"
        raise InputError(source.mistake((), needed))
    found = [
        name for name, npu in load_accelerators().items()
        if abs(npu.peak.get("bf16", 0.0) / (peak * 1e12) - 1) <= _PEAK_OFF
        and abs(npu.memory_capacity / bytes_of_gib(capacity) - 1) <= _CAPACITY_OFF
    ]  # fmt: skip
    for part in ("vector", "mem1", "mem2", "networks", "matrix"):
        keys.reasons[part,] = "the catalogue's figures of the accelerator and its network are used"
    judge(keys, "calculon")
    keys.check()
    return Draft(npu=found[0] if found else None, left=tuple(keys.left()))


_APPLICATION = """{"hidden": 12288, "feedforward": 49152, "seq_size": 2048, "attn_heads": 96, "attn_size": 128,
 "num_blocks": 96}"""
_EXECUTION = """{"num_procs": 64, "tensor_par": 8, "pipeline_par": 8, "data_par": 1, "batch_size": 64,
 "microbatch_size": 1, "datatype": "float16", "activation_recompute": "attn_only",
 "pipeline_interleaving": 3, "optimizer_sharding": false, "tensor_par_comm_type": "rs_ag",
 "seq_par_ag_redo": true, "data_par_overlap": false, "weight_offload": false,
 "activations_offload": false, "optimizer_offload": false, "training": true}"""
_SYSTEM = """{"matrix": {"tflops": 312}, "vector": {"tflops": 78}, "mem1": {"GiB": 80, "GBps": 2048},
 "mem2": {"GiB": 512, "GBps": 32}, "networks": [{"bandwidth": 300, "size": 8}]}"""

READERS = (
    Reader("calculon-application", "the application file of Calculon: a model",
           lambda source: _has(source, "num_blocks", "attn_heads"), _application,
           (_APPLICATION,)),
    Reader("calculon-execution", "the execution file of Calculon: a plan",
           lambda source: _has(source, "num_procs", "tensor_par"), _execution,
           (_EXECUTION,)),
    Reader("calculon-system", "the system file of Calculon: which accelerator of the catalogue it is",
           lambda source: _has(source, "matrix", "mem1"), _system,
           (_SYSTEM,)),
)  # fmt: skip
