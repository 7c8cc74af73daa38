"""Mixtures of experts: what they send where, and groups that are two groups together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evo_libra import load_problem
from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.problem.time_models.libra import LibraTime
from evo_libra.problem.time_models.loops import weighted_loop
from evo_libra.workload.layers.generators import MoeSpec, moe

MODEL = MoeSpec(kind="moe", hidden=64, expert_hidden=256, experts=8, top_k=2, layers=3, sequence=32, batch=4)
TOKENS = 32 * 4
RATE = 1e9


def sent(tp: int, ep: int) -> dict[tuple[str, Collective], float]:
    """Return the bytes of each kind of collective in an iteration."""
    found: dict[tuple[str, Collective], float] = {}
    for layer in moe("m", MODEL, tensor_parallel=tp, expert_parallel=ep, rate=RATE).layers:
        for phase in layer.phases:
            if phase.collective is not None:
                key = phase.group, phase.collective
                found[key] = found.get(key, 0.0) + phase.size
    return found


def test_tokens_go_to_their_experts_and_back_forward_and_backward() -> None:
    found = sent(tp=2, ep=4)
    assert found["ep", Collective.ALL_TO_ALL] == 3 * 4 * 2 * TOKENS * 64 * 2
    assert found["tp", Collective.ALL_REDUCE] == 3 * 4 * TOKENS * 64 * 2
    assert set(found) == {
        ("ep", Collective.ALL_TO_ALL),
        ("tp", Collective.ALL_REDUCE),
        ("dp", Collective.ALL_REDUCE),
        ("ep+dp", Collective.ALL_REDUCE),
    }


def test_gradients_of_experts_and_of_all_else_are_those_of_their_weights() -> None:
    dense, experts = 3 * (4 * 64 * 64 / 2 + 64 * 8), 3 * 2 * 64 * 256 / 2
    for ep in (1, 2, 8):
        found = sent(tp=2, ep=ep)
        assert found["ep+dp", Collective.ALL_REDUCE] == 2 * dense
        assert found["dp", Collective.ALL_REDUCE] == 2 * experts * 8 / ep


def test_compute_is_that_of_the_matrices_and_does_not_depend_on_where_experts_are() -> None:
    one = moe("m", MODEL, tensor_parallel=1, expert_parallel=1, rate=RATE)
    attention = 2 * TOKENS * 64 * (4 * 64 + 2 * 32)
    experts = 2 * 2 * TOKENS * 2 * 64 * 256
    rest = 2 * TOKENS * 64 * 8 + 2 * 2 * TOKENS * 64
    assert one.compute == pytest.approx(3 * 3 * (attention + experts + rest) / RATE, rel=1e-6)
    assert moe("m", MODEL, tensor_parallel=1, expert_parallel=8, rate=RATE).compute == one.compute


def test_a_group_of_two_groups_is_their_union() -> None:
    workload = moe("m", MODEL, tensor_parallel=4, expert_parallel=8, rate=RATE)
    loop = weighted_loop(workload, {"tp": 4, "ep": 8, "dp": 4}, 1.0, "none", 128)
    assert loop.degrees["ep+dp"] == 32
    model = LibraTime((loop,))
    sizes = np.array([[8, 2], [4, 16], [4, 4]])
    placed = {group: at for (_, group), at in model.placed(sizes).items() if group != "all"}
    assert placed["ep"].extent.T.tolist() == [[2, 4, 1], [1, 8, 1]]
    assert placed["dp"].extent.T.tolist() == [[1, 1, 4], [1, 1, 4]]
    assert placed["ep+dp"].extent.T.tolist() == [[2, 4, 4], [1, 8, 4]]
    assert placed["ep+dp"].stride.T.tolist() == placed["ep"].stride.T.tolist()
    assert (placed["ep+dp"].extent.prod(axis=0) == 32).all()


def load(folder: Path, parallelism: str, generator: str = "") -> None:
    (folder / "p.yaml").write_text(
        "name: m\nnpus: 256\nfabric: {catalog: libra}\nworkloads:\n  - generator: {kind: moe, hidden: 64, "
        f"expert_hidden: 256, experts: 8, top_k: 2, layers: 1, sequence: 32, batch: 4{generator}}}\n"
        f"    parallelism: {parallelism}\n    compute_TFLOPS: 100\n"
    )
    load_problem(str(folder / "p.yaml"))


def test_what_cannot_be_spread_is_told(tmp_path: Path) -> None:
    load(tmp_path, "{tp: 4, ep: 8}")
    with pytest.raises(InputError, match="must divide the 8 experts"):
        load(tmp_path, "{tp: 4, ep: 16}")
    with pytest.raises(InputError, match="collectives on ep; its degree is required"):
        load(tmp_path, "{tp: 4}")
    with pytest.raises(InputError, match="'tp' is required"):
        load(tmp_path, "{ep: 8}")
    (tmp_path / "p.yaml").unlink()
    with pytest.raises(InputError, match="extra"):
        load(tmp_path, "{tp: 4, ep: 8}", ", extra: 1")
