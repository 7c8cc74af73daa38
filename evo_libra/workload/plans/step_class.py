"""Classes of steps and of served requests by what is bought, within which errors of times are alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evo_libra.workload.plans.plans import SHARDED_WEIGHTS, Plans

if TYPE_CHECKING:
    from evo_libra.workload.models.decoder import Decoder
    from evo_libra.workload.serving.serving_setup import ServingSetup
    from evo_libra.workload.training.training_setup import Setup

FSDP, PIPELINE, REPLICAS, SERVING = "FSDP", "pipeline", "replicas", "serving"
DENSE, ROUTED = "dense", "routed"
TIME, FIRST_TOKEN, MEMORY = "time", "first-token", "memory"
"""Kinds of figures of a class: of a step or a request, of a request's first token, and bytes of an accelerator."""


@dataclass(frozen=True, order=True)
class StepClass:
    """The hardware, precision, model and schedule of a step or of a served request.

    Attributes
    ----------
    npu, precision : the accelerator, and the precision of its products.
    model : dense or routed.
    schedule : pipeline, FSDP, replicas or serving.
    """

    npu: str
    precision: str
    model: str
    schedule: str

    def __str__(self) -> str:
        return f"{self.npu}, {self.precision}, {self.model}, {self.schedule}"

    @property
    def is_served(self) -> bool:
        """Whether requests are answered; otherwise a model is trained."""
        return self.schedule == SERVING

    def on(self, npu: str) -> StepClass:
        """Return the same class on another accelerator."""
        return replace(self, npu=npu)


def schedule_of(plan: Plans, n: int = 0) -> str:
    """Return how a plan divides a model, as buyers call it.

    >>> from evo_libra.workload.plans.plans import one_plan
    >>> schedule_of(one_plan(pp=4, zero=1)), schedule_of(one_plan(pp=4, zero=3)), schedule_of(one_plan(dp=8))
    ('pipeline', 'FSDP', 'replicas')
    """
    zero, pp = (int(values[n if len(values) > 1 else 0]) for values in (plan.zero, plan.pp))
    if zero >= SHARDED_WEIGHTS:
        return FSDP
    return PIPELINE if pp > 1 else REPLICAS


def kind_of_model(model: Decoder) -> str:
    """Return whether a model is dense or routed."""
    return ROUTED if model.expert_layers else DENSE


def class_of_step(setup: Setup, plans: Plans, n: int) -> StepClass:
    """Return the class of a step of training under the n-th of some plans."""
    return StepClass(setup.accelerator.name, setup.precision, kind_of_model(setup.decoder), schedule_of(plans, n))


def class_of_requests(setup: ServingSetup) -> StepClass:
    """Return the class of served requests."""
    return StepClass(setup.accelerator.name, setup.products, kind_of_model(setup.decoder), SERVING)
