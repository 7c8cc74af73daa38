"""Names of devices and ports, and NetBox's units, on one cable."""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.exchange import devices, netbox
from evo_libra.exchange.devices import Cable, device_name, named_cables, pricing_of_parts
from evo_libra.network.blocks import ITEMS
from evo_libra.network.cabling.cables import Cables

CABLE = Cable((("npu-000001", "1-pod-1"), ("switch-000001", "port-3")), 1, "pod", "link", "dac-400g", 50e9)


def written(
    name: str, monkeypatch: pytest.MonkeyPatch, spares: int = 0
) -> tuple[list[dict[str, str]], tuple[str, ...]]:
    monkeypatch.setattr(netbox, "named_cables", lambda _: iter([CABLE]))
    (writer,) = [one for one in netbox.WRITERS if one.name == name]
    chosen: Any = SimpleNamespace(
        population=SimpleNamespace(spares=np.array([spares])), problem=SimpleNamespace(book=None)
    )
    found = writer.write(chosen)
    return list(csv.DictReader(io.StringIO(str(found.content), newline=""))), found.left


def test_speeds_of_interfaces_are_kilobits_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    # NetBox's field `speed` is in Kbps: 50 GB/s are 400 Gb/s.
    rows, _ = written("netbox-interfaces", monkeypatch)
    assert rows == [
        {"device": device, "name": port, "type": "other", "speed": "400000000", "description": "dimension 1, pod"}
        for device, port in CABLE.ends
    ]


def test_cables_have_two_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, left = written("netbox-cables", monkeypatch)
    assert rows == [{
        "side_a_device": "npu-000001", "side_a_type": "dcim.interface", "side_a_name": "1-pod-1",
        "side_b_device": "switch-000001", "side_b_type": "dcim.interface", "side_b_name": "port-3",
        "status": "planned", "label": "dac-400g", "description": "link, dimension 1",
    }]  # fmt: skip
    assert len(left) == 1
    assert len(written("netbox-cables", monkeypatch, spares=3)[1]) == 2


def test_devices_and_ports_count_from_one_and_dimensions_from_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    # Four NPUs; NPU 0 by its second port of dimension 1 to the port 2 of switch 5, which is the second one.
    found = Cables(
        4, np.array([1, 1]), np.array([1, 1]), np.array([[0], [5]]), np.array([1]), np.array([ITEMS.index("link")]),
        np.array([[1], [2]]),
    )  # fmt: skip
    kit = SimpleNamespace(links=SimpleNamespace(name="dac"), uplink=None, transceiver=None, nic=None, switch=None,
                          short=None, port_rate=50e9)  # fmt: skip
    monkeypatch.setattr(devices, "wired", lambda _: found)
    monkeypatch.setattr(devices, "pricing_of_parts", lambda _: SimpleNamespace(parts=[kit, kit]))
    chosen: Any = SimpleNamespace(
        population=SimpleNamespace(technology=np.array([[0], [1]])),
        problem=SimpleNamespace(catalog=SimpleNamespace(names=["node", "pod"])),
    )
    (cable,) = named_cables(chosen)
    assert cable == Cable((("npu-000001", "1-pod-2"), ("switch-000002", "port-3")), 1, "pod", "link", "dac", 50e9)
    assert device_name("host", 3) == "host-000003"


def test_prices_per_bandwidth_have_no_cables() -> None:
    chosen: Any = SimpleNamespace(problem=SimpleNamespace(name="p", pricing=None))
    with pytest.raises(InputError, match="'p' has no parts to connect"):
        pricing_of_parts(chosen)
