"""Context parallel groups that exchange heads of attention (DeepSpeed-Ulysses): the models and plans that can.

Each NPU has some tokens with all heads before and after attention, and all tokens of a sequence with some heads in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np

from evo_libra.arrays import BoolArray
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.layers.registry import part_text
from evo_libra.workload.models.layers.sublayer import WHOLE, Sublayer
from evo_libra.workload.parallelism import CONTEXT_GROUP, HOLDS, divisors
from evo_libra.workload.plans.plans import Plans, context_inside, keeps_inside
from evo_libra.workload.training.training_setup import Setup


def _mixing(model: Decoder) -> list[Sublayer]:
    """Return the sublayers in which a token needs others of its sequence."""
    kinds = [*model.stack.kinds, *([model.predictor] if model.predictors else [])]
    parts = dict.fromkeys(part for kind in kinds for part in kind)
    return [part for part in parts if np.any(part.gathered(WHOLE, 1.0, 1.0, 1.0))]


def shared_heads(model: Decoder) -> int:
    """Return the number that tensor times context parallelism must divide; 0 where a sublayer has no such heads."""
    heads = [part.exchanged_heads for part in _mixing(model)]
    return gcd(*(number for numbers in heads for number in numbers)) if all(heads) else 0


def exchange_allowed(plans: Plans, model: Decoder) -> BoolArray:
    """Return (n,) whether heads can be exchanged where plans say so: each NPU gets whole heads, as many as others."""
    heads = shared_heads(model)
    return np.asarray(~context_inside(plans) | ((heads > 0) & (heads % (plans.tp * plans.cp) == 0)))


def beyond_domain(setup: Setup, plans: Plans) -> BoolArray:
    """Return (n,) whether no scale-up domain holds the groups that plans must keep inside one; some size is known."""
    tensor = np.where(keeps_inside(plans, np.array([setup.tensor_anywhere])), plans.tp, 1)
    return np.asarray(tensor * np.where(context_inside(plans), plans.cp, 1) > (setup.domain or np.inf))


def exchange_mistakes(setup: Setup, plan: Plans) -> Iterator[tuple[str, str]]:
    """Yield why the context parallel group of the first plan cannot exchange heads: the option, and a sentence."""
    if not context_inside(plan)[0]:
        return
    tp, cp, heads, model = int(plan.tp[0]), int(plan.cp[0]), shared_heads(setup.decoder), setup.decoder
    if not heads:
        lacking = next(part_text(part) for part in _mixing(model) if not part.exchanged_heads)
        yield "ulysses", f"found true; {lacking} of {model.name} has no heads to exchange; leave this key out"
    elif heads % (tp * cp):
        allowed = ", ".join(map(str, divisors(heads)))
        rule = f"with `ulysses: true` tp {tp} x cp {cp} = {tp * cp} must divide the {heads} heads of keys and values"
        yield "cp", f"found {cp}; {rule} of {model.name}: {allowed}"
    elif beyond_domain(setup, plan)[0]:
        yield "cp", f"found {cp}; no scale-up domain, of {setup.domain} NPUs at most, {HOLDS[CONTEXT_GROUP]}"
