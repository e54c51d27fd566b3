"""The built graph computes what the numpy reference computes, in any company, and quantizes per channel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from knowledge_mcp.embedders.local.model_config import BertShape, Pooling
from knowledge_mcp.embedders.local.onnx_build import build_bert, is_quantized, quantize, read_safetensors, save_bert
from knowledge_mcp.model.errors import ConfigError
from tests.embedders import tiny

SHAPE = BertShape(
    layers=2, heads=tiny.HEADS, hidden=tiny.HIDDEN, positions=tiny.POSITIONS, layer_norm_eps=1e-12, activation="gelu"
)
TEXTS = [[2, 9, 10, 11, 3], [2, 20, 3], [2, *range(4, 38), 3]]
Vectors = NDArray[np.float32]


def _run(model: str | bytes, ids: list[int]) -> Vectors:
    session = cast(Any, onnxruntime).InferenceSession(model, providers=["CPUExecutionProvider"])
    return cast(Vectors, session.run(["sentence_embedding"], {"input_ids": np.array([ids], np.int64)})[0])


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_graph_computes_what_the_reference_computes(pooling: Pooling) -> None:
    drawn = tiny.weights()
    expected = np.stack([tiny.reference(drawn, ids, pooling) for ids in TEXTS])
    model = build_bert(drawn, SHAPE, pooling).SerializeToString()
    np.testing.assert_allclose(np.concatenate([_run(model, ids) for ids in TEXTS]), expected, atol=2e-5)


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu"])
def test_every_activation_is_built_as_the_reference_has_it(activation: str) -> None:
    drawn = tiny.weights()
    shape = BertShape(2, tiny.HEADS, tiny.HIDDEN, tiny.POSITIONS, 1e-12, activation)
    got = _run(build_bert(drawn, shape, "mean").SerializeToString(), TEXTS[2])[0]
    np.testing.assert_allclose(got, tiny.reference(drawn, TEXTS[2], "mean", activation=activation), atol=2e-5)


def test_weights_under_a_leading_bert_are_the_same_model() -> None:
    plain, prefixed = (build_bert(tiny.weights(prefix=prefix), SHAPE, "cls") for prefix in ("", "bert."))
    assert plain.SerializeToString(deterministic=True) == prefixed.SerializeToString(deterministic=True)


def test_the_same_weights_give_the_same_bytes_in_both_variants(tmp_path: Path) -> None:
    source = tmp_path / "model.safetensors"
    tiny.write_safetensors(source, tiny.weights())
    for name in ("a", "b"):
        save_bert(source, SHAPE, "mean", tmp_path / f"{name}.onnx")
        quantize(tmp_path / f"{name}.onnx", tmp_path / f"{name}8.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert (tmp_path / "a8.onnx").read_bytes() == (tmp_path / "b8.onnx").read_bytes()


def test_int8_stays_close_to_float_even_where_channels_differ_greatly_in_size(tmp_path: Path) -> None:
    drawn = tiny.weights()
    for name, value in drawn.items():
        if name.endswith("dense.weight"):
            value[::5] *= 12  # one scale for the whole matrix would leave the small rows few steps
    exact, small = tmp_path / "fp32.onnx", tmp_path / "int8.onnx"
    exact.write_bytes(build_bert(drawn, SHAPE, "mean").SerializeToString())
    quantize(exact, small)
    assert is_quantized(small)
    assert not is_quantized(exact)
    for ids in TEXTS:
        cosine = float((_run(str(exact), ids) @ _run(str(small), ids).T)[0, 0])
        assert cosine > 0.985


def test_a_missing_weight_is_named() -> None:
    drawn = tiny.weights()
    for name in ("encoder.layer.1.output.dense.bias", "encoder.layer.1.intermediate.dense.weight"):
        with pytest.raises(ConfigError, match=name):
            build_bert({key: value for key, value in drawn.items() if key != name}, SHAPE, "mean")


def test_a_weight_of_another_shape_is_named() -> None:
    drawn = tiny.weights()
    drawn["encoder.layer.0.attention.self.key.bias"] = np.zeros(3, np.float32)
    with pytest.raises(ConfigError, match=r"attention\.self\.key\.bias"):
        build_bert(drawn, SHAPE, "mean")


def test_half_and_brain_floats_are_read_as_float32_and_integers_are_left_out(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0, 0.25]], np.float32)
    brain = (values.view(np.uint32) >> 16).astype(np.uint16)
    path = tmp_path / "mixed.safetensors"
    tensors: dict[str, NDArray[Any]] = {
        "ids": np.arange(3),
        "odd": values.astype(np.float16),
        "half": values.astype(np.float16),
        "brain": brain,
        "double": values.astype(np.float64),
    }
    tiny.write_safetensors(path, tensors)
    read = read_safetensors(path)
    assert sorted(read) == ["brain", "double", "half", "odd"]
    for value in read.values():
        np.testing.assert_array_equal(value, values)
        assert value.dtype == np.float32


@pytest.mark.parametrize("keep", [0, 5, 8, 60, -4])
def test_a_cut_off_safetensors_file_is_refused(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "model.safetensors"
    tiny.write_safetensors(path, {"a": np.ones((4, 4), np.float32)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ConfigError, match="not a complete safetensors file"):
        read_safetensors(path)


def test_a_safetensors_header_that_lies_about_a_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    tiny.write_safetensors(path, {"a": np.ones(4, np.float32)})
    path.write_bytes(path.read_bytes().replace(b'"shape": [4]', b'"shape": [5]'))
    with pytest.raises(ConfigError, match="not a complete safetensors file"):
        read_safetensors(path)


def test_a_file_that_is_no_onnx_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\xff\xff\xff not a model")
    with pytest.raises(ConfigError, match="not an ONNX file"):
        is_quantized(path)
