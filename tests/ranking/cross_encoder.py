"""A cross-encoder small enough to be made by a test: it scores a passage by how often it says "crane"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "crane", "hook", "load"]


def make_cross_encoder(folder: Path, *, outputs: int = 1, inputs: tuple[str, ...] = ("input_ids",)) -> Path:
    """Write `model.onnx`, `tokenizer.json` and `config.json`; the logit is the number of "crane" less two."""
    folder.mkdir(parents=True, exist_ok=True)
    make: Any = helper
    weights = np.zeros((len(WORDS), outputs), np.float32)
    weights[WORDS.index("crane"), -1] = 1.0
    bias = np.zeros((outputs,), np.float32)
    bias[-1] = -2.0
    nodes = [
        make.make_node("Gather", ["table", inputs[0]], ["rows"], axis=0),
        make.make_node("ReduceSum", ["rows", "axes"], ["sum"], keepdims=0),
        make.make_node("Add", ["sum", "bias"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(weights, "table"),
        numpy_helper.from_array(bias, "bias"),
        numpy_helper.from_array(np.array([1], np.int64), "axes"),
    ]
    graph = make.make_graph(
        nodes,
        "cross-encoder",
        [make.make_tensor_value_info(name, TensorProto.INT64, [1, "n"]) for name in inputs],
        [make.make_tensor_value_info("logits", TensorProto.FLOAT, [1, outputs])],
        constants,
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    cast("Any", onnx).save(model, str(folder / "model.onnx"))
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    pair: Any = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.post_processor = pair
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 12}), encoding="utf-8")
    return folder
