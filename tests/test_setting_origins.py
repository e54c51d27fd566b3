"""A `.env` that was found by walking upward redirects no key, lets nobody in, and borrows no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.settings import load_settings, read_settings, variables

ADDRESSES = [(each.name, each.key) for each in variables() if each.key]
WIDENING = [each.name for each in variables() if each.widens]
VALUES = {
    "CHROMADB_PORT": "4711",
    "CHROMADB_HOST": "evil.example",
    "CHROMADB_SSL": "true",
    "MCP_API_KEYS_FILE": "keys",
    "RAG_API_KEYS_FILE": "keys",
}


def folders(tmp_path: Path, text: str) -> tuple[Path, Path]:
    """Write a `.env`; returns it and a working directory below it."""
    here = tmp_path / "project" / "src"
    here.mkdir(parents=True)
    file = tmp_path / "project" / ".env"
    file.write_text(text, encoding="utf-8")
    return file, here


def test_every_secret_that_is_sent_somewhere_goes_with_an_address() -> None:
    known = {each.name: each for each in variables()}
    assert {"OPENAI_BASE_URL", "RAG_API_URL", "QDRANT_URL", "CHROMADB_HOST"} <= {name for name, _ in ADDRESSES}
    assert {"MCP_ALLOWED_HOSTS", "ALLOWED_ROOTS"} <= set(WIDENING)
    assert all(known[key].secret for _, key in ADDRESSES)
    by_host = {"GITHUB_PAT", "GIT_TOKENS", "SOURCE_LOGINS"}  # each is sent to the host that it names, and to no other
    by_host.add("DATABASE_URL")  # an address that carries its own secret: tests.stores.test_postgres_errors
    assert {each.name for each in variables() if each.secret} - by_host == {key for _, key in ADDRESSES}


@pytest.mark.parametrize(("address", "key"), ADDRESSES)
@pytest.mark.parametrize("above", [True, False])
def test_a_key_of_the_environment_never_goes_to_an_address_of_a_file_that_was_found(
    tmp_path: Path, address: str, key: str, above: bool
) -> None:
    value = VALUES.get(address, "https://evil.example/v1")
    file, below = folders(tmp_path, f"{address}={value}\n{key}=of-the-file\n")
    folder = below if above else file.parent
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={key: "s3cret-of-the-user"}, folder=folder)
    message = f"{caught.value.message} {caught.value.details}"
    assert address in message
    assert key in message
    assert str(file) in message
    assert "(environment)" in message
    assert "s3cret" not in message
    reading = read_settings(environ={key: "s3cret-of-the-user"}, folder=folder)
    field = next(each.field for each in variables() if each.name == address)
    assert "evil" not in str(getattr(reading.settings, field))
    assert next(each for each in reading.values if each.variable.name == address).problem


@pytest.mark.parametrize(("address", "key"), ADDRESSES)
def test_an_address_and_its_key_of_one_source_are_accepted(tmp_path: Path, address: str, key: str) -> None:
    value = VALUES.get(address, "https://own.example/v1")
    file, below = folders(tmp_path, f"{address}={value}\n{key}=of-the-file\n")
    folder = file.parent if address in WIDENING else below
    assert not [each for each in read_settings(environ={}, folder=folder).problems if "refused" in each]
    empty = tmp_path / "empty"
    empty.mkdir()
    both = {address: value, key: "k"}
    assert not [each for each in read_settings(environ=both, folder=empty).problems if "refused" in each]


@pytest.mark.parametrize("name", WIDENING)
def test_a_file_above_the_working_directory_lets_nobody_in(tmp_path: Path, name: str) -> None:
    value = "https://app.example.com" if name == "MCP_ALLOWED_ORIGINS" else "0.0.0.0"
    file, below = folders(tmp_path, f"{name}={value}\n")
    (problem,) = read_settings(environ={}, folder=below).problems
    assert name in problem
    assert str(file) in problem
    assert str(below) in problem
    for environ, folder in (({}, file.parent), ({name: value}, below)):
        assert not [each for each in read_settings(environ=environ, folder=folder).problems if "refused" in each]


def test_a_file_that_was_found_borrows_no_secret_of_the_environment(tmp_path: Path) -> None:
    _, below = folders(tmp_path, "QDRANT_URL=https://evil.example/${AWS_SECRET_ACCESS_KEY}\nDATA_PATH=${PLACE}/data\n")
    environment = {"AWS_SECRET_ACCESS_KEY": "s3cret", "PLACE": "/srv"}
    reading = read_settings(environ=environment, folder=below)
    assert "AWS_SECRET_ACCESS_KEY" in reading.problems[0]
    assert "s3cret" not in str(reading)
    assert reading.settings.qdrant_url is None
    assert reading.settings.data_folder == Path("/srv/data")


def test_a_file_that_is_named_may_set_what_it_likes(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"QDRANT_URL": "https://own.example", "MCP_ALLOWED_HOSTS": "kb.example.com"}', encoding="utf-8")
    reading = read_settings(file, environ={"QDRANT_API_KEY": "k"}, folder=tmp_path)
    assert reading.problems == ()
