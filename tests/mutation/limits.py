"""Limits for the tests of a mutant: a test that hangs fails, and an example that fails is not made smaller."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from types import FrameType

import pytest
from hypothesis import Phase, settings

SECONDS = int(os.environ.get("EVO_LIBRA_TEST_SECONDS", "60"))


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """Leave out the search for a small example, which takes longer than all the tests."""
    profile = settings.get_profile(settings.get_current_profile_name())
    settings.register_profile("mutation", profile, phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("mutation")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Fail a test that takes longer than a minute."""
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


def _hangs(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler takes both
    pytest.fail(f"the test takes longer than {SECONDS} s")
