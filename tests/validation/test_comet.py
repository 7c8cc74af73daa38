"""Why the gain of memory expansion is less than COMET's abstract says."""

from __future__ import annotations

import numpy as np
import pytest

from evo_libra.arrays import FloatArray
from evo_libra.validation import comet
from evo_libra.workload.plans.plans import Plans


def test_gradients_scattered_once_a_step_give_the_gain_of_the_abstract(monkeypatch: pytest.MonkeyPatch) -> None:
    """The abstract of arXiv 2211.16648 says up to 1.4; how often its ZeRO scatters is not known."""

    def once(self: Plans, global_batch: int) -> FloatArray:
        return np.ones(len(self.microbatches(global_batch)))

    monkeypatch.setattr(Plans, "scatters", once)
    monkeypatch.setattr(comet, "sweep", comet.sweep.__wrapped__)
    assert comet.gain(comet.AT) == pytest.approx(comet.GAIN, abs=0.05)
