"""Trains the perceptron of `experiments/networks/uci_digits.npz` on public digits; it needs scikit-learn.

The data are 1,797 digits of 8 x 8 pixels (Alpaydin and Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998,
CC BY 4.0) as scikit-learn ships them. The network is its `MLPClassifier` with layers of 64 and 32 neurons. Other
versions train slightly other weights, so the file is kept, and the script says how it was made (scikit-learn 1.9.1,
2026).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from command_line import no_arguments

FILE = Path(__file__).parent / "networks" / "uci_digits.npz"
TRAINED = 1297
"""The first digits; the other 500 are held out."""


def main() -> None:
    """Train the network and write the file."""
    from sklearn.datasets import load_digits  # noqa: PLC0415 - only this script needs it
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415 - only this script needs it

    images, labels = load_digits(return_X_y=True)
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(images))
    seen, held_out = order[:TRAINED], order[TRAINED:]
    network = MLPClassifier((64, 32), alpha=0.01, max_iter=400, random_state=0).fit(images[seen], labels[seen])
    pairs = enumerate(zip(network.coefs_, network.intercepts_, strict=True), start=1)
    arrays = {key: value for n, (w, b) in pairs for key, value in ((f"W{n}", w.T), (f"b{n}", b))}
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        FILE, **{key: value.astype(np.float32) for key, value in arrays.items()}, inputs=images[seen].astype(np.uint8),
        held_out_inputs=images[held_out].astype(np.uint8), held_out_labels=labels[held_out].astype(np.uint8),
    )  # fmt: skip
    wrong = 1 - network.score(images[held_out], labels[held_out])
    print(f"{FILE.name}: error rate {100 * wrong:.1f} % of {len(held_out)} digits")


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
