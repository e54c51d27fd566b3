"""The quick way of int8 is taken only where it is exact."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from knowledge_mcp.embedders.local import session
from knowledge_mcp.embedders.local.model_folders import ALL_MINILM
from knowledge_mcp.embedders.local.session import DEPTH, WIDTH, OnnxModel, are_exact, probe

TEXTS = (
    "how is a valve opened",
    "The supplier shall verify every requirement before delivery, and record the result in the report of clause 5.3.1.",
    "aerodynamics of bodies at high speeds " * 40,
    "x",
)


@pytest.fixture(autouse=True)
def asked_anew() -> Generator[None]:
    """Forget what was found of this processor."""
    are_exact.cache_clear()
    yield
    are_exact.cache_clear()


def test_the_probe_is_the_model_that_it_is_said_to_be() -> None:
    made: Any = helper.make_model(
        helper.make_graph(
            [helper.make_node("MatMulInteger", ["a", "b"], ["y"])],
            "probe",
            [helper.make_tensor_value_info("a", TensorProto.UINT8, [None, DEPTH])],
            [helper.make_tensor_value_info("y", TensorProto.INT32, [None, WIDTH])],
            [numpy_helper.from_array(np.full((DEPTH, WIDTH), 127, np.int8), "b")],
        ),
    )
    assert onnx.load_model_from_string(probe()).graph == made.graph


class Saturating:
    """Add up as processors do that have no instructions for it: two products in 16 bits."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def run(self, _: object, feed: Mapping[str, Any]) -> list[Any]:
        pairs = min(2 * 255 * 127, 32_767)
        return [np.full((len(feed["a"]), WIDTH), DEPTH // 2 * pairs, np.int32)]


def test_a_processor_that_cuts_sums_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.onnxruntime, "InferenceSession", Saturating)
    assert not are_exact()


@pytest.mark.parametrize("exact", [True, False])
def test_the_slow_way_is_taken_where_the_quick_one_is_not_exact(
    monkeypatch: pytest.MonkeyPatch, *, exact: bool
) -> None:
    monkeypatch.setattr(session, "are_exact", lambda: exact)
    options: Any = vars(session)["_options"]()
    if exact:
        with pytest.raises(RuntimeError):
            options.get_session_config_entry("session.x64quantprecision")
    else:
        assert options.get_session_config_entry("session.x64quantprecision") == "1"


def test_both_ways_give_the_same_vectors_where_both_are_exact(
    minilm_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = minilm_cache / ALL_MINILM.name
    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    found: list[list[bytes]] = []
    for exact in (True, False):
        monkeypatch.setattr(session, "are_exact", lambda exact=exact: exact)
        model = OnnxModel(folder / "model-int8.onnx", ALL_MINILM.config)
        found.append([model.embed(tokenizer.encode(text)) for text in TEXTS])
    if not are_exact():  # then the quick way's vectors are those that must not be used
        assert found[0] != found[1]
    else:
        assert found[0] == found[1]
