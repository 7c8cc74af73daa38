"""The catalogue of models: hyper-parameters by name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, RootModel

from evo_libra.files.source import StrictModel, packaged

MODELS_FILE = Path(__file__).parent / "models.yaml"

PositiveInt = Annotated[int, Field(ge=1)]
Nanoseconds = Annotated[int, Field(ge=0)]


class _ModelBase(StrictModel):
    source: str = Field("", description="where the figures come from")


class TransformerSpec(_ModelBase):
    """Hyper-parameters of a decoder of equal layers."""

    kind: Literal["transformer"]
    hidden: PositiveInt = Field(description="width of the model")
    layers: PositiveInt = Field(description="number of layers")
    sequence: PositiveInt = Field(description="tokens in a sequence")
    batch: PositiveInt = Field(description="sequences per NPU group and iteration")


class MoeSpec(_ModelBase):
    """Hyper-parameters of a decoder of equal layers with experts."""

    kind: Literal["moe"]
    hidden: PositiveInt = Field(description="width of the model")
    expert_hidden: PositiveInt = Field(description="width between the two matrices of an expert")
    experts: PositiveInt = Field(description="experts of a layer; the degree of ep divides it")
    top_k: PositiveInt = Field(description="experts that a token passes")
    layers: PositiveInt = Field(description="number of layers")
    sequence: PositiveInt = Field(description="tokens in a sequence")
    batch: PositiveInt = Field(description="sequences per tensor-parallel group and iteration")


class DlrmSpec(_ModelBase):
    """Hyper-parameters of a deep learning recommendation model."""

    kind: Literal["dlrm"]
    batch: PositiveInt = Field(description="samples per NPU and iteration")
    bottom_mlp: tuple[PositiveInt, ...] = Field(min_length=2, description="widths of the bottom MLP, its input first")
    top_mlp: tuple[PositiveInt, ...] = Field(min_length=2, description="widths of the top MLP, its input first")
    tables: PositiveInt = Field(description="number of embedding tables")
    embedding: PositiveInt = Field(description="width of an embedding")
    embedding_ns: tuple[Nanoseconds, Nanoseconds, Nanoseconds] = Field(
        description="look-up, input-gradient and update time of the embeddings in ns; independent of the compute rate"
    )


class TableSpec(_ModelBase):
    """A model that is kept as an ASTRA-sim 1.0 text workload."""

    kind: Literal["table"]
    file: str = Field(description="path of the file, relative to this one")


ModelSpec = Annotated[TransformerSpec | MoeSpec | DlrmSpec | TableSpec, Field(discriminator="kind")]


class _Models(RootModel[dict[str, ModelSpec]]):
    pass


def load_models() -> dict[str, TransformerSpec | MoeSpec | DlrmSpec | TableSpec]:
    """Return the hyper-parameters of every model that comes with the package, by name."""
    return packaged(_Models, MODELS_FILE).root
