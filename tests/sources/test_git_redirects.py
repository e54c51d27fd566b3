"""A remote that redirects Git elsewhere: the target is checked like an address that somebody gave."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.sources.git.process import GitProgram
from knowledge_mcp.sources.git.source import GitClones
from tests.servers.git_server import GitServer, MadeRepository
from tests.sources.web_site import Authority

FIRST, SECOND = "first.example.org", "second.example.org"
TOKEN = "ghp_onlyForTheFirstServer"


def _here(host: str, port: int) -> list[str]:
    del host, port
    return ["127.0.0.1"]


class _Servers:
    """Two servers over https: the first redirects, the second has the repository."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        authority = Authority(folder)
        self.trusted = folder / "authority.pem"
        self.trusted.write_text(authority.pem())
        self.made = MadeRepository(folder / "served" / "owner" / "name")
        self.made.commit({"a.md": "# Of the second server\n"})
        self.clones = folder / "clones"
        self.first, self.second = (
            stack.enter_context(GitServer(folder / "served", tls=authority.server(*names)))
            for names in ((FIRST,), (SECOND, "127.0.0.1"))
        )

    def redirect_to(self, host: str, rest: str = "/info/refs?service=git-upload-pack") -> None:
        self.first.behaviour.status = 301
        self.first.behaviour.location = f"https://{host}:{self.second.port}/owner/name{rest}"

    @property
    def address(self) -> str:
        return f"https://{FIRST}:{self.first.port}/owner/name"

    def opened(self, *allowed: str, tokens: dict[str, str] | None = None) -> GitClones:
        return GitClones(
            self.clones,
            git=GitProgram(environment={"GIT_SSL_CAINFO": str(self.trusted)}),
            allowed_hosts=(FIRST, *allowed),
            resolver=_here,
            tokens=tokens,
        )


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[_Servers]:
    with ExitStack() as stack:
        found = _Servers(tmp_path, stack)
        monkeypatch.setenv("SSL_CERT_FILE", str(found.trusted))
        yield found


@pytest.mark.parametrize("host", [SECOND, "127.0.0.1"])
def test_git_is_not_redirected_to_an_address_that_may_not_be_fetched(servers: _Servers, host: str) -> None:
    servers.redirect_to(host)
    with pytest.raises(InvalidInputError, match="is not public"):
        servers.opened().clone(servers.address)
    with pytest.raises(InvalidInputError, match="is not public"):
        servers.opened().remote_head(servers.address)
    assert servers.second.behaviour.seen == []


def test_a_repository_that_moved_to_an_accepted_host_is_cloned_and_updated_from_there(servers: _Servers) -> None:
    servers.redirect_to(SECOND)
    clones = servers.opened(SECOND)
    found = clones.clone(servers.address)
    assert found.url == servers.address
    assert (found.folder / "a.md").read_text() == "# Of the second server\n"
    commit = servers.made.commit({"b.md": "# Later\n"})
    assert clones.update(found.name).commit == commit


def test_a_redirect_gets_no_token_not_even_that_of_its_target(servers: _Servers) -> None:
    servers.redirect_to(SECOND)
    servers.opened(tokens={f"{SECOND}:{servers.second.port}": TOKEN}).clone(servers.address)
    with pytest.raises(InvalidInputError, match="moved"):
        servers.opened(SECOND, tokens={f"{FIRST}:{servers.first.port}": TOKEN}).clone(servers.address, name="again")
    assert {sent for _, sent in servers.second.behaviour.seen} == {""}


def test_a_redirect_to_something_else_than_a_repository_is_not_followed(servers: _Servers) -> None:
    servers.redirect_to(SECOND, "/sign-in")
    with pytest.raises(InvalidInputError, match="moved"):
        servers.opened(SECOND).clone(servers.address)
