"""The example of the page on own products works."""

from __future__ import annotations

import re
from pathlib import Path

from evo_libra.network.orders.catalog import load_products

OWN = Path(__file__).parents[3] / "docs" / "how-to" / "own-products.md"


def test_the_catalogue_of_the_example_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", OWN.read_text(), flags=re.DOTALL)
    (tmp_path / "ours.yaml").write_text(example)
    own, base = load_products("ours.yaml", tmp_path), load_products("products-2026")
    assert own.systems.keys() - base.systems.keys() == {"our-server"}
    assert own.switches["sn5600"].price_usd == 82000
    assert (own.rules["support"].units, base.rules["support"].units) == (0.03, None)
