"""Packed models: their weights, their vocabulary, and a model that is fetched in this form."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from knowledge_mcp.embedders.local import model_folders
from knowledge_mcp.embedders.local.embedder import LocalEmbedder
from knowledge_mcp.embedders.local.model_config import sha256_of
from knowledge_mcp.embedders.local.model_files import fetch, verify
from knowledge_mcp.embedders.local.model_folders import MULTILINGUAL_E5, PACKED, PinnedModel
from knowledge_mcp.embedders.local.model_sources import PinnedFile
from knowledge_mcp.embedders.local.packed import read_packed, write_tokenizer
from knowledge_mcp.model.chunk import numbers_of
from knowledge_mcp.model.errors import ConfigError
from tests.embedders import tiny
from tests.embedders.packing import PIECES, write_packed
from tests.embedders.test_model_files import ONCE, FolderSource


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    folder = tmp_path / "wheel"
    folder.mkdir()
    write_packed(folder / PACKED, tiny.weights(), layers=2)
    return folder / PACKED


def test_every_weight_comes_back_near_what_was_packed(packed: Path) -> None:
    expected, found = tiny.weights(), read_packed(packed)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].shape == value.shape
        step = float(np.abs(value).max()) / 7 if value.ndim > 1 else 0.0
        assert float(np.abs(found[name] - value).max()) <= step * 0.6, name


def test_the_vocabulary_becomes_a_tokenizer_that_cuts_at_blanks_of_any_kind(packed: Path, tmp_path: Path) -> None:
    target = tmp_path / "tokenizer.json"
    write_tokenizer(packed, target)
    tokenizer = Tokenizer.from_file(str(target))
    encoding = tokenizer.encode("die\u200b\tPumpe\x07  läuft")
    assert encoding.tokens == ["<s>", "▁die", "▁Pumpe", "▁läuft", "</s>"]
    assert encoding.offsets[1] == (0, 3)
    assert [PIECES[number] for number in encoding.ids] == encoding.tokens
    again = tmp_path / "again.json"
    write_tokenizer(packed, again)
    assert again.read_bytes() == target.read_bytes()


@pytest.mark.parametrize("keep", [0, 3, 60, 5000])
def test_a_file_that_is_cut_off_is_refused_by_name(packed: Path, keep: int) -> None:
    packed.write_bytes(packed.read_bytes()[:keep])
    with pytest.raises(ConfigError, match=PACKED):
        read_packed(packed)


def test_another_file_is_refused(packed: Path) -> None:
    packed.write_bytes(b"GGUF" + packed.read_bytes()[4:])
    with pytest.raises(ConfigError, match="not a complete packed model"):
        write_tokenizer(packed, packed.with_suffix(".json"))


def _known(packed: Path, tmp_path: Path) -> PinnedModel:
    write_tokenizer(packed, tmp_path / "expected.json")
    shape = MULTILINGUAL_E5.config.bert
    assert shape is not None
    bert = dataclasses.replace(shape, layers=2, heads=tiny.HEADS, hidden=tiny.HIDDEN, positions=tiny.POSITIONS)
    return dataclasses.replace(
        MULTILINGUAL_E5,
        weights=PinnedFile(PACKED, sha256_of(packed), packed.stat().st_size),
        tokenizer=PinnedFile("tokenizer.json", sha256_of(tmp_path / "expected.json"), 1),
        config=dataclasses.replace(MULTILINGUAL_E5.config, dimensions=tiny.HIDDEN, max_seq_length=40, bert=bert),
    )


def test_a_packed_model_is_fetched_built_and_asked_with_its_own_prefixes(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, cache = _known(packed, tmp_path), tmp_path / "cache"
    monkeypatch.setattr(model_folders, "PINNED", (known,))
    report = fetch(known.name, cache=cache, sources=[FolderSource(packed.parent)], retries=ONCE)
    assert report.source == "folder"
    assert all(each.ok for each in verify(known.name, cache=cache))
    embedder = LocalEmbedder(known.name, cache=cache, threads=1)
    try:
        asked, result = embedder.embed_query("die Pumpe"), embedder.embed_documents(["die Pumpe"])[0]
        assert asked != result
        assert len(numbers_of(asked)) == tiny.HIDDEN
        assert (embedder.space.query_prefix, embedder.space.document_prefix) == ("query: ", "passage: ")
    finally:
        embedder.close()


def test_the_space_of_the_multilingual_model_is_known_without_its_files(tmp_path: Path) -> None:
    space = LocalEmbedder("multilingual-e5-small", cache=tmp_path).space
    assert (space.model, space.dimensions, space.weights) == (
        "multilingual-e5-small", 384, MULTILINGUAL_E5.weights.sha256,
    )  # fmt: skip
    assert not list(tmp_path.iterdir())
