"""The schema of models of one's own in a problem file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evo_libra.workload.layers.language_models import DlrmSpec, MoeSpec, TableSpec, TransformerSpec
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.recommender import RecommenderSpec


class DecoderGeneratorSpec(DecoderSpec):
    """Hyper-parameters of a language model that is trained as a whole."""

    kind: Literal["decoder"]
    source: str = Field("", description="where the figures come from")


class RecommenderGeneratorSpec(RecommenderSpec):
    """Hyper-parameters of a recommendation model that is trained as a whole."""

    kind: Literal["recommender"]
    source: str = Field("", description="where the figures come from")


Generator = Annotated[
    TransformerSpec | MoeSpec | DlrmSpec | TableSpec | DecoderGeneratorSpec | RecommenderGeneratorSpec,
    Field(discriminator="kind"),
]
