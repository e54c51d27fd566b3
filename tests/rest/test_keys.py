"""Keys and their rights: where they come from, how they are recognised, how they change while the server runs."""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from knowledge_mcp.transports.rest.gates import KeyOf
from knowledge_mcp.transports.shared.keys import Key, KeyRing, parse_keys
from tests.rest.world import keys_file

CI = {"name": "ci", "key": "ci-secret", "read": ["*"], "write": ["project-*"]}


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def rewrite(path: Path, text: str) -> None:
    """Put another file in the place of a file, as a mounted secret changes."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.chmod(0o600)
    fresh.replace(path)


@pytest.mark.requirement("D-REQ-6.3")
def test_the_keys_of_both_settings_are_recognised_by_name(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"hashed-secret").hexdigest()
    path = keys_file(tmp_path, json.dumps({"keys": [CI, {"name": "ops", "sha256": digest.upper(), "write": []}]}))
    ring = KeyRing("own-secret", path)
    assert ring.problem == ""
    assert ring.required
    assert ring.names == ("ci", "default", "ops")
    assert ring.recognise(b"own-secret") == Key("default")
    assert ring.recognise(b"ci-secret") == Key("ci", ("*",), ("project-*",))
    assert ring.recognise(b"hashed-secret") == Key("ops", ("*",), ())
    for wrong in (b"", b"ci-secre", b"ci-secret2", digest.encode(), b"\xff\xfe"):
        assert ring.recognise(wrong) is None


def test_rights_are_patterns_of_collections() -> None:
    key = Key("ci", ("docs", "team-[ab]"), ("project-*",))
    assert key.may_read("docs")
    assert key.may_read("team-b")
    assert not key.may_read("Docs")
    assert not key.may_read("team-c")
    assert key.may_write("project-alpha")
    assert not key.may_write("docs")
    assert not key.may_do_everything
    assert Key("all").may_do_everything
    assert not Key("reader", ("*",), ()).may_do_everything


def test_a_key_sees_the_documents_of_all_groups_only_where_it_reads_everything_or_names_them(tmp_path: Path) -> None:
    content: dict[str, Any] = {"keys": [
        {"name": "all", "key": "a"}, {"name": "some", "key": "b", "read": ["docs"]},
        {"name": "named", "key": "c", "read": ["docs"], "groups": ["legal"]},
        {"name": "none", "key": "d", "groups": []},
    ]}  # fmt: skip
    ring = KeyRing(path=keys_file(tmp_path, json.dumps(content)))
    found = {
        name: ring.recognise(key) for name, key in (("all", b"a"), ("some", b"b"), ("named", b"c"), ("none", b"d"))
    }
    assert {name: key.groups for name, key in found.items() if key is not None} == {
        "all": ("*",), "some": (), "named": ("legal",), "none": (),
    }  # fmt: skip
    assert found["none"] is not None
    assert not found["none"].may_do_everything


@pytest.mark.parametrize("text", ["alice: a1\n# a note\n\nbob: b:2\n", '{"alice": "a1", "bob": "b:2"}'])
def test_a_plain_file_of_names_and_keys_gives_all_rights(tmp_path: Path, text: str) -> None:
    ring = KeyRing(path=keys_file(tmp_path, text), setting="MCP_API_KEYS_FILE")
    assert ring.recognise(b"a1") == Key("alice")
    assert ring.recognise(b"b:2") == Key("bob")


def test_a_pattern_of_collections_gives_no_right_to_an_engine() -> None:
    key = Key("eng", ("eng*", "[e]*"), ("*e*",))
    assert key.may_read("engineering")
    assert key.may_write("engineering")
    assert not key.may_read("engine:standards")
    assert not key.may_write("engine:standards")
    assert Key("engine", ("engine:s*",), ("engine:*",)).may_read("engine:standards")
    assert Key("engine", ("engine:s*",), ("engine:*",)).may_write("engine:standards")
    assert Key("all").may_read("engine:standards")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no key"),
        ("alice", "line 1"),
        ("alice: two words", "without spaces"),
        ("{", "not a valid JSON object"),
        ("[1]", "line 1"),
        ("{" * 100_000, "not a valid JSON object"),
        ('{"keys": []}', "contains no key"),
        ('{"keys": [1]}', "entry 1"),
        ('{"keys": [{"key": "hush"}]}', "name"),
        ('{"keys": [{"name": "a"}]}', "either 'key' or 'sha256'"),
        ('{"keys": [{"name": "a", "key": "hush", "sha256": "00"}]}', "either 'key' or 'sha256'"),
        ('{"keys": [{"name": "a", "sha256": "hush"}]}', "64 hexadecimal"),
        ('{"keys": [{"name": "a", "key": "hush", "reed": ["*"]}]}', "unknown field 'reed'"),
        ('{"keys": [{"name": "a", "key": "hush", "read": "*"}]}', "list of collection patterns"),
        ('{"keys": [{"name": "a", "key": "hush", "write": [1]}]}', "list of collection patterns"),
        ('{"keys": [{"name": "a", "key": "hush"}, {"name": "a", "key": "b"}]}', "given twice"),
        ('{"keys": [{"name": "a", "key": "hush"}, {"name": "b", "key": "hush"}]}', "also used for another name"),
        ('{"a": 1}', "visible ASCII"),
        ('{"keys": [{"name": "oauth:a", "key": "hush"}]}', "must not begin with 'oauth:'"),
        ('{"keys": [{"name": "a", "key": "hush", "groups": "legal"}]}', "list of groups"),
        ('{"keys": [{"name": "a", "key": "hush"}], "rolls": []}', "unknown field 'rolls'"),
        ('{"keys": [], "roles": {}}', "'roles' is not a list"),
        ('{"roles": [{"read": ["*"]}]}', "not a valid group name"),
        ('{"roles": [{"group": "*", "read": ["*"]}]}', "not a valid group name"),
        ('{"roles": [{"group": "legal", "reed": ["*"]}]}', "unknown field 'reed'"),
        ('{"roles": [{"group": "legal", "read": "*"}]}', "list of collection patterns"),
        ('{"a\\u0000": "hush"}', "name"),
    ],
)
def test_a_wrong_file_of_keys_is_refused_without_showing_a_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_keys(text)
    ring = KeyRing(path=keys_file(tmp_path, text))
    assert ring.required
    assert message in ring.problem
    assert "hush" not in ring.problem
    assert ring.recognise(b"hush") is None


def test_a_file_that_is_missing_or_no_text_is_a_problem_at_the_start(tmp_path: Path) -> None:
    assert "cannot be read" in KeyRing(path=tmp_path / "nowhere").problem
    if sys.platform != "win32":
        assert "not a regular file" in KeyRing(path=Path(os.devnull)).problem, "a pipe could hold the server for ever"
    path = tmp_path / "keys"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in KeyRing(path=path).problem


def test_no_key_at_all_means_that_none_is_required() -> None:
    ring = KeyRing()
    assert not ring.required
    assert ring.recognise(b"") is None


def test_a_changed_file_takes_effect_within_a_second_and_without_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    path = keys_file(tmp_path, "alice: first")
    ring = KeyRing(path=path, clock=clock)
    rewrite(path, "alice: second\nbob: third")
    assert ring.recognise(b"second") is None, "it is looked at once a second at most"
    assert ring.recognise(b"first") == Key("alice")
    clock.now += 1.0
    assert ring.recognise(b"second") == Key("alice")
    assert ring.recognise(b"third") == Key("bob")
    assert ring.recognise(b"first") is None


def test_a_broken_new_file_keeps_the_old_keys_and_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    path = keys_file(tmp_path, "alice: first")
    ring = KeyRing(path=path, clock=clock)
    with caplog.at_level(logging.INFO):
        rewrite(path, '{"keys": [{"name": "alice", "key": "hush"')
        for _ in range(3):
            clock.now += 1.0
            assert ring.recognise(b"first") == Key("alice")
        path.unlink()
        for _ in range(3):
            clock.now += 1.0
            assert ring.recognise(b"first") == Key("alice")
        assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR]
        assert "hush" not in caplog.text
        rewrite(path, "alice: third")
        clock.now += 1.0
        assert ring.recognise(b"third") == Key("alice")
        assert ring.problem == ""


def test_a_file_s_default_takes_the_place_of_the_single_key(tmp_path: Path) -> None:
    ring = KeyRing("single", keys_file(tmp_path, "default: filed"))
    assert ring.recognise(b"single") is None
    assert ring.recognise(b"filed") == Key("default")


def test_a_file_that_all_can_read_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = keys_file(tmp_path, "alice: first")
    path.chmod(0o644)
    KeyRing(path=path)
    assert "chmod 600" in caplog.text
    assert os.fspath(path) in caplog.text


def test_a_ring_keeps_no_key_that_could_be_read_from_it(tmp_path: Path) -> None:
    ring = KeyRing("own-secret", keys_file(tmp_path, json.dumps({"keys": [CI]})))
    assert "secret" not in repr(vars(ring))


def test_a_route_gets_its_key_without_another_thread() -> None:
    _, depends = get_args(KeyOf)
    assert inspect.iscoroutinefunction(depends.dependency)  # FastAPI calls others on a thread
