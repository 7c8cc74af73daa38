"""One step of each control law, worked by hand: a flow on one switch's link of 25 GB/s, a round trip of 10 us."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.validation.roce.fluid import Controller, Law, Network, Signals
from evo_libra.validation.roce.laws import LAWS, Dcqcn, Dctcp, Hpcc, LineRate, Timely

LINE, TRIP = 25e9, 1e-5


def network(sharing: float = 1.0) -> Network:
    """Return one class on a NIC and a link of a switch: 2.5 us each, so a round trip of 2 (2.5 + 2.5) = 10 us."""
    return Network(
        np.full(2, LINE), np.full(2, 2.5e-6), np.array([-1, 0]), np.ones(2), np.array([[0, 1]]),
        np.array([[sharing, sharing]]),
    )  # fmt: skip


def controller(law: Law, dt: float = TRIP, sharing: float = 1.0, **state: float) -> Controller:
    made = law.controller(network(sharing), dt)
    for name, value in state.items():
        setattr(made, name, np.array([value]))
    return made


def saw(queue: float, rate: float = 0.0) -> Signals:
    return Signals(np.array([[0.0, queue]]), np.array([[0.0, rate]]))


def test_pfc_sends_at_line_rate_whatever_it_sees() -> None:
    assert controller(LineRate()).update(saw(1e9)).tolist() == [25e9]


def test_a_controller_counts_periods_and_waiting() -> None:
    made = controller(LineRate(), dt=4e-6)
    assert [made.trips_end(np.array([TRIP])).item() for _ in range(4)] == [False, False, True, False]
    assert made.delay(saw(50e3)).tolist() == [2e-6]  # 50 kB / 25 GB/s


# DCTCP: alpha <- (1 - g) alpha + g F (eq. 1); W <- W (1 - alpha / 2) (eq. 2); g = 1/16, alpha starts at 1.


def test_dctcp_cuts_its_window_by_half_of_alpha() -> None:
    made = controller(Dctcp(), dt=4e-5)  # a round trip and 28 us in the queue of 700 kB
    # W = 25e9 x 1e-5 = 250 kB, F = 1: alpha = 1, W = 125 kB; a rate of 125e3 / 1e-5.
    assert made.update(saw(700e3)).tolist() == pytest.approx([12.5e9])
    # F = 0: W grows by 125e6 B/s x 10 us = 1250 B, and alpha falls to 15/16.
    assert made.update(saw(0.0)).tolist() == pytest.approx([12.625e9])
    # F = 1: alpha = 15/16 x 15/16 + 1/16 = 241/256; W = 126250 (1 - 241/512).
    assert made.update(saw(700e3)).tolist() == pytest.approx([126250 * 271 / 512 / 1e-5])


def test_dctcp_takes_the_marked_part_of_a_round_trip() -> None:
    made = controller(Dctcp())
    # The first of two steps is marked, and the round trip of 38 us is not over: nothing changes.
    assert made.update(saw(700e3)).tolist() == pytest.approx([25e9])
    # F = 1/2: alpha = 15/16 + 1/32 = 31/32; W = 250e3 (1 - 31/64) = 128906.25 B.
    assert made.update(saw(0.0)).tolist() == pytest.approx([12.890625e9])
    # Marks and steps are counted from 0 again: F = 0, so W grows by 1250 B.
    assert made.update(saw(0.0)).tolist() == pytest.approx([13.015625e9])


def test_dctcp_marks_above_600_kb_and_keeps_a_packet() -> None:
    assert controller(Dctcp(), dt=1.0).update(saw(600e3)).tolist() == [25e9]
    assert controller(Dctcp(), dt=1.0, bytes=125e3).update(saw(600e3)).tolist() == pytest.approx([12.625e9])
    assert controller(Dctcp(), dt=1.0, bytes=125e3).update(saw(600e3 + 1)).tolist() == pytest.approx([6.25e9])
    assert controller(Dctcp(), dt=1.0, bytes=1100.0).update(saw(1e6)).tolist() == pytest.approx([1062 / 1e-5])


# DCQCN, equations 5 to 9, at 1e6 packets of 1062 B per s and a target of twice that; tau = 50 us, T = tau' = 55 us,
# B = 10 MB, F = 5, g = 1/256, R_AI = 50 Mbit/s = 6.25e6 B/s; a step of 10 us.


def dcqcn(queue: float, alpha: float) -> list[float]:
    made = controller(Dcqcn(), rate=1062e6, target=2124e6, alpha=alpha)
    made.update(saw(queue))
    return [float(vars(made)[name].item()) for name in ("rate", "target", "alpha")]


def test_dcqcn_climbs_without_marks() -> None:
    # p = 0: 1e6 / (10e6 / 1062) = 106.2 events per s of the byte counter, 1 / 55 us = 18181.818 of the timer.
    # dR_C = (R_T - R_C) / 2 x 18288.018 x 1e-5; dR_T = R_AI x 18288.018 x 1e-5; dalpha = -g / tau' x alpha x 1e-5.
    rate, target, alpha = dcqcn(0.0, 1.0)
    assert rate == pytest.approx(1062e6 + 531e6 * 0.18288018, rel=1e-8)
    assert target == pytest.approx(2124e6 + 6.25e6 * 0.18288018, rel=1e-10)
    assert alpha == pytest.approx(1 - 1e-5 / 256 / 55e-6)
    assert alpha == pytest.approx(0.99928977, abs=1e-8)


def test_dcqcn_falls_when_every_packet_is_marked() -> None:
    # p = 1 above 2400 kB: no event of a counter; a notification each 50 us, so 0.2 of one in a step.
    # dR_T = -(R_T - R_C) 0.2; dR_C = -R_C alpha / 2 x 0.2; dalpha = g / tau' (1 - alpha) x 1e-5.
    rate, target, alpha = dcqcn(2400e3 + 1, 0.5)
    assert rate == pytest.approx(1008.9e6)
    assert target == pytest.approx(1911.6e6)
    assert alpha == pytest.approx(0.50035511, abs=1e-8)


def test_dcqcn_with_a_part_of_packets_marked() -> None:
    # Equation 5: p = (1500 - 600) / (2400 - 600) x 0.2 = 0.1. 1 - 0.9^50 = 0.994846225; 0.9^55 = 0.00304325294.
    # The byte counter never fills: 0.9^9416. The timer: 1e5 / (0.9^-55 - 1) = 305.2542 per s, and 0.9^275 of nothing.
    # dR_C = 531e6 x 0.003052542 - 1062e6 x 0.25 x 0.2 x 0.994846225; dR_T = -1062e6 x 0.2 x 0.994846225.
    rate, target, alpha = dcqcn(1500e3, 0.5)
    assert rate == pytest.approx(1062e6 + 1620900 - 52826335, rel=1e-6)
    assert target == pytest.approx(2124e6 - 211305338, rel=1e-7)
    # dalpha = 1e-5 / 256 / 55e-6 x (1 - 0.00304325 - 0.5).
    assert alpha == pytest.approx(0.5 + 7.1022727e-4 * 0.49695675, abs=1e-10)


def test_dcqcn_climbs_less_when_few_packets_are_marked() -> None:
    # p = 9/1800 x 0.2 = 0.001. The timer: 1000 / (0.999^-55 - 1) = 17677.31 per s, the byte counter, after
    # 9416 packets, 0.081; steps after fast recovery: 0.999^275 = 0.7594676 of them. 1 - 0.999^50 = 0.04879437.
    # dR_T = 6.25e6 x 13425.34 x 1e-5 - 1062e6 x 0.2 x 0.04879437; dR_C = 531e6 x 0.1767739 - 1062e6 / 4 x 0.2 x 0.0488.
    rate, target, _ = dcqcn(609e3, 0.5)
    assert target == pytest.approx(2124e6 + 839084 - 10363925, abs=2)
    assert rate == pytest.approx(1062e6 + 93866952 - 2590981, abs=10)


def test_dcqcn_marks_at_most_a_fifth_below_its_upper_limit() -> None:
    # p = 0.2 at 2400 kB, 1 above it: 1 - 0.8^50 = 0.99998573.
    assert dcqcn(2400e3, 0.5)[1] == pytest.approx(2124e6 - 212.4e6 * 0.99998573, rel=1e-8)
    assert dcqcn(600e3, 0.5)[1] > 2124e6


def test_dcqcn_stays_between_100_mbit_and_its_line() -> None:
    low = controller(Dcqcn(), rate=12.6e6, target=12.6e6, alpha=1.0)
    assert low.update(saw(3e6)).tolist() == [12.5e6]
    high = controller(Dcqcn(), rate=LINE, target=LINE, alpha=0.0)
    assert high.update(saw(0.0)).tolist() == [LINE]


# TIMELY, algorithm 1: T_low = 50 us, T_high = 500 us, beta = 0.8, delta = 6.25e6 B/s, weight 0.46; least trip 10 us.


def timely(trip: float, **state: float) -> float:
    made = controller(Timely(), **{"rate": 10e9, "last": trip, "calm": 0.0} | state)
    return float(made.update(saw((trip - TRIP) * LINE)).item())


def test_timely_shares_the_line_at_first_and_adds_a_step_below_its_lower_limit() -> None:
    made = controller(Timely(), sharing=2.0)
    assert made.rate.tolist() == [12.5e9]
    assert made.update(saw(0.0)).tolist() == [12.50625e9]
    assert timely(49e-6, last=10e-6) == pytest.approx(10.00625e9)


def test_timely_shrinks_with_the_gradient() -> None:
    # 0.46 x (100 - 98) us / 10 us = 0.092: 10e9 (1 - 0.8 x 0.092) = 9.264e9.
    assert timely(100e-6, last=98e-6) == pytest.approx(9.264e9)
    # A gradient of 0.46 x 90 / 10 = 4.14 counts as 1: 10e9 x 0.2.
    assert timely(100e-6, last=10e-6) == pytest.approx(2e9)
    # The last difference has 0.54: (0.54 x 1 + 0.46 x 2) us / 10 us = 0.146.
    assert timely(100e-6, last=98e-6, difference=1e-6) == pytest.approx(10e9 * (1 - 0.8 * 0.146))


def test_timely_grows_five_times_as_fast_from_the_fifth_calm_trip() -> None:
    assert timely(100e-6, calm=3.0) == pytest.approx(10.00625e9)
    assert timely(100e-6, calm=4.0) == pytest.approx(10.03125e9)


def test_timely_falls_above_its_upper_limit() -> None:
    # 1 - 0.8 (1 - 500 / 1000) = 0.6.
    assert timely(1000e-6) == pytest.approx(6e9)
    assert timely(500e-6) == pytest.approx(10.00625e9)


def test_timely_stays_between_100_mbit_and_its_line() -> None:
    assert timely(100e-6, last=10e-6, rate=13e6) == 12.5e6
    assert timely(100e-6, rate=LINE) == LINE


# HPCC, algorithm 1: u = qlen / (B T) + txRate / B; U <- (1 - dt / T) U + dt / T u; W = W_c eta / U + W_AI where
# U >= eta or five stages are over, else W_c + W_AI; eta = 0.95, W_AI = 6.25e6 B/s x 10 us = 62.5 B.


def hpcc(law: Hpcc, queue: float, rate: float, dt: float = TRIP, **state: float) -> float:
    made = controller(law, dt, **state)
    made.update(saw(queue, rate))
    window = made.window()
    assert window is not None
    return float(window.item())


def test_hpcc_multiplies_where_a_link_is_crowded() -> None:
    # u = 125e3 / (25e9 x 1e-5) + 0.5 = 1: W = 250e3 x 0.95 + 62.5.
    assert hpcc(Hpcc(), 125e3, 12.5e9) == pytest.approx(237562.5)
    # Half a round trip: U = 0.95 + 0.5 x 0.05 = 0.975.
    assert hpcc(Hpcc(), 125e3, 12.5e9, dt=TRIP / 2) == pytest.approx(243652.2436, abs=1e-3)
    assert controller(Hpcc()).update(saw(125e3, 12.5e9)).tolist() == pytest.approx([23.75625e9])


def test_hpcc_adds_for_five_stages() -> None:
    # u = 0.5: W = 100e3 + 62.5; after five stages W = 100e3 x 0.95 / 0.5 + 62.5.
    assert hpcc(Hpcc(), 0.0, 12.5e9, reference=100e3) == pytest.approx(100062.5)
    assert hpcc(Hpcc(), 0.0, 12.5e9, reference=100e3, stage=4.0) == pytest.approx(100062.5)
    assert hpcc(Hpcc(), 0.0, 12.5e9, reference=100e3, stage=5.0) == pytest.approx(190062.5)
    # W_c follows at the end of each round trip, and the sixth step multiplies: five adds, then 0.95 / 0.5.
    made, windows = controller(Hpcc(), reference=50e3), list[float]()
    for _ in range(7):
        windows.append(float(np.round(made.update(saw(0.0, 12.5e9)) * TRIP, 6).item()))
    assert windows[:5] == [50062.5, 50125.0, 50187.5, 50250.0, 50312.5]
    assert windows[5] == pytest.approx(50312.5 * 1.9 + 62.5)
    assert windows[6] == pytest.approx(windows[5] + 62.5)


def test_hpcc_keeps_a_packet_and_at_most_a_line_of_one_trip() -> None:
    assert hpcc(Hpcc(), 0.0, 0.0) == pytest.approx(250e3)
    assert hpcc(Hpcc(), 250e6, 25e9, reference=10e3) == 1062.0


def test_pint_rounds_utilisations_to_powers_of_its_base() -> None:
    # ln 0.5 / ln 1.05 = -14.2, so 1.05^-14 = 0.50506795: W = 100e3 x 0.95 / 0.50506795 + 62.5.
    assert hpcc(Hpcc(base=1.05), 0.0, 12.5e9, reference=100e3, stage=5.0) == pytest.approx(188156.0, abs=1.0)


def test_laws_have_the_published_parameters() -> None:
    assert list(LAWS) == ["pfc", "dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint"]
    assert LAWS["dcqcn"] == Dcqcn(600e3, 2400e3, 0.2, 1 / 256, 50e-6, 55e-6, 10e6, 5, 6.25e6)
    assert LAWS["dctcp"] == Dctcp(600e3, 1 / 16, 125e6)
    assert LAWS["timely"] == Timely(50e-6, 500e-6, 0.46, 0.8, 6.25e6, 5)
    assert LAWS["hpcc"] == Hpcc(0.95, 5, 6.25e6)
    assert LAWS["hpcc-pint"] == Hpcc(0.95, 5, 6.25e6, 1.05)
