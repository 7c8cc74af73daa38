"""The catalogue of hosts: every figure has a source, and SSDs of a host add up."""

from __future__ import annotations

import re

import pytest

from evo_libra.errors import InputError
from evo_libra.network.catalog.hosts import host, load_hosts


def test_every_host_has_its_source_and_year() -> None:
    for name, spec in load_hosts().items():
        assert re.search(r"arXiv|data sheet", spec.source), name
        assert spec.year


def test_both_machines_of_luwu_have_26_gb_of_ssds_per_second() -> None:
    rates = [8 * (host("dual-xeon-4214").ssd_rate or 0.0), host("dual-xeon-5320").ssd_rate]
    assert rates == [pytest.approx(26, rel=1e-4)] * 2
    assert host("dual-xeon-6730p").ssd_rate is None


def test_an_unknown_host_is_told() -> None:
    with pytest.raises(InputError, match="did you mean 'dual-xeon-5320'"):
        host("dual-xeon-5230")
