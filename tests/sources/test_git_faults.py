"""What goes wrong with a remote: each with its own error, nothing half done, and never a word of the token."""

from __future__ import annotations

import base64
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import psutil
import pytest

from knowledge_mcp.model.errors import (
    AuthError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.settings import load_settings
from knowledge_mcp.sources.git.process import GitProgram, git_error, quoted
from knowledge_mcp.sources.git.source import GitClones, from_options
from tests.servers.git_server import GitServer, MadeRepository
from tests.waiting import wait_until

TOKEN = "ghp_notForAnyEye0123456789"
ENCODED = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
PATH = "someone/private"


@pytest.fixture
def server(tmp_path: Path) -> Generator[GitServer]:
    repository = MadeRepository(tmp_path / "served" / PATH)
    repository.commit({"a.py": "def first():\n    return 1\n", "data.txt": os.urandom(200_000).hex()})
    with GitServer(tmp_path / "served", token=TOKEN) as running:
        yield running


def clones_with(tmp_path: Path, server: GitServer, token: str = TOKEN, timeout: float = 60.0) -> GitClones:
    tokens = {server.host: token}
    return GitClones(tmp_path / "clones", tokens=tokens, loopback_http=True, git=GitProgram(timeout=timeout))


def written(folder: Path) -> str:
    return " ".join(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def failure_of(call: Callable[[], object]) -> KnowledgeError:
    with pytest.raises(KnowledgeError) as caught:
        call()
    said = f"{caught.value!r} {caught.value.details} {caught.value.suggestion} {caught.value.__cause__!r}"
    assert TOKEN not in said
    assert ENCODED not in said
    return caught.value


def family() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def command_lines() -> str:
    lines: list[str] = []
    for process in family():
        try:
            lines.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return "\n".join(lines)


@pytest.mark.requirement("C-6.4-token")
@pytest.mark.requirement("C-8.1-GITHUB_PAT")
@pytest.mark.requirement("C-10.2-redaction")
@pytest.mark.requirement("C-10.2-messages")
def test_a_token_opens_a_private_repository_and_is_left_nowhere(
    tmp_path: Path, server: GitServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    clones = clones_with(tmp_path, server)
    found = clones.clone(server.url(PATH))
    clones.update("private")
    assert {sent for _, sent in server.behaviour.seen} == {f"Basic {ENCODED}"}
    for path in found.folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert TOKEN.encode() not in data
            assert ENCODED.encode() not in data
    assert TOKEN not in caplog.text
    assert ENCODED not in caplog.text
    assert TOKEN not in repr(found)


@pytest.mark.requirement("C-6.4-token")
def test_no_command_line_holds_the_token_while_git_works_and_a_cancelled_clone_leaves_nothing(
    tmp_path: Path, server: GitServer
) -> None:
    clones = clones_with(tmp_path, server)
    server.behaviour.stalled = True
    stop = threading.Event()
    failures: list[KnowledgeError] = []

    def work() -> None:
        failures.append(failure_of(lambda: clones.clone(server.url(PATH), cancelled=stop.is_set)))

    worker = threading.Thread(target=work)
    worker.start()
    assert server.behaviour.reached.wait(10)
    lines = command_lines()
    assert "clone" in lines
    assert "remote-http" in lines
    assert TOKEN not in lines
    assert ENCODED not in lines
    stop.set()
    worker.join(10)
    assert isinstance(failures[0], TimedOutError)
    assert "cancelled" in failures[0].message
    wait_until(lambda: "remote-http" not in command_lines())
    assert written(tmp_path / "clones") == ""


def test_a_clone_that_takes_too_long_is_stopped_with_all_that_it_started(tmp_path: Path, server: GitServer) -> None:
    server.behaviour.stalled = True
    clones = clones_with(tmp_path, server, timeout=1.0)
    error = failure_of(lambda: clones.clone(server.url(PATH)))
    assert isinstance(error, TimedOutError)
    wait_until(lambda: "remote-http" not in command_lines())
    assert written(tmp_path / "clones") == ""


@pytest.mark.requirement("C-9.1-authentication")
@pytest.mark.parametrize(("token", "words"), [("", "needs a token"), ("ghp_wrong", "was refused")])
def test_a_missing_and_a_wrong_token_are_distinguished(
    tmp_path: Path, server: GitServer, token: str, words: str
) -> None:
    clones = clones_with(tmp_path, server, token)
    for call in (lambda: clones.clone(server.url(PATH)), lambda: clones.remote_head(server.url(PATH))):
        error = failure_of(call)
        assert isinstance(error, AuthError)
        assert words in error.message
        assert "GITHUB_PAT" in error.suggestion
    assert written(tmp_path / "clones") == ""


def test_a_token_goes_to_its_own_host_only(tmp_path: Path, server: GitServer) -> None:
    with GitServer(tmp_path / "served") as other:
        GitClones(tmp_path / "clones", tokens={server.host: TOKEN}, loopback_http=True).clone(other.url(PATH))
        assert {sent for _, sent in other.behaviour.seen} == {""}


def test_a_redirect_is_not_followed_with_a_token(tmp_path: Path, server: GitServer) -> None:
    with GitServer(tmp_path / "served") as other:
        server.behaviour.status = 301
        server.behaviour.location = other.url(f"{PATH}/info/refs?service=git-upload-pack")
        error = failure_of(lambda: clones_with(tmp_path, server).clone(server.url(PATH)))
        assert isinstance(error, InvalidInputError)
        assert "moved" in error.message
        assert other.behaviour.seen == []


@pytest.mark.requirement("C-9.1-external")
@pytest.mark.parametrize(
    ("status", "kind"),
    [(500, ConnectionFailedError), (503, ConnectionFailedError), (404, NotFoundError), (429, RateLimitedError)],
)
def test_what_a_server_answers_becomes_its_error(
    tmp_path: Path, server: GitServer, status: int, kind: type[KnowledgeError]
) -> None:
    server.behaviour.status = status
    error = failure_of(lambda: clones_with(tmp_path, server).clone(server.url(PATH)))
    assert type(error) is kind
    assert written(tmp_path / "clones") == ""


def test_a_missing_branch_a_missing_repository_and_no_network_are_distinguished(
    tmp_path: Path, server: GitServer
) -> None:
    clones = clones_with(tmp_path, server)
    error = failure_of(lambda: clones.clone(server.url(PATH), branch="gone"))
    assert isinstance(error, NotFoundError)
    assert "no branch gone" in error.message
    error = failure_of(lambda: clones.clone(server.url("someone/nothing")))
    assert isinstance(error, NotFoundError)
    assert "no repository" in error.message
    error = failure_of(lambda: clones.clone("http://127.0.0.1:1/someone/nothing"))
    assert isinstance(error, ConnectionFailedError)
    assert error.recoverable
    assert written(tmp_path / "clones") == ""


def test_an_answer_cut_off_in_the_middle_leaves_nothing_and_a_later_try_succeeds(
    tmp_path: Path, server: GitServer
) -> None:
    clones = clones_with(tmp_path, server)
    server.behaviour.cut_after = 100_000
    error = failure_of(lambda: clones.clone(server.url(PATH)))
    assert isinstance(error, ConnectionFailedError)
    assert written(tmp_path / "clones") == ""
    server.behaviour.cut_after = None
    assert clones.clone(server.url(PATH)).name == "private"


def test_an_update_that_fails_leaves_the_clone_as_it_was(tmp_path: Path, server: GitServer) -> None:
    clones = clones_with(tmp_path, server)
    before = clones.clone(server.url(PATH))
    MadeRepositoryAt(tmp_path / "served" / PATH).commit({"data.txt": os.urandom(200_000).hex()})
    server.behaviour.cut_after = 100_000
    assert isinstance(failure_of(lambda: clones.update("private")), ConnectionFailedError)
    assert clones.open("private") == before
    server.behaviour.cut_after = None
    assert clones.update("private").commit != before.commit


class MadeRepositoryAt(MadeRepository):
    """A repository that is there already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


KILLED = """
import sys
from knowledge_mcp.sources.git.source import GitClones
GitClones(sys.argv[1], loopback_http=True, tokens={sys.argv[3]: sys.argv[4]}).clone(sys.argv[2])
"""


def test_a_process_killed_in_the_middle_of_a_clone_leaves_no_clone_and_the_next_one_cleans_up(
    tmp_path: Path, server: GitServer
) -> None:
    server.behaviour.stalled = True
    arguments = [str(tmp_path / "clones"), server.url(PATH), server.host, TOKEN]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *arguments], start_new_session=True)
    assert server.behaviour.reached.wait(20)
    orphans = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert written(tmp_path / "clones").endswith(".partial")
    server.behaviour.stalled = False
    server.behaviour.release.set()
    found = clones_with(tmp_path, server).clone(server.url(PATH))
    assert (found.folder / "a.py").read_text().startswith("def first")
    assert written(tmp_path / "clones") == "private"
    wait_until(lambda: not [one for one in orphans if one.is_running()])


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("fatal: write error: No space left on device", InternalError, "not enough disk"),
        ("error: unable to write file x\nfatal: unable to checkout working tree", InternalError, "not enough disk"),
        ("error: invalid path '../x'\nfatal: unable to checkout working tree", InvalidInputError, "leads out"),
        ("remote: Repository not found.\nfatal: repository 'https://x/' not found", NotFoundError, "no repository"),
        ("fatal: unable to access 'x': SSL certificate problem: self-signed", ConnectionFailedError, "certificate"),
        ("fatal: unable to access 'x': Could not resolve host: github.com", ConnectionFailedError, "reached"),
        ("fatal: detected dubious ownership in repository at '/x'", InvalidInputError, "another user"),
        ("fatal: transport 'ext' not allowed", InvalidInputError, "https"),
        ("remote: HTTP Basic: Access denied\nfatal: Authentication failed for 'x'", AuthError, "token"),
        ("fatal: something never heard of", InternalError, "failed"),
    ],
)
def test_what_git_says_becomes_the_right_error(said: str, kind: type[KnowledgeError], words: str) -> None:
    error = git_error(quoted(said), what="the repository", token=True)
    assert type(error) is kind
    assert words in error.message
    assert error.details


def test_what_git_says_is_quoted_without_progress_credentials_and_control_characters() -> None:
    said = "Cloning into 'x'...\nReceiving objects:  45%\rReceiving objects: 100%\nfatal: https://me:pw@host/x \x1b[31m"
    assert quoted(said) == "fatal: https://host/x ?[31m"
    assert quoted(f"header {TOKEN} and {ENCODED}", (TOKEN, ENCODED)) == "header *** and ***"
    assert len(quoted("x" * 10_000)) < 1000


def test_each_host_gets_its_own_token_from_the_settings(tmp_path: Path, server: GitServer) -> None:
    settings = load_settings(
        environ={
            "REPO_CLONE_PATH": str(tmp_path / "clones"),
            "GITHUB_PAT": "ghp_another",
            "GIT_TOKENS": f"gitlab.example.com=third, {server.host}={TOKEN}",
        }
    )
    clones = from_options(settings, loopback_http=True)
    assert clones.clone(server.url(PATH)).commit
    assert {sent for _, sent in server.behaviour.seen} == {f"Basic {ENCODED}"}
