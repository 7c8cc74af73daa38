"""Training software by name, year and generation of accelerators."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.workload.models.stacks import NEWEST, STACKS, stack_of


@pytest.mark.parametrize(
    ("npu", "name"),
    [
        ("h100-80gb", "megatron-2025"),
        ("h200-141gb", "megatron-2025"),
        ("gb300", "megatron-2025"),
        ("a100-80gb", "unmeasured-2025"),
        ("tpu7x", "unmeasured-2025"),
    ],
)
def test_the_newest_software_has_rows_of_the_generation(npu: str, name: str) -> None:
    assert stack_of(NEWEST, load_accelerators()[npu].generation).name == name


def test_figures_are_those_of_the_generation() -> None:
    hopper, blackwell, other = (stack_of("megatron-2025", one) for one in ("hopper", "blackwell", None))
    assert (hopper.hides_tensor, blackwell.hides_tensor, other.hides_tensor) == (None, 0.33, None)
    assert (hopper.taken, blackwell.taken, other.taken) == (3 / 132, 4 / 148, 0.0)
    assert hopper.exposes_data == blackwell.exposes_data == 0.65
    # 2 bytes of an 8-bit copy and its transposed one over the 10.4 of a kernel alone.
    assert (hopper.quantisation, blackwell.quantisation) == (2 / 10.4, 1.0)


def test_products_of_eight_bits_have_a_factor_of_their_own() -> None:
    torch = stack_of("torchtitan-2025", "hopper")
    assert torch.compute_in("bf16") == torch.compute
    assert torch.compute_in("fp8") == torch.compute * torch.narrow


def test_every_software_of_a_year_has_a_source_with_rows_and_its_error() -> None:
    for stack in STACKS.values():
        for generation in stack.generations or ("",):
            found = stack.on(generation)
            assert found.source or stack.name == "any", stack.name
            assert bool(found.rows) == bool(found.error), stack.name
