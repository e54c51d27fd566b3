"""What a model's own files say is understood, and what is not supported is refused by name."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from knowledge_mcp.embedders.local.model_config import ModelConfig, config_from_json, read_config
from knowledge_mcp.model.errors import ConfigError
from tests.embedders import tiny


@pytest.mark.parametrize(("flag", "pooling"), [("mean_tokens", "mean"), ("cls_token", "cls"), ("lasttoken", "last")])
def test_each_pooling_is_known_by_its_flag(tmp_path: Path, flag: str, pooling: str) -> None:
    assert read_config(tiny.write_model(tmp_path / "m", pooling=flag)).pooling == pooling


@pytest.mark.parametrize(("name", "pooling"), [("mean", "mean"), ("cls", "cls"), ("lasttoken", "last")])
def test_each_pooling_is_known_by_its_name(tiny_model: Path, name: str, pooling: str) -> None:
    (tiny_model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": name}))
    assert read_config(tiny_model).pooling == pooling


@pytest.mark.parametrize(
    "settings", [{"pooling_mode": "weighted"}, {"pooling_mode_max_tokens": True}, {"include_prompt": False}]
)
def test_another_pooling_is_refused(tiny_model: Path, settings: dict[str, object]) -> None:
    (tiny_model / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="pooling"):
        read_config(tiny_model)


def test_two_poolings_at_once_are_refused(tiny_model: Path) -> None:
    both = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    (tiny_model / "1_Pooling" / "config.json").write_text(json.dumps(both))
    with pytest.raises(ConfigError, match="one at a time"):
        read_config(tiny_model)


def test_without_a_pooling_file_the_mean_is_assumed_and_logged(
    tiny_model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tiny_model / "1_Pooling" / "config.json").unlink()
    (tiny_model / "modules.json").unlink()
    assert read_config(tiny_model).pooling == "mean"
    assert "pooling_assumed" in caplog.text


@pytest.mark.parametrize(
    ("written", "query", "document"),
    [
        ({"prompts": {"query": "q: ", "document": "d: "}}, "q: ", "d: "),
        ({"prompts": {"query": "q: ", "passage": "p: "}}, "q: ", "p: "),
        ({"prompts": {"all": "* "}, "default_prompt_name": "all"}, "* ", "* "),
        ({"prompts": None}, "", ""),
        ({}, "", ""),
    ],
)
def test_prompts_become_the_prefixes_of_texts(
    tiny_model: Path, written: dict[str, object], query: str, document: str
) -> None:
    (tiny_model / "config_sentence_transformers.json").write_text(json.dumps(written))
    config = read_config(tiny_model)
    assert (config.query_prefix, config.document_prefix) == (query, document)


def test_the_window_is_the_smaller_of_the_two_limits(tmp_path: Path) -> None:
    assert read_config(tiny.write_model(tmp_path / "a", max_seq_length=16)).max_seq_length == 16
    assert read_config(tiny.write_model(tmp_path / "b", max_seq_length=4000)).max_seq_length == tiny.POSITIONS


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_act": "swish"},
        {"position_embedding_type": "relative_key"},
        {"num_attention_heads": 5},
        {"hidden_size": "32"},
    ],
)
def test_a_bert_of_another_kind_is_refused(tmp_path: Path, settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(settings))):
        read_config(tiny.write_model(tmp_path / "m", config=settings))


def test_a_further_module_is_refused_by_name(tmp_path: Path) -> None:
    path = tiny.write_model(tmp_path / "m", modules=("Transformer", "Pooling", "Dense"))
    with pytest.raises(ConfigError, match="Dense"):
        read_config(path)


def test_a_model_that_wants_lower_case_first_is_refused(tiny_model: Path) -> None:
    (tiny_model / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    with pytest.raises(ConfigError, match="lower-cased"):
        read_config(tiny_model)


@pytest.mark.parametrize("name", ["config.json", "modules.json", "sentence_bert_config.json"])
@pytest.mark.parametrize("content", ["{", '"text"', "[1]"])
def test_a_malformed_file_is_named(tiny_model: Path, name: str, content: str) -> None:
    (tiny_model / name).write_text(content)
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        read_config(tiny_model)


def test_a_folder_without_a_config_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not contain an embedding model"):
        read_config(tmp_path)


def test_a_configuration_survives_json_and_another_form_is_refused(tiny_model: Path) -> None:
    config = read_config(tiny_model)
    assert config_from_json(json.loads(json.dumps(asdict(config)))) == config
    without_bert = ModelConfig(dimensions=3, pooling="cls", max_seq_length=9)
    assert config_from_json(asdict(without_bert)) == without_bert
    for damage in ({"bert": None}, {**asdict(config), "pooling": "sum"}, {**asdict(config), "new": 1}):
        with pytest.raises(ConfigError):
            config_from_json(damage)


@pytest.mark.parametrize(
    ("name", "prefixes"),
    [
        ("intfloat/multilingual-e5-small", ("query: ", "passage: ")),
        ("intfloat/e5-base-v2", ("query: ", "passage: ")),
        ("owner/re5-small", ("", "")),
        ("owner/multilingual-e5-large-instruct", ("", "")),
    ],
)
def test_a_model_of_the_e5_family_has_the_prefixes_of_its_card(
    tiny_model: Path, name: str, prefixes: tuple[str, str]
) -> None:
    (tiny_model / "config_sentence_transformers.json").unlink(missing_ok=True)
    found = read_config(tiny_model, name)
    assert (found.query_prefix, found.document_prefix) == prefixes
