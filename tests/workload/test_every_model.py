"""Every model of the catalogue trains and is served with one plan, and `catalog` and `workload` read it."""

from __future__ import annotations

import pytest

from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import decoder, load_decoders
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.serving_setup import ServingSetup
