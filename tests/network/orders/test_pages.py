"""The example of the page on own products works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evo_libra.network.orders.bill import bill_of
from evo_libra.network.orders.catalog import load_products
from evo_libra.network.orders.notation import read_order
from evo_libra.network.orders.products import ProductsSpec

OWN = Path(__file__).parents[3] / "docs" / "how-to" / "own-products.md"


def example(folder: Path) -> ProductsSpec:
    """Return the catalogue of the page."""
    (text,) = re.findall(r"```yaml\n(.*?)```", OWN.read_text(), flags=re.DOTALL)
    (folder / "ours.yaml").write_text(text)
    return load_products("ours.yaml", folder)


def test_the_catalogue_of_the_example_loads(tmp_path: Path) -> None:
    own, base = example(tmp_path), load_products("products-2026")
    assert own.systems.keys() - base.systems.keys() == {"our-server"}
    assert own.switches["sn5600"].price_usd == 82000
    assert (own.rules["support"].units, base.rules["support"].units) == (0.03, None)


def test_licences_support_and_installation_of_the_example_have_lines_that_can_be_left_out(tmp_path: Path) -> None:
    own = example(tmp_path)
    order = read_order("128 our-server / connectx-7 1 x 400G / qm9700 rail-optimised 1:1", own)
    bill = bill_of(order, own)
    # 4,500 USD for each of 1,024 GPUs; 3 % of 128 x 280,000 USD; 8 % of the network.
    assert bill.usd_of("licences").value == 4_608_000
    assert bill.usd_of("support").value == 1_075_200
    assert bill.usd_of("installation").value == pytest.approx(0.08 * bill.network_usd().value, abs=0.01)
    for rule, section in (
        ("software-licences", "licences"), ("support", "support"), ("installation", "installation"),
    ):  # fmt: skip
        without = bill_of(order, own, without=frozenset({rule}))
        assert without.usd_of(section).value == 0
        left = bill.order_usd().value - bill.usd_of(section).value
        assert without.order_usd().value == pytest.approx(left, abs=0.005)
    without = bill_of(order, load_products("products-2026").model_copy(update={"systems": own.systems}))
    assert not {"licences", "support", "installation"} & {line.section for line in without.lines}
