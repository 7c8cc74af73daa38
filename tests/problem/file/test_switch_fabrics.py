"""Mistakes of files that ask for a fabric."""

from __future__ import annotations

import pytest

from evo_libra import load_problem
from evo_libra.errors import InputError


@pytest.mark.parametrize(("assignments", "said"), [
    (("npus=300",), "npus: is 300; allowed: powers of two"),
    (("server=6",), "server: is 6; allowed: powers of two"),
    (("server=256",), "server: is 256; allowed: fewer than the 256 NPUs"),
    (("routing.paths=shorter",), "routing.paths: found 'shorter'"),
    (("routing.forwarding=all",), "routing.forwarding: "),
    (("limits.switch_Gbps=100",), "switch_Gbps"),
    (("objectives=[time, price]",), r"objectives\[1\]: "),
    (("npu=h1000",), "npu: unknown accelerator 'h1000'"),
    (("workloads[0].model=gpt-30",), "workloads"),
    (("routing={paths: striped, forwarding: any}",), "routing: paths 'striped' with forwarding 'any'"),
    (("workloads[0].parallelism={tp: 8, pp: 32}",), "workloads"),
])  # fmt: skip
def test_mistakes_are_named(assignments: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_problem("fabric-256", assignments)
