"""A tiny random BERT in the layout of sentence-transformers, and its forward pass in plain numpy to compare with."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from math import erf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

Array = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]

HIDDEN, HEADS, INNER, POSITIONS = 32, 4, 64, 40
WORDS = (
    "the a of is supplier shall verify every requirement before delivery by query passage clause report page "
    "bananas grow in clusters plant it which that from top warm up x and"
).split()
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)] + list("0123456789.,;:!?|-")
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
VOCABULARY.extend([each for each in LETTERS if each not in WORDS] + [f"##{each}" for each in LETTERS])


def weights(layers: int = 2, seed: int = 7, prefix: str = "") -> Weights:
    """Draw weights of a BERT, large enough that attention and activations matter."""
    random = np.random.default_rng(seed)

    def draw(*shape: int, scale: float = 0.4) -> NDArray[np.float32]:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    found: Weights = {
        "embeddings.word_embeddings.weight": draw(len(VOCABULARY), HIDDEN, scale=1.0),
        "embeddings.position_embeddings.weight": draw(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": draw(2, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(layers):
        place = f"encoder.layer.{layer}"
        norms += [f"{place}.attention.output.LayerNorm", f"{place}.output.LayerNorm"]
        linears = {f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        linears |= {"attention.output.dense": (HIDDEN, HIDDEN)}
        linears |= {"intermediate.dense": (INNER, HIDDEN), "output.dense": (HIDDEN, INNER)}
        for name, shape in linears.items():
            found[f"{place}.{name}.weight"] = draw(*shape, scale=0.25)
            found[f"{place}.{name}.bias"] = draw(shape[0], scale=0.1)
    for name in norms:
        found[f"{name}.weight"] = 1 + draw(HIDDEN, scale=0.1)
        found[f"{name}.bias"] = draw(HIDDEN, scale=0.1)
    return {prefix + name: value for name, value in found.items()}


def write_safetensors(path: Path, tensors: Mapping[str, NDArray[Any]], kinds: Mapping[str, str] | None = None) -> None:
    """Write tensors in the safetensors format; `kinds` overrides a tensor's declared dtype."""
    names = {"float32": "F32", "float16": "F16", "float64": "F64", "int64": "I64", "uint16": "BF16"}
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, value in tensors.items():
        raw = value.tobytes()
        kind = (kinds or {}).get(name, names[str(value.dtype)])
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + body)


def write_tokenizer(path: Path) -> None:
    """Write an uncased WordPiece tokenizer with [CLS] and [SEP]; like real ones it asks for truncation and padding."""
    tokenizer: Any = Tokenizer(WordPiece({word: index for index, word in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(max_length=10)
    tokenizer.enable_padding(length=10)
    tokenizer.save(str(path))


def write_model(
    directory: Path,
    *,
    pooling: str = "mean_tokens",
    layers: int = 2,
    seed: int = 7,
    max_seq_length: int = 16,
    prompts: Mapping[str, str] | None = None,
    config: Mapping[str, object] | None = None,
    modules: Sequence[str] = ("Transformer", "Pooling", "Normalize"),
) -> Path:
    """Write a whole model into a folder and return the folder."""
    (directory / "1_Pooling").mkdir(parents=True)
    write_safetensors(directory / "model.safetensors", weights(layers, seed))
    write_tokenizer(directory / "tokenizer.json")
    transformer: dict[str, object] = {
        "model_type": "bert",
        "hidden_size": HIDDEN,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    flags = {
        f"pooling_mode_{each}": each == pooling for each in ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
    }
    paths = ["", "1_Pooling", "2_Normalize"]
    listed = [
        {"idx": index, "name": str(index), "path": paths[min(index, 2)], "type": f"sentence_transformers.models.{kind}"}
        for index, kind in enumerate(modules)
    ]
    files: dict[str, object] = {
        "config.json": {**transformer, **(config or {})},
        "1_Pooling/config.json": {"word_embedding_dimension": HIDDEN, **flags},
        "sentence_bert_config.json": {"max_seq_length": max_seq_length, "do_lower_case": False},
        "modules.json": listed,
        "config_sentence_transformers.json": {"prompts": dict(prompts or {})},
    }
    for name, value in files.items():
        (directory / name).write_text(json.dumps(value), encoding="utf-8")
    return directory


def reference(drawn: Weights, ids: Sequence[int], pooling: str, layers: int = 2, activation: str = "gelu") -> Array:
    """Compute one text's unit-norm vector in float64, without any padding."""
    w = {name: value.astype(np.float64) for name, value in drawn.items()}
    hidden = w["embeddings.word_embeddings.weight"][list(ids)] + w["embeddings.token_type_embeddings.weight"][0]
    hidden = _norm(hidden + w["embeddings.position_embeddings.weight"][: len(ids)], w, "embeddings.LayerNorm")
    for layer in range(layers):
        hidden = _layer(hidden, w, f"encoder.layer.{layer}", activation)
    vector = {"mean": hidden.mean(axis=0), "cls": hidden[0], "last": hidden[-1]}[pooling]
    return vector / np.linalg.norm(vector)


def _layer(hidden: Array, w: Mapping[str, Array], place: str, activation: str) -> Array:
    def heads(part: str) -> Array:
        return _linear(hidden, w, f"{place}.attention.self.{part}").reshape(len(hidden), HEADS, -1).transpose(1, 0, 2)

    query, key, value = heads("query"), heads("key"), heads("value")
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(HIDDEN // HEADS)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed = (shares @ value).transpose(1, 0, 2).reshape(len(hidden), HIDDEN)
    attended = _linear(mixed, w, f"{place}.attention.output.dense")
    middle = _norm(attended + hidden, w, f"{place}.attention.output.LayerNorm")
    inner = _activate(_linear(middle, w, f"{place}.intermediate.dense"), activation)
    return _norm(_linear(inner, w, f"{place}.output.dense") + middle, w, f"{place}.output.LayerNorm")


def _linear(x: Array, w: Mapping[str, Array], name: str) -> Array:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(x: Array, w: Mapping[str, Array], name: str) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]


def _activate(x: Array, activation: str) -> Array:
    if activation == "relu":
        return np.maximum(x, 0.0)
    if activation == "gelu":
        return 0.5 * x * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0)))
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
