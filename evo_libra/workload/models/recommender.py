"""Recommendation models by their hyper-parameters (DLRM, Naumov et al. 2019, arXiv 1906.00091)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from evo_libra.errors import InputError, unknown
from evo_libra.files.source import StrictModel, read_packaged, validate
from evo_libra.workload.layers.generators import DlrmSpec, load_models

RECOMMENDERS_FILE = Path(__file__).parent / "recommenders.yaml"

_MAX = 10**12

Size = Annotated[int, Field(ge=1, le=_MAX)]
Widths = Annotated[tuple[Size, ...], Field(min_length=2)]


class RecommenderSpec(StrictModel):
    """A model as a file writes it."""

    tables: Size = Field(description="number of embedding tables")
    embedding: Size = Field(description="width of an embedding")
    bottom_mlp: Widths = Field(description="widths of the bottom MLP, its input first")
    top_mlp: Widths = Field(description="widths of the top MLP, its input first")
    rows: Size | None = Field(None, description="rows of all embedding tables together")
    pooling: float | None = Field(None, gt=0, le=_MAX, description="look-ups of a sample in a table, on average")
    element_bytes: Size = Field(4, description="bytes of an element of an embedding table")
    source: str = Field(min_length=1, description="where the figures come from")
    year: int | None = Field(None, ge=1990, le=2100, description="of the newest source")
    order: Literal["", "open", "closed"] = Field("", description="whether anyone can have its weights")


class _Recommenders(RootModel[dict[str, RecommenderSpec]]):
    pass


class Recommender(RecommenderSpec):
    """A deep learning recommendation model; a figure that has no source is None, and asking for it is an error."""

    name: str
    source: str = ""

    def figures(self) -> dict[str, Any]:
        """Return its figures by the names of the fields, without the year of their source and its state."""
        return self.model_dump(mode="json", exclude={"year", "order"})

    @property
    def bottom_weights(self) -> int:
        """Number of weights of the bottom MLP, biases left out."""
        return _weights(self.bottom_mlp)

    @property
    def mlp_weights(self) -> int:
        """Number of weights of both MLPs, biases left out."""
        return self.bottom_weights + _weights(self.top_mlp)

    @property
    def pooled_elements(self) -> int:
        """Elements of the pooled embeddings of a sample."""
        return self.tables * self.embedding

    @property
    def known_rows(self) -> int:
        """Rows of all tables. Raises `InputError` where they are not known."""
        if self.rows is None:
            raise InputError(f"the memory of {self.name} needs `rows`, those of all its tables; no source gives them")
        return self.rows

    @property
    def look_ups(self) -> float:
        """Look-ups of a sample in all tables. Raises `InputError` where they are not known."""
        if self.pooling is None:
            raise InputError(
                f"the time of {self.name} needs `pooling`, the look-ups of a sample in a table; no source gives it"
            )
        return self.tables * self.pooling


def _weights(widths: Sequence[int]) -> int:
    return sum(inputs * outputs for inputs, outputs in pairwise(widths))


def load_recommenders() -> dict[str, Recommender]:
    """Return every recommendation model that comes with the package, by name, those of LIBRA's tables included."""
    return dict(_catalogue())


def trainable_recommenders() -> dict[str, Recommender]:
    """Return the recommendation models with all figures of a training step, by name; LIBRA's tables lack some."""
    return {name: it for name, it in _catalogue().items() if it.rows is not None and it.pooling is not None}


def recommender(name: str) -> Recommender:
    """Return a model of the catalogue.

    Its `model_copy` adds what no source gives.

    Raises
    ------
    InputError : there is none of that name.

    >>> recommender("dlrm-libra").model_copy(update={"rows": 64 * 10**6, "pooling": 20.0}).look_ups
    1280.0
    """
    if name not in _catalogue():
        raise InputError(unknown("recommendation model", name, _catalogue()))
    return _catalogue()[name]


def recommender_of(name: str, spec: RecommenderSpec | DlrmSpec) -> Recommender:
    """Return the model that a file describes; the batch and the times of a generator's entry are left out."""
    return Recommender(name=name, **spec.model_dump(exclude={"kind", "batch", "embedding_ns"}))


@lru_cache(maxsize=1)
def _catalogue() -> dict[str, Recommender]:
    specs: dict[str, RecommenderSpec | DlrmSpec] = {**validate(_Recommenders, read_packaged(RECOMMENDERS_FILE)).root}
    specs.update({name: spec for name, spec in load_models().items() if isinstance(spec, DlrmSpec)})
    return {name: recommender_of(name, spec) for name, spec in specs.items()}
