"""Rows of the embedding that belong to a tokenizer, where a launch script names one and no vocabulary."""

from __future__ import annotations

import re

_BY_NAME = (
    (re.compile(r"llama-?4"), 202_048),
    (re.compile(r"llama-?3"), 128_256),
    (re.compile(r"llama-?2|vicuna|llava-1\.5"), 32_000),
    (re.compile(r"qwen2\.5-(7b|14b|32b|72b)|qwen2-(7b|72b)"), 152_064),
    (re.compile(r"qwen3\.5"), 248_320),
    (re.compile(r"qwen"), 151_936),
    (re.compile(r"deepseek-(v3|r1)"), 129_280),
    (re.compile(r"deepseek-v2"), 102_400),
    (re.compile(r"kimi-k2"), 163_840),
    (re.compile(r"gpt-oss"), 201_088),
    (re.compile(r"mixtral-8x7b|mistral-7b-(instruct-)?v0\.[12]"), 32_000),
    (re.compile(r"mixtral-8x22b|mistral-7b-(instruct-)?v0\.3"), 32_768),
    (re.compile(r"mistral-nemo|mistral-small|ministral"), 131_072),
    (re.compile(r"nemotron-(mini|4)"), 256_000),
    (re.compile(r"nemotron-(h|nano|3|super|ultra)"), 131_072),
    (re.compile(r"gemma-?3"), 262_208),
    (re.compile(r"gemma"), 256_000),
    (re.compile(r"(^|/)gpt2"), 50_257),
    (re.compile(r"yi-"), 64_000),
)
"""Patterns of names -> rows in the `config.json` of that model."""

_BY_TYPE = {"GPT2BPETokenizer": 50_257}
"""Kinds of tokenizers that have one vocabulary."""


def vocabulary_of(kind: object, model: object) -> tuple[int, str] | None:
    """Return the rows that a tokenizer has, and its name; None where they are not known.

    >>> vocabulary_of("HuggingFaceTokenizer", "meta-llama/Llama-3.1-8B-Instruct")
    (128256, 'meta-llama/Llama-3.1-8B-Instruct')
    >>> vocabulary_of("GPT2BPETokenizer", None), vocabulary_of("SentencePieceTokenizer", "own.model")
    ((50257, 'GPT2BPETokenizer'), None)
    """
    if isinstance(kind, str) and kind in _BY_TYPE:
        return _BY_TYPE[kind], kind
    name = str(model or "").lower()
    found = next((rows for pattern, rows in _BY_NAME if pattern.search(name)), None)
    return None if found is None else (found, str(model))
