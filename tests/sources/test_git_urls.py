"""Addresses of repositories: what is accepted, what it is called, where a line of it is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.sources.git.url import parse_url, permalink, repository_name, without_credentials

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.requirement("C-10.3-url")
@pytest.mark.requirement("C-6.4-name")
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/user/my-api.git", "my-api"),
        ("https://github.com/user/my.api", "my.api"),
        ("https://GitHub.com/user/repo/", "repo"),
        ("https://gitlab.com/group/sub/group/thing.git", "thing"),
        ("https://git.example.org:8443/team/tool", "tool"),
        ("https://codeberg.org/~user/x+y", "x_y"),
        ("https://git.example.org/x.git", "x"),
        ("https://git.example.org:8443/tool/", "tool"),
    ],
)
def test_https_addresses_of_many_hosts_are_accepted(url: str, name: str) -> None:
    assert parse_url(url).name == name


@pytest.mark.requirement("C-10.3-url")
@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/user/repo",
        "git://github.com/user/repo",
        "ssh://git@github.com/user/repo",
        "git@github.com:user/repo.git",
        "file:///etc",
        "ext::sh -c evil",
        "/home/someone/repo",
        "--upload-pack=evil",
        "https://github.com/user",
        "https://github.com/x.git",
        "https://gitlab.com/x.git",
        "https://bitbucket.org/x.git",
        "https://codeberg.org/x.git",
        "https://git.example.org/",
        "https://github.com/user/repo/tree/main",
        "https://github.com/user/..",
        "https://github.com/user/re po",
        "https://github.com/user/repo?x=1",
        "https://github.com/user/repo#x",
        "https://github.com/user/repo\n--config=x",
        "https://github.com:99999/user/repo",
        "https:///user/repo",
        "https://-x/user/repo",
        "https://localhost/user/repo",
        "https://127.0.0.1/user/repo",
        "https://[::1]/user/repo",
        "https://127.1/user/repo",
        "https://2130706433/user/repo",
        "https://0x7f.0.0.1/user/repo",
        "https://0177.0.0.1/user/repo",
        "https://169.254.169.254/user/repo",
        "https://100.100.100.200/user/repo",
        "https://0.0.0.0/user/repo",
        "https://224.0.0.1/user/repo",
        "https://host/" + "a" * 3000,
        "",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_url(url)


@pytest.mark.requirement("C-10.2-messages")
@pytest.mark.parametrize("url", ["https://ghp_secret@github.com/a/b", "https://me:ghp_secret@github.com/a/b"])
def test_a_token_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_url(url)
    assert "ghp_secret" not in f"{caught.value!r} {caught.value.details} {caught.value.suggestion}"
    assert "GITHUB_PAT" in caught.value.suggestion


def test_this_machine_and_its_folders_are_accepted_only_where_that_is_asked(tmp_path: Path) -> None:
    assert parse_url("http://127.0.0.1:8080/a/b", loopback_http=True).host == "127.0.0.1:8080"
    assert parse_url("http://[::1]:80/a/b", loopback_http=True).text == "http://[::1]:80/a/b"
    assert parse_url(str(tmp_path), local=True).text == f"file://{tmp_path}"
    with pytest.raises(InvalidInputError):
        parse_url("http://example.org/a/b", loopback_http=True)


@pytest.mark.requirement("C-10.4-names")
@given(st.text(max_size=130))
def test_a_repositorys_name_is_always_a_safe_folder_name(text: str) -> None:
    name = repository_name(text)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name)
    assert not name.endswith((".", ".lock"))
    assert repository_name(name) == name


@given(st.text(max_size=60))
def test_whatever_is_given_as_an_address_is_accepted_or_refused(text: str) -> None:
    try:
        found = parse_url(text, loopback_http=True)
    except InvalidInputError:
        return
    assert found.text.startswith(("https://", "http://"))
    assert "@" not in found.text
    assert not found.text.startswith("-")


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://github.com/a/b.git", f"https://github.com/a/b/blob/{COMMIT}/src/x%20y.py#L3-L9"),
        ("https://gitlab.com/a/b", f"https://gitlab.com/a/b/-/blob/{COMMIT}/src/x%20y.py#L3-9"),
        ("https://bitbucket.org/a/b", f"https://bitbucket.org/a/b/src/{COMMIT}/src/x%20y.py#lines-3:9"),
        ("https://codeberg.org/a/b", f"https://codeberg.org/a/b/src/commit/{COMMIT}/src/x%20y.py#L3-L9"),
        ("https://git.example.org/a/b", None),
        ("file:///a/b", None),
    ],
)
def test_a_permalink_names_the_commit_and_the_lines(url: str, page: str | None) -> None:
    assert permalink(url, COMMIT, "src/x y.py", (3, 9)) == page


def test_a_permalink_needs_a_commit_and_no_credentials() -> None:
    assert permalink("https://github.com/a/b", "", "x.py") is None
    assert permalink("https://me:pw@github.com/a/b", COMMIT, "x.py") == f"https://github.com/a/b/blob/{COMMIT}/x.py"
    assert without_credentials("see https://me:pw@host/x and http://t@h") == "see https://host/x and http://h"
