"""Bytes that four workers send at equal accuracy: RePurpose next to what its authors compare it with.

They name a naive implementation, which sends all values, a direct and a sparse one, and distillation (arXiv 2008.08289;
AAAI 2023). The networks are public: one of UCI's digits, and the one that comes with this package. It takes a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from command_line import no_arguments
from common import markdown
from repurpose_weights import LEVELS, train

from evo_libra import load_problem, search
from evo_libra.front.front import Front
from evo_libra.plugins.repurpose.assignment import contiguous, direct, shuffled
from evo_libra.plugins.repurpose.copies import Owners
from evo_libra.plugins.repurpose.perceptron import Layer

NETWORKS = {"UCI digits": str(Path(__file__).parent / "networks" / "uci_digits.npz"), "drawn digits": None}
ALLOWED = (0.0, 0.01, 0.02, 0.04)
"""Error rate above that of the whole network."""
ERRORS = tuple(np.geomspace(0.01, 0.3, 20).tolist())
"""Reconstruction errors at which partitions are tried."""
SEEDS, EVALUATIONS, PRICES = 3, 1500, 64
OTHER_NETWORKS = ("distilled", "moved", "moved, slack 50 %")
"""Methods that what moving saves is not compared with: another network, and itself."""
Sent = tuple[float, float]
"""Bytes of a sample, and the error rate."""


def problem_of(weights: str | None, slack: float) -> Any:  # noqa: ANN401 - a problem that is no module of the package
    """Return the problem of one network and slack."""
    more = [] if weights is None else [f"weights={weights}"]
    return load_problem("repurpose", [*more, "objectives=[traffic, error]", f"slack_percent=[{slack}]"])


def without_moving(problem: Any, owners: Owners) -> list[Sent]:  # noqa: ANN401 - as above
    """Return what partitions with given owners send at each error, refitted like those that move neurons."""
    found = [problem.baseline(owners, error) for error in ERRORS]
    return [(one.copies * problem.options.bytes, one.error_rate) for one in found]


def moved(problem: Any) -> list[Sent]:  # noqa: ANN401 - as above
    """Return what the designs of the front of traffic and error send, and those of one price for all layers."""
    front: Front = search(problem, evaluations=EVALUATIONS, population=100, engine="nsga2", seed=0)
    layers, (slack,) = len(problem.network.layers), problem.options.slack_percent
    names = [f"price_{n}" for n in range(1, layers + 1)]
    prices = [[row[name] for name in names] for row in front.frame.to_dicts()]
    low, high = problem.family.prices
    prices += [[price] * layers for price in np.geomspace(low, high, PRICES).tolist()]
    found = [problem.partition(one, slack) for one in prices]
    return [(one.copies * problem.options.bytes, one.error_rate) for one in found]


def distilled(problem: Any) -> Sent:  # noqa: ANN401 - as above
    """Return what separate parts of the network send that learn its answers.

    Hidden layers have the weights inside each worker only, and the outputs read all of the last hidden layer.
    """
    network, place = problem.network, (problem.network, problem.family.inputs, problem.family.shares)
    owners = contiguous(*place)
    masks = [a[:, None] == b for a, b in zip(owners[1:], owners[:-1], strict=True)]
    masks[-1][:] = True
    answers = network.layers[-1](network.layer_inputs[-1]).argmax(axis=1)
    first, *others = train(network.samples / LEVELS, answers, np.random.Generator(np.random.PCG64(0)), masks)
    layers = [Layer(first.weights / LEVELS, first.bias), *others]
    copies = (problem.family.shares.size - 1) * network.layers[-1].inputs
    return float(copies * problem.options.bytes), network.error_rate(layers)


def least(sent: Sequence[Sent], allowed: float) -> float | None:
    """Return the fewest bytes with at most an error rate; None where no partition is as good."""
    return min((bytes_ for bytes_, rate in sent if rate <= allowed + 1e-9), default=None)


def methods(weights: str | None) -> tuple[float, dict[str, list[Sent]]]:
    """Return the error rate of the whole network, and what each method sends at which error rate."""
    even, loose = problem_of(weights, 0), problem_of(weights, 50)
    place = even.network, even.family.inputs, even.family.shares
    drawn = [sent for seed in range(SEEDS) for sent in without_moving(even, shuffled(*place, seed=seed))]
    whole = even.baseline(contiguous(*place), 0.0)
    return even.network.error_rate(), {
        "all sent": [(whole.copies * even.options.bytes, whole.error_rate)],
        "sparse": without_moving(even, contiguous(*place)),
        "direct": without_moving(even, direct(*place)),
        f"best of {SEEDS} random": drawn,
        "distilled": [distilled(even)],
        "moved": moved(even),
        "moved, slack 50 %": moved(loose),
    }


def rows() -> Iterator[list[str]]:
    """Yield a row for each network and accuracy: bytes of each method, and what moving saves."""
    for name, weights in NETWORKS.items():
        rate, found = methods(weights)
        for more in ALLOWED:
            bytes_ = {method: least(sent, rate + more) for method, sent in found.items()}
            cells = ["-" if value is None else f"{value:.0f}" for value in bytes_.values()]
            same = [value for method, value in bytes_.items() if value is not None and method not in OTHER_NETWORKS]
            saved = [_saved(bytes_[method], min(same)) for method in ("moved", "moved, slack 50 %")]
            yield [name, f"{100 * (rate + more):.1f}", *cells, *saved]
        print(f"{name}: distilled {found['distilled'][0][0]:.0f} B, {100 * found['distilled'][0][1]:.1f} % wrong")


def _saved(bytes_: float | None, others: float) -> str:
    return "-" if bytes_ is None else f"{100 * (1 - bytes_ / others):.0f}"


if __name__ == "__main__":
    no_arguments(__doc__)
    found = list(rows())
    names = ("all sent [B]", "sparse", "direct", f"best of {SEEDS} random", "distilled", "moved", "moved, slack 50 %")
    head = ("network", "error rate [%]", *names, "saved [%]", "with slack")
    print(markdown(head, found))
