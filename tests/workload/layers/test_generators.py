"""Generated workloads row by row, worked by hand: 1e9 FLOP/s, so that a FLOP takes a ns."""

from __future__ import annotations

import pytest

from evo_libra.collective import Collective
from evo_libra.workload.layers.generators import MoeSpec, TransformerSpec, dlrm, load_models, moe, transformer
from evo_libra.workload.layers.workload import IterationSize, Layer, Phase, Workload, scale_compute

AR, AG, A2A = Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.ALL_TO_ALL


def rows(workload: Workload) -> dict[str, list[tuple[int, str, float, str]]]:
    """Return ns, collective, bytes and group of the phases of each layer."""
    return {
        layer.name: [
            (
                round(p.compute * 1e9),
                p.collective.value if p.collective else "",
                p.size,
                p.group if p.collective else "",
            )
            for p in layer.phases
        ]
        for layer in workload.layers
    }


def test_a_transformer_of_libra() -> None:
    # h = 8, s = 4, b = 3, TP = 2: 12 tokens; activations of 2 x 12 x 8 = 192 B.
    # Projections 2 x 12 x 64 / 2 = 768 FLOP; scores 2 x 12 x 4 x 8 / 2 = 384; MLP 8 x 12 x 64 / 2 = 3072; norm
    # 2 x 12 x 8 = 192. Gradients of 12 h^2 l / TP = 768 weights for two layers: 1536 B.
    found = rows(transformer("t", hidden=8, layers=2, sequence=4, batch=3, tensor_parallel=2, rate=1e9))
    plain, reduced, wide = (768, "", 0.0, ""), (768, "all-reduce", 192.0, "tp"), (3072, "", 0.0, "")
    wide_reduced, scores = (3072, "all-reduce", 192.0, "tp"), (384, "", 0.0, "")
    second = {
        "layer1.query": [plain, reduced, plain],
        "layer1.key": [plain, plain, plain],
        "layer1.value": [plain, plain, plain],
        "layer1.scores": [scores, scores, scores],
        "layer1.attention": [scores, scores, scores],
        "layer1.output": [reduced, (768, "all-gather", 96.0, "tp"), plain],
        "layer1.mlp-up": [wide, wide_reduced, wide],
        "layer1.mlp-down": [wide_reduced, wide, wide],
        "layer1.norm": [(192, "", 0.0, "")] * 3,
    }
    first = {name.replace("1", "0"): phases for name, phases in second.items()}
    first["layer0.query"] = [plain, reduced, (768, "all-reduce", 1536.0, "dp")]
    assert found == first | second


def test_a_recommendation_model() -> None:
    # 3 samples, 5 tables of 4: exchanges of 3 x 5 x 4 x 2 = 120 B. Weights 2 x 7 + 7 x 4 + 6 x 1 = 48, so 96 B.
    found = rows(dlrm(
        "d", batch=3, bottom_mlp=(2, 7, 4), top_mlp=(6, 1), tables=5, embedding=4, embedding_ns=(11, 12, 13), rate=1e9,
    ))  # fmt: skip
    assert found == {
        "embeddings": [
            (11, "all-to-all", 120.0, "all"), (12, "all-to-all", 120.0, "all"), (13, "all-reduce", 96.0, "all"),
        ],
        "bottom-mlp0": [(84, "", 0.0, "")] * 3,  # 2 x 3 x 2 x 7
        "bottom-mlp1": [(168, "", 0.0, "")] * 3,
        "top-mlp0": [(36, "", 0.0, "")] * 3,
    }  # fmt: skip


