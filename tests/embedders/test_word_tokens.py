"""Counting word by word: the same tokens as of the whole text, or not used at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Whitespace

from knowledge_mcp.embedders.local import tokens
from knowledge_mcp.embedders.local.tokens import WordTokens, stands_alone
from tests.embedders import tiny
from tests.machine import examples

BLANKS = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u2028\u3000"
ALPHABET = BLANKS + "\u200b\u200d\ufeff\xad\x00\ufffdaeéE\u0301ßΣς東京[]-.,!CLSx1"


@pytest.fixture(scope="module", params=["tiny", "built-in"])
def tokenizer(request: pytest.FixtureRequest, minilm_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("tiny") / "tokenizer.json"
    tiny.write_tokenizer(path)
    if request.param == "built-in":
        path = minilm_cache / "all-MiniLM-L6-v2" / "tokenizer.json"
    made = Tokenizer.from_file(str(path))
    made.no_truncation()
    made.no_padding()
    return made


def whole(tokenizer: Any, text: str) -> tuple[tuple[int, int], ...]:
    """Cut a text in one."""
    return tuple(tokenizer.encode(text, add_special_tokens=False).offsets)


@pytest.mark.slow
@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("the plant[CLS]the [MASK]\x85x\x1fy  every requirement\u2028shall")
@given(text=st.text(ALPHABET, max_size=40) | st.text(max_size=30))
def test_words_have_the_tokens_that_they_have_in_the_text(tokenizer: Any, text: str) -> None:
    assert stands_alone(tokenizer)
    words = WordTokens(lambda one: whole(tokenizer, one))
    for _ in range(2):  # what is remembered, too
        assert words.count(text) == len(whole(tokenizer, text))
        assert tuple(words.spans(text)) == whole(tokenizer, text)


def test_each_word_is_cut_once_and_too_many_are_forgotten(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_REMEMBERED", 3)
    cut: list[str] = []

    def one(text: str) -> tuple[tuple[int, int], ...]:
        cut.append(text)
        return whole(tokenizer, text)

    words = WordTokens(one)
    long = "x" * 70
    assert words.count(f"the plant the plant {long}") == words.count(f"the plant the plant {long}")
    assert cut == ["the", "plant", long, long], "a word of this length is not remembered"
    words.spans("the plant")
    assert len(cut) == 4
    assert words.count("every page of the report") == 5
    assert words.count("every page of the report") == 5
    assert len(cut) > 4 + 4, "all were forgotten at the fourth"


def test_a_tokenizer_that_looks_beyond_a_word_is_asked_for_the_whole_text(tokenizer: Any) -> None:
    other: Any = Tokenizer(BPE())
    other.pre_tokenizer = Whitespace()
    assert not stands_alone(other)
    for token in (AddedToken("two words"), AddedToken("[X]", lstrip=True), AddedToken("[Y]", single_word=True)):
        copy: Any = Tokenizer.from_str(tokenizer.to_str())
        copy.add_tokens([token])
        assert not stands_alone(copy)
