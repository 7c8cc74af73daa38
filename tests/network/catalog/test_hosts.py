"""The catalogue of hosts: every figure has a source, and SSDs of a host add up."""

from __future__ import annotations

import pytest

from evo_libra.errors import InputError
from evo_libra.network.catalog.hosts import HostSpec, host_of, load_hosts


def test_every_figure_of_every_host_has_its_source_and_year() -> None:
    assert not [mistake for spec in load_hosts().values() for mistake in spec.mistakes()]
    bare = HostSpec(npus=1, link_GBps=16, ssds=2)
    assert [key for key, _ in bare.mistakes()] == ["link_GBps", "ssds"]


def test_both_machines_of_luwu_have_26_gb_of_ssds_per_second() -> None:
    rates = [8 * (host_of("luwu-testbed").ssd_rate or 0.0), host_of("luwu-server").ssd_rate]
    assert rates == [pytest.approx(26, rel=1e-4)] * 2
    assert host_of("xeon-6730p").ssd_rate is None


def test_a_base_lends_its_rates() -> None:
    own = host_of(HostSpec(base="luwu-server", ssds=24, source="made up, 2026"))
    assert (own.ssds, own.GFLOPS, own.npus) == (24, 1830, None)
    assert own.source_of("ssds") == "made up, 2026"
    assert "LuWu" in own.source_of("GFLOPS")


def test_an_unknown_host_is_told() -> None:
    with pytest.raises(InputError, match="did you mean 'luwu-server'"):
        host_of("luwu-sever")
