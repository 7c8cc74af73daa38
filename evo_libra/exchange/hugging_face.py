"""Models of Hugging Face as parts of problem files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evo_libra.exchange.keys import Keys
from evo_libra.exchange.reader import Draft, Reader, without_none
from evo_libra.files.source import Source
from evo_libra.workload.step.hugging_face import decoder_of_source, known_keys

_LONGEST = 4096
_LLAMA = """{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
 "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192, "vocab_size": 128256,
 "hidden_act": "silu", "rope_theta": 500000.0, "tie_word_embeddings": false}"""
_MIXTRAL = """{"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
 "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 32768, "vocab_size": 32000,
 "num_local_experts": 8, "num_experts_per_tok": 2}"""


def _recognise(source: Source) -> bool:
    return isinstance(source.data, dict) and ("model_type" in source.data or "architectures" in source.data)


def _read(source: Source) -> Draft:
    model = decoder_of_source(source)
    keys = Keys(source)
    for path in known_keys(source):
        keys.taken.add(path)
    values: dict[str, Any] = without_none(asdict(model))
    del values["name"], values["source"]
    if model.latent is not None:
        values["latent"], _ = without_none(values["latent"]), values.pop("head_width")
    sequence = min(model.sequence or _LONGEST, _LONGEST)
    assumed = f"sequences of {sequence} tokens; a configuration has the longest context alone"
    return Draft(values, {"sequence": sequence}, left=tuple(keys.left()), assumed=(assumed,))


READERS = (Reader("hugging-face", "a `config.json` of Hugging Face: a model", _recognise, _read, (_LLAMA, _MIXTRAL)),)
