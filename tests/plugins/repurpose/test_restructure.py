from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from small_networks import mixed_network, random_network

from evo_libra.plugins.repurpose.assignment import blocks, capacities, contiguous, direct, shuffled
from evo_libra.plugins.repurpose.copies import Owners, energies_of
from evo_libra.plugins.repurpose.family import Family, first_owners, improved, loss_of
from evo_libra.plugins.repurpose.partition import partition

EVEN = np.ones(3)


def test_neurons_that_belong_together_come_together_and_nothing_is_sent() -> None:
    network = mixed_network()
    family = Family(network, blocks(12, EVEN), EVEN, (0.0,))
    choice = family.choose(np.zeros((2, 1)), np.zeros(1, dtype=np.int64))
    found = family.partition(int(choice.owners[0]), choice.dropped[:, 0].tolist())
    assert found.copies == 0
    assert found.error == 0.0
    assert partition(network, contiguous(network, family.inputs, EVEN), EVEN, [0.0, 0.0]).copies > 0


@pytest.mark.parametrize("seed", range(20))
def test_no_assignment_of_a_small_layer_loses_less(seed: int) -> None:
    network = random_network(seed, (9, 8 if seed % 5 == 0 else 6))
    inputs, energies = blocks(9, EVEN), energies_of(network)
    outputs = network.layers[0].outputs
    room = [capacities(outputs, EVEN, 0.2 * (seed % 2))]
    every = [one for one in product(range(3), repeat=outputs) if (np.bincount(one, minlength=3) <= room[0]).all()]
    energy = np.stack([energies[0].read(np.array(one), 3) for one in every])
    other = inputs[:, None] != np.arange(3)
    start = first_owners(energies, inputs, room)
    for price in np.geomspace(1e-5, 1e-1, 9):
        losses = (np.minimum(energy, price) * other).sum(axis=(1, 2))
        owners = improved(energies, start, room, [price])
        assert loss_of(energies, owners, 3, [price]) == pytest.approx(losses.min(), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_step_never_loses_more(seed: int) -> None:
    network = random_network(seed)
    energies, inputs = energies_of(network), blocks(12, EVEN)
    room = [capacities(layer.outputs, EVEN, 0.25) for layer in network.layers]
    starts = [first_owners(energies, inputs, room), contiguous(network, inputs, EVEN), direct(network, inputs, EVEN)]
    for start in starts:
        for price in (1e-5, 1e-3, 1e-1):
            found = improved(energies, start, room, [price] * 2)
            assert loss_of(energies, found, 3, [price] * 2) <= loss_of(energies, start, 3, [price] * 2)
            assert improved(energies, found, room, [price] * 2) is found


@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_of_workers_and_neurons_mean_nothing(seed: int) -> None:
    network = random_network(seed)
    random, prices = np.random.default_rng(seed), [3e-3, 3e-3]
    energies, inputs = energies_of(network), blocks(12, EVEN)
    room = [capacities(layer.outputs, EVEN, 0.0) for layer in network.layers]
    found = improved(energies, first_owners(energies, inputs, room), room, prices)
    workers, neurons = random.permutation(3), random.permutation(12)
    other = type(network)(
        (
            type(network.layers[0])(network.layers[0].weights[neurons], network.layers[0].bias[neurons]),
            type(network.layers[1])(network.layers[1].weights[:, neurons], network.layers[1].bias),
        ),
        network.samples, network.held_out,
    )  # fmt: skip
    renamed = [capacity[np.argsort(workers)] for capacity in room]
    mine = energies_of(other)
    again = improved(mine, first_owners(mine, workers[inputs], renamed), renamed, prices)
    first, second = partition(network, found, EVEN, prices), partition(other, again, EVEN, prices)
    assert second.copies == first.copies
    assert second.error == pytest.approx(first.error, rel=1e-9)
    assert second.imbalance == pytest.approx(first.imbalance)
    assert second.error_rate == first.error_rate


@pytest.mark.slow
def test_a_higher_price_never_sends_more() -> None:
    for seed in range(3):
        network = random_network(seed, (12, 10, 9))
        family = Family(network, blocks(12, EVEN), EVEN, (0.0, 0.5))
        prices = np.append(0.0, np.geomspace(*family.prices, 300))
        for slack in range(2):
            choice = family.choose(np.tile(prices, (2, 1)), np.full(301, slack))
            sent = family.sent(choice).sum(axis=0)
            assert (np.diff(sent) <= 0).all()
            assert sent[-1] == 0
            known = family.partition(int(choice.owners[150]), choice.dropped[:, 150].tolist())
            assert known.copies == sent[150]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
def test_others_never_send_less_at_equal_error(seed: int) -> None:
    network = random_network(seed)
    inputs, random = blocks(12, EVEN), np.random.default_rng(seed)
    family = Family(network, inputs, EVEN, (0.0,))
    ladder = np.append(0.0, np.geomspace(*family.prices, 200))
    low, high = np.log(1e-5 * family.prices[1]), np.log(family.prices[1])
    prices = np.concatenate([np.tile(ladder, (2, 1)), np.exp(random.uniform(low, high, (2, 1500)))], axis=1)
    choice = family.choose(prices, np.zeros(prices.shape[1], dtype=np.int64))
    keys = np.unique(np.vstack([choice.owners, choice.dropped]), axis=1).T.tolist()
    front = [(one.copies, one.error) for one in (family.partition(key[0], key[1:]) for key in keys)]
    others = {
        "contiguous": contiguous(network, inputs, EVEN),
        "random": shuffled(network, inputs, EVEN, seed),
        "direct": direct(network, inputs, EVEN),
    }
    for name, owners in others.items():
        for price in (0.0, *np.geomspace(*family.prices, 12)):
            one = partition(network, owners, EVEN, [price, price])
            # As in the problem, errors below one percent count alike.
            best = min(copies for copies, error in front if error <= max(one.error, 0.01))
            assert best <= one.copies, (name, price)


def test_baselines_fill_the_workers_alike() -> None:
    network = random_network(0)
    inputs = blocks(12, EVEN)
    place = network, inputs, EVEN
    for owners in (contiguous(*place), shuffled(*place, seed=1), direct(*place)):
        sizes = [np.bincount(mine, minlength=3).max() for mine in owners]
        assert sizes == [4, 4, 3]


def owners_of_one(sizes: tuple[int, ...]) -> Owners:
    return tuple(np.zeros(size, dtype=np.int64) for size in sizes)


def test_one_worker_sends_nothing_and_loses_nothing() -> None:
    network = random_network(1)
    for price in (0.0, 1.0):
        found = partition(network, owners_of_one((12, 12, 8)), np.ones(1), [price, price])
        assert (found.copies, found.error, found.imbalance) == (0, 0.0, 1.0)
