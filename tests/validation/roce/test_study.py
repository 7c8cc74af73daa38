"""Links of the study's cluster, and what a flow alone takes, worked by hand: 128 NPUs in leaves of 16."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.validation.roce.fluid import Fluid, Network
from evo_libra.validation.roce.laws import LineRate
from evo_libra.validation.roce.steps import all_reduce_seconds
from evo_libra.validation.roce.study import (
    STEP,
    Phase,
    network_of,
    run,
)


def test_links_are_those_of_the_study() -> None:
    # Six kinds of links: NIC, leaf to spine, spine to leaf, leaf to NPU, and NIC and leaf to NPU of flows inside.
    network = network_of(Phase(near=1, far=1, crossing=1, size=1.0))
    assert network.capacity.tolist() == [25e9] * 6
    assert network.delay.tolist() == [5e-6, 12.5e-6, 12.5e-6, 5e-6, 5e-6, 5e-6]
    assert network.switch.tolist() == [-1, 0, 1, 2, -1, 2]
    # A leaf has one NPU whose neighbour is outside, and 15 whose neighbour is inside.
    assert network.copies.tolist() == [1.0, 1.0, 1.0, 1.0, 1.0, 15.0]
    assert network.path.tolist() == [[4, 5, -1, -1], [0, 1, 2, 3]]
    # 2 (5 + 5) us inside, 2 (5 + 12.5 + 12.5 + 5) us outside.
    assert network.round_trip.tolist() == pytest.approx([20e-6, 70e-6])


def test_all_of_a_leaf_share_eight_uplinks() -> None:
    network = network_of(Phase(near=0, far=1, crossing=16, size=1.0))
    assert network.copies.tolist() == [1.0, 8.0, 8.0, 16.0, 1.0, 16.0]
    assert network.path.tolist() == [[0, 1, 2, 3]]
    assert network.sharing.tolist() == [[1.0, 2.0, 2.0, 1.0]]
    both = network_of(Phase(near=15, far=112, crossing=16, size=1.0))
    assert both.copies.tolist() == [1.0, 8.0, 8.0, 16.0, 1.0, 16.0]
    assert both.path.tolist() == [[0, 3, -1, -1], [0, 1, 2, 3]]


def test_a_message_alone_takes_its_bytes_and_its_delay() -> None:
    # 250 kB at 25 GB/s are 10 steps of 1 us; the last one is under way for 2 + 3 us.
    network = Network(
        np.full(2, 25e9), np.array([2e-6, 3e-6]), np.array([-1, 0]), np.ones(2), np.array([[0, 1]]), np.ones((1, 2))
    )
    assert run(network, LineRate().controller(network, 1e-6), np.array([250e3]), 1e-6) == pytest.approx(15e-6)


def test_a_source_sends_at_the_rate_of_its_controller() -> None:
    # At half the rate of its NIC, 250 kB take 20 steps of 1 us, and the last one 2 + 3 us more.
    network = Network(
        np.full(2, 25e9), np.array([2e-6, 3e-6]), np.array([-1, 0]), np.ones(2), np.array([[0, 1]]), np.ones((1, 2))
    )
    controller = LineRate().controller(network, 1e-6)
    controller.rate = controller.rate / 2
    assert run(network, controller, np.array([250e3]), 1e-6) == pytest.approx(25e-6)


@pytest.mark.slow
def test_headers_are_on_the_wire() -> None:
    # A halving-doubling of 16 MB under PFC. Inside the leaf, messages of 8, 4, 2 and 1 MB; outside, two NPUs share an
    # uplink: 0.5, 0.25 and 0.125 MB at half the rate. Twice 16.75 MB x 1.062 / 25 GB/s = 1423.08 us, and the delays:
    # twice 4 x 10 us and 3 x 35 us; a phase ends with a step of 0.25 us.
    seconds = all_reduce_seconds("pfc", "halving-doubling", 16e6, STEP)
    assert pytest.approx(1423.08e-6) == 2 * (15e6 + 2 * 0.875e6) * 1.062 / 25e9
    assert seconds == pytest.approx(1423.08e-6 + 2 * (40e-6 + 105e-6), abs=14 * 0.25e-6)
    assert all_reduce_seconds("hpcc", "halving-doubling", 16e6, STEP, LineRate()) == pytest.approx(
        1423.08e-6 * 1.110 / 1.062 + 290e-6, abs=14 * 0.25e-6
    )


# Steps of 1 us on a NIC and a link of a switch, both of 1 GB/s (1000 B a step), and 2 us and 3 us of delay.


def fluid(flows: int = 1, copies: float = 1.0) -> Fluid:
    path = np.column_stack([np.arange(flows), np.full(flows, flows)])
    delay = np.append(np.full(flows, 2e-6), 3e-6)
    switch = np.append(np.full(flows, -1), 0)
    return Fluid(Network(np.full(flows + 1, 1e9), delay, switch, np.full(flows + 1, copies), path,
                         np.ones((flows, 2))), 1e-6)  # fmt: skip


def test_bytes_are_delivered_after_the_delays_of_their_links() -> None:
    one = fluid()
    assert one.step(np.array([600.0])).tolist() == [600.0]
    assert one.step(np.array([1500.0])).tolist() == [1000.0]  # a step of the NIC
    delivered = list[float]()
    for _ in range(5):
        one.step(np.zeros(1))
        delivered.append(one.delivered.item())
    # Sent in steps 1 and 2, at the switch in steps 3 and 4, there in steps 6 and 7.
    assert delivered == [0.0, 0.0, 0.0, 600.0, 1600.0]


def test_two_flows_wait_in_the_queue_of_one_link() -> None:
    two, queue = fluid(flows=2), list[float]()
    for _ in range(4):
        two.step(np.full(2, 1000.0))
        queue.append(two.queues[two.now % len(two.queues), 2].item())
    # 2000 B come in each step from the third one on, and 1000 B go.
    assert queue == [0.0, 0.0, 1000.0, 2000.0]
    assert two.rates[two.now % len(two.rates)].tolist() == [1e9, 1e9, 1e9, 0.0]
    assert two.held.tolist() == [4000.0, 4000.0]
    # A round trip is 10 steps, so sources know nothing of it; then they see step 4.
    assert two.signals().queue.tolist() == [[0.0, 0.0]] * 2
    for _ in range(10):
        two.step(np.zeros(2))
    assert two.signals().queue.tolist() == [[0.0, 2000.0]] * 2


def test_acknowledgements_take_half_a_round_trip() -> None:
    one = fluid()
    one.step(np.array([600.0]))
    left = list[float]()
    for _ in range(11):
        one.step(np.zeros(1))
        left.append(one.unacknowledged.item())
    # Delivered in step 6, known 5 steps later.
    assert left == [600.0] * 9 + [0.0] * 2


def test_a_switch_pauses_at_eleven_percent_of_its_free_buffer() -> None:
    # 0.11 (32e6 - q) < q from q = 3.52e6 / 1.11 = 3171171.2 B on. At 3e6 B a second step holds 3.1e6 and no pause.
    def paused(queue: float, copies: float = 1.0) -> bool:
        one = fluid(copies=copies)
        one.backlog[0, 1] = queue + 1000.0  # the step sends 1000 B of it
        one.step(np.zeros(1))
        return bool(one.paused[0])

    assert not paused(3171170.0)
    assert paused(3171172.0)
    # Ten such queues in a switch: q > 0.11 (32e6 - 10 q) from 3.52e6 / 2.1 = 1676190.5 B on.
    assert not paused(1676190.0, copies=10.0)
    assert paused(1676191.0, copies=10.0)


def test_a_pause_ends_two_packets_below_its_limit_and_reaches_the_nic_after_its_delay() -> None:
    one = fluid()
    one.backlog[0, 1] = 3173000.0
    one.step(np.zeros(1))  # 3172000 B: paused; limit 0.11 x 28828000 = 3171080 B
    sent = [one.step(np.array([1000.0])).item() for _ in range(8)]
    # The pause takes 2 us to the NIC: step 2 still sends, step 3 does not. The queue has 3171000, 3170000, 3170000
    # (what step 2 sent is there) and 3169000 B after steps 2 to 5; 3169000 < 0.11 x 28831000 - 2124 = 3169286 ends
    # the pause, which the NIC knows in step 7.
    assert sent == [1000.0, 0.0, 0.0, 0.0, 0.0, 1000.0, 1000.0, 1000.0]