def test_a_mixture_of_experts() -> None:
    # h = 8, experts of 16, 4 of them, 2 for each of 2 x 3 = 6 tokens, TP = 2, EP = 2; activations 2 x 6 x 8 = 96 B.
    model = MoeSpec(kind="moe", hidden=8, expert_hidden=16, experts=4, top_k=2, layers=1, sequence=2, batch=3)
    found = rows(moe("m", model, tensor_parallel=2, expert_parallel=2, rate=1e9))
    # Attention 2 x 6 x 8 x (4 x 8 + 2 x 2) / 2 = 1728; router 2 x 6 x 8 x 4 = 384; a matrix of the experts
    # 2 x 2 x 6 x 8 x 16 / 2 = 1536; weighting 2 x 2 x 6 x 8 = 192. Tokens to experts: 2 x 96 B.
    assert found == {
        "layer0.attention": [
            (1728, "all-reduce", 96.0, "tp"), (1728, "all-reduce", 96.0, "tp"),
            # 4 h^2 / TP + h x experts = 128 + 32 dense weights.
            (1728, "all-reduce", 320.0, "ep+dp"),
        ],
        "layer0.dispatch": [(384, "all-to-all", 192.0, "ep"), (384, "all-reduce", 96.0, "tp"), (384, "", 0.0, "")],
        "layer0.expert-up": [
            (1536, "", 0.0, ""), (1536, "all-to-all", 192.0, "ep"),
            # 2 h x 16 / TP of each of 4 / 2 experts: 256 weights.
            (1536, "all-reduce", 512.0, "dp"),
        ],
        "layer0.expert-down": [(1536, "all-to-all", 192.0, "ep"), (1536, "", 0.0, ""), (1536, "", 0.0, "")],
        "layer0.combine": [(192, "all-reduce", 96.0, "tp"), (192, "all-to-all", 192.0, "ep"), (192, "", 0.0, "")],
    }  # fmt: skip


def test_times_are_whole_nanoseconds() -> None:
    # 192 FLOP at 1e10 FLOP/s: 19.2 ns.
    layers = transformer("t", hidden=8, layers=1, sequence=4, batch=3, tensor_parallel=2, rate=1e10).layers
    assert layers[-1].forward.compute == 19e-9


def test_models_of_libra_have_the_sizes_of_its_inputs() -> None:
    gpt = load_models()["gpt-3-libra"]
    assert isinstance(gpt, TransformerSpec)
    sizes = {name: getattr(gpt, name) for name in ("hidden", "layers", "sequence", "batch")}
    assert sizes == {"hidden": 12288, "layers": 2, "sequence": 1024, "batch": 32}
    # LIBRA's GPT_3 at TP 16: activations of 2 x 32768 x 12288 = 805306368 B; projections
    # 2 x 32768 x 12288^2 / 16 FLOP at 60 x 2^40 FLOP/s are 9.375 ms, and 12 h^2 x 2 layers x 2 B / 16 = 452984832 B.
    first = transformer("gpt", **sizes, tensor_parallel=16, rate=60 * 2**40).layers[0]
    assert [phase.size for phase in first.phases] == [0.0, 805306368.0, 452984832.0]
    assert first.forward.compute == pytest.approx(2 * 32768 * 12288**2 / 16 / (60 * 2**40), abs=0.5e-9)


def test_all_phases_count_and_scale() -> None:
    plain = Layer("a", Phase(1.0), Phase(2.0), Phase(4.0, AR, 8.0, "dp"))
    workload = Workload("w", (plain, Layer("b", Phase(8.0, AG, 1.0, "tp"), Phase(0.0), Phase(0.0))))
    assert workload.compute == 15.0
    assert workload.groups == ("dp", "tp")
    assert scale_compute(workload, 0.5).compute == 7.5
    assert scale_compute(workload, 0.5).layers[0].weight_gradient == Phase(2.0, AR, 8.0, "dp")


def test_sizes_of_an_iteration() -> None:
    assert IterationSize(layers=2, sequence=3, batch=4, replicas=5).figures == {
        "layers": 2, "sequence": 3, "batch_per_replica": 4, "micro_batch": 4, "global_batch": 20,
    }  # fmt: skip
    assert IterationSize(batch=4, micro_batch=1, global_batch=7).figures == {
        "layers": None, "sequence": None, "batch_per_replica": 4, "micro_batch": 1, "global_batch": 7,
    }  # fmt: skip
