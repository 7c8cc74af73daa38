from __future__ import annotations

import pytest

from evo_libra.explain.fabric_record import CableRow, LayerRow, fabric_record, fabric_sections
from evo_libra.network.fabrics.named import parse_named
from evo_libra.network.fabrics.traffic import Policy, Traffic


def test_zcube_of_256_npus() -> None:
    """Tables 6 and 7 of ATOP scaled down; an NPU that has lost one of two ports sends half as fast."""
    policy, traffic = Policy("striped", "server"), [Traffic("data", 8, 32)]
    found = fabric_record("zcube(16, 2)", parse_named("zcube(16, 2)"), policy, traffic)
    assert found.layers == (LayerRow(0, 256, 2, 0.4), LayerRow(1, 16, 32, 6.4), LayerRow(2, 16, 32, 6.4))
    assert found.cables == (
        CableRow(0, 1, 256, 200.0, 3.0, copper=True), CableRow(0, 2, 256, 200.0, 15.0, copper=False),
        CableRow(1, 2, 256, 200.0, 30.0, copper=False),
    )  # fmt: skip
    assert (found.diameter, found.method) == (3.0, "digits")
    assert found.traffic[0].GBps == pytest.approx(50.0)
    assert found.traffic[0].without_switch[0] == pytest.approx(2.0)


def test_npus_without_a_path_are_said() -> None:
    """NPUs of BCube in different rows and columns need a third one that forwards."""
    policy = Policy("shortest", "none")
    found = fabric_record("bcube(8, 2)", parse_named("bcube(8, 2)"), policy, [Traffic("experts", 1, 64)])
    assert (found.mean_path, found.diameter, found.traffic[0].GBps) == (None, None, None)
    text = " ".join(part for one in fabric_sections(found) for part in one.parts if isinstance(part, str))
    assert "NPUs without a path" in text
    assert "forwarding 'server' joins them" in text or "forwarding 'any' joins them" in text
