"""Fabrics that cannot be built are met with one sentence."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.network.fabrics.layered import AffineMap, Between, LayeredFabric, Within, clique


def fabric(between: Between, layers: tuple[int, ...] = (16, 4), within: tuple[Within, ...] = ()) -> LayeredFabric:
    return LayeredFabric(layers, (between,), within, server=1)


@pytest.mark.parametrize(
    ("between", "sentence"),
    [
        (
            Between(0, 1, 3, 1, 1, rate=1.0),
            "layer 0 has 16 nodes, and 3 blocks do not divide them evenly; allowed: divi",
        ),
        (
            Between(0, 1, 4, 3, 1, rate=1.0),
            "layer 1 has 4 nodes, and 3 blocks do not divide them evenly; allowed: divis",
        ),
        (
            Between(0, 1, 2, 4, 1, rate=1.0),
            "layers 0 and 1 cannot be joined evenly: 2 lower blocks on 4 upper ones; all",
        ),
        (
            Between(0, 1, 1, 1, 5, rate=1.0),
            "layers 0 and 1 cannot be joined evenly: 5 links of a node to a block of 4; ",
        ),
        (
            Between(0, 1, 16, 1, 1, rate=1.0),
            "layers 0 and 1 cannot be joined evenly: 1 nodes of 1 links on 4 nodes; all",
        ),
        (
            Between(0, 1, 1, 1, 1, rate=0.0),
            "layers 0 and 1 cannot be joined evenly: 1 parallel links of 0.0 B/s; allowe",
        ),
        (
            Between(1, 0, 1, 1, 1, rate=1.0),
            "layers 1 and 0 cannot be joined; allowed: two of 0 to 1, the lower one first",
        ),
        (
            Between(0, 2, 1, 1, 1, rate=1.0),
            "layers 0 and 2 cannot be joined; allowed: two of 0 to 1, the lower one first",
        ),
    ],
)
def test_layers_that_cannot_be_joined(between: Between, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        fabric(between)
    assert str(error.value).startswith(sentence)


def test_a_grid_holds_its_layer() -> None:
    down = Between(0, 1, 1, 1, 1, rate=1.0)
    grid = Within(1, (2, 3), (clique((2, 3), 0),), 1.0)
    with pytest.raises(InputError, match="layer 1: a grid of 2 x 3 does not hold its 4 nodes"):
        fabric(down, within=(grid,))
    short = Within(1, (2, 2), (AffineMap((1,), ((1,),), (0,), 1),), 1.0)
    with pytest.raises(InputError, match="layer 1: an affine map needs 2 rows because the grid is 2 x 2"):
        fabric(down, within=(short,))
    with pytest.raises(InputError, match="links within layer 2; allowed: 0 to 1"):
        fabric(down, within=(Within(2, (4,), (), 1.0),))


def test_servers_divide_the_npus() -> None:
    with pytest.raises(InputError, match="layer 0 has 16 NPUs, and 3 servers do not divide them evenly"):
        LayeredFabric((16, 4), (Between(0, 1, 1, 1, 1, rate=1.0),), server=3)
    with pytest.raises(InputError, match="no two layers are joined"):
        LayeredFabric((16, 4), ())
    with pytest.raises(InputError, match="a fabric needs NPUs and a layer of switches"):
        LayeredFabric((16,), ())
