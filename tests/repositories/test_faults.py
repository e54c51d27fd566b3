"""What goes wrong: bad addresses, tokens that must not be seen, hostile names, processes killed on their way."""

from __future__ import annotations

import json
import logging
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.engine.repositories.values import CodeQuery, IndexRequest
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import (
    AuthError,
    CancelledError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
)
from knowledge_mcp.support.locks import hold_lock
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.testing.store_search import text_of
from tests.cli.running import ROOT, environment
from tests.repositories.world import FILES, World, make_service, sqlite
from tests.servers.git_server import GitServer, MadeRepository

TOKEN = "ghp_verysecret0123456789"


def everything_written(folder: Path) -> str:
    """Return whatever stands in the files below a folder."""
    return "".join(
        path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    )


@pytest.mark.requirement("C-10.3-url", "C-10.4-isolation", "C-10.4-traversal")
@pytest.mark.parametrize(
    "address",
    [
        "http://github.com/o/n", "https://github.com/o", "https://github.com/o/n/../../x", "git://github.com/o/n",
        "ssh://git@github.com/o/n", "https://user:pw@github.com/o/n", "https://github.com/o/n?x=1", "file:///etc",
        "ext::sh -c true://x", "git@github.com:o/n.git", "https://--upload-pack=x/o/n", "https://github.com/o/..",
    ],
)  # fmt: skip
def test_an_address_that_is_not_accepted_is_refused_before_anything_is_done(world: World, address: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        world.index(address)
    assert "pw" not in f"{raised.value.message}{raised.value.details}".split()
    assert world.listed() == {}
    assert not (world.folder / "repos").exists()
    assert world.store.collections() == []


@pytest.mark.requirement("C-10.4-names")
@pytest.mark.parametrize("name", ["..", "../up", "a/b", "-x", ".hidden", "a\nb", "\x1b[31mred", ""])
def test_a_hostile_name_is_refused_or_made_harmless(world: World, server: GitServer, name: str) -> None:
    world.repository()
    try:
        done = world.index(server.url("team/my-api.git"), name=name)
    except InvalidInputError:
        assert world.listed() == {}
        return
    assert done.repository == "my-api"
    assert (world.folder / "repos" / "my-api").is_dir()


def test_hostile_file_names_are_indexed_and_shown_harmlessly(world: World) -> None:
    made = world.repository(files={"-rf.py": "def dash_file(): pass\n", "a\x1b[31m\nb.py": "def escape_file(): pass\n"})
    world.index(made.folder)
    found = {each["file_path"] for each in world.search("file", limit=50)["results"]}
    assert "-rf.py" in found
    assert len(found) == 2
    assert all(path.isprintable() for path in found)
    made.commit({"-rf.py": "def dash_file_two(): pass\n"})
    assert world.service.refresh("my-api").files_processed == 1


@pytest.mark.parametrize("asked", [True, False])
def test_what_followed_a_branch_that_is_gone_is_not_up_to_date(world: World, server: GitServer, asked: bool) -> None:
    made = world.repository()
    made.git("branch", "topic")
    world.index(server.url("team/my-api.git"), branch="topic")
    assert world.listed()["my-api"]["stale"] is False
    made.git("branch", "-D", "topic")
    with pytest.raises(NotFoundError):
        world.call("refresh_repository", repository="my-api", check_only=asked)
    assert "stale" not in world.listed()["my-api"]


def test_a_missing_branch_repository_or_network_leaves_nothing_half_done(world: World, server: GitServer) -> None:
    world.repository()
    with pytest.raises(NotFoundError, match="no branch nowhere"):
        world.index(server.url("team/my-api.git"), branch="nowhere")
    with pytest.raises(NotFoundError):
        world.index(server.url("team/none.git"))
    world.index(server.url("team/my-api.git"))
    before = world.listed()
    server.behaviour.status = 503
    with pytest.raises(ConnectionFailedError):
        world.service.refresh("my-api")
    assert world.listed() == before
    assert world.search("refresh_token")["results"]


@pytest.mark.requirement("C-6.4-token", "C-8.1-GITHUB_PAT", "C-10.2-redaction", "C-10.2-messages", "C-15.4-private")
def test_a_private_repository_is_indexed_and_its_token_is_written_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    MadeRepository(tmp_path / "served" / "team" / "secret").commit(FILES)
    caplog.set_level(logging.DEBUG)
    with GitServer(tmp_path / "served", token=TOKEN) as server:
        world = World(tmp_path / "w", tokens={server.host: TOKEN}, store=sqlite(tmp_path / "w"))
        assert world.index(server.url("team/secret.git")).status == "success"
        world.service.refresh("secret")
        world.service.close()
    assert TOKEN not in everything_written(tmp_path / "w")
    assert TOKEN not in caplog.text


@pytest.mark.requirement("C-9.1-authentication")
def test_a_wrong_token_is_reported_and_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    MadeRepository(tmp_path / "served" / "team" / "secret").commit(FILES)
    caplog.set_level(logging.DEBUG)
    with GitServer(tmp_path / "served", token="another") as server:
        world = World(tmp_path / "w", tokens={server.host: TOKEN})
        with pytest.raises(AuthError) as raised:
            world.index(server.url("team/secret.git"))
        none = World(tmp_path / "n")
        with pytest.raises(AuthError, match="needs a token"):
            none.index(server.url("team/secret.git"))
    records = f"{raised.value.message}{raised.value.details}{raised.value.suggestion}{caplog.text}"
    assert TOKEN not in records
    assert world.listed() == {}


def killed(folder: Path, at: str, *arguments: str) -> None:
    """Run `pk-mcp` over a folder, and have it killed."""
    command = [sys.executable, "-m", "tests.repositories.server", str(folder), "pk-mcp", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(folder, {"KILL_AT": at}), check=False, capture_output=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL


def whole(world: World) -> dict[str, list[str]]:
    """Map each indexed file to its passages' ids, having verified the store."""
    assert [each.name for each in world.store.collections()] == ["repo_code"]
    assert world.store.open("repo_code").verify() == []
    files = [each.id for each in world.store.open("repo_code").documents() if ":" in each.id]
    return {each: [chunk.id for chunk in world.store.open("repo_code").chunks("document", [each])] for each in files}


@pytest.mark.slow
@pytest.mark.parametrize("at", ["scan:40", "embed:2", "store:2", "store:4", "write:60"])
def test_a_killed_indexing_is_never_shown_as_ready_and_the_next_one_finishes_it(tmp_path: Path, at: str) -> None:
    files = {f"src/m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(200)}
    made = MadeRepository(tmp_path / "code")
    made.commit(files)
    killed(tmp_path, at, "index", str(made.folder))
    world = World(tmp_path, store=sqlite(tmp_path))
    entry = world.listed()["code"]
    assert entry["status"] == "error"
    assert "interrupted" in entry["error_message"]
    done = world.service.refresh("code")
    assert (done.status, world.listed()["code"]["status"]) == ("success", "ready")
    assert done.files_unchanged + done.files_processed == 200
    assert world.listed()["code"]["file_count"] == world.listed()["code"]["chunk_count"] == 200
    assert len(whole(world)) == 200
    world.service.close()


@pytest.mark.slow
def test_a_refresh_that_is_killed_leaves_each_file_old_or_new_and_the_next_one_finishes_it(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "code")
    made.commit({f"m{number}.py": f"def f{number}():\n    return 'old'\n" for number in range(60)})
    world = World(tmp_path, store=sqlite(tmp_path))
    world.index(made.folder)
    made.commit({f"m{number}.py": f"def f{number}():\n    return 'new'\n" for number in range(60)})
    killed(tmp_path, "write:55", "refresh", "code")
    assert world.listed()["code"]["status"] == "error"
    texts = [text_of(world.store.open("repo_code"), f"code:m{number}.py") for number in range(60)]
    assert {text.split("'")[1] for text in texts if text} == {"old", "new"}, "files are stored fifty at a time"
    assert len([text for text in texts if text]) == 60
    world.service.refresh("code")
    assert all("new" in (text_of(world.store.open("repo_code"), each) or "") for each in whole(world))
    assert world.listed()["code"]["status"] == "ready"
    world.service.close()


@pytest.mark.slow
def test_a_reindex_that_is_killed_leaves_the_index_that_answers(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "code")
    made.commit({f"m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(8)})
    world = World(tmp_path, store=sqlite(tmp_path))
    world.index(made.folder)
    before = whole(world)
    killed(tmp_path, "swap:1", "reindex", "code")
    assert world.listed()["code"]["status"] == "ready"
    assert world.search("f3")["results"][0]["file_path"] == "m3.py"
    world.service.refresh("code", fresh=True)
    assert whole(world) == before
    world.store.create_collection("repo_code.old", world.embedder.space)  # as a kill after the swap would leave it
    world.service.refresh("code")
    assert whole(world) == before
    world.service.close()


def _at_most_400_kb() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))


@pytest.mark.slow
def test_a_store_that_can_grow_no_further_is_reported_and_the_next_indexing_finishes_it(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "code")
    made.commit({f"m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(300)})
    command = [sys.executable, "-m", "tests.repositories.server", str(tmp_path), "pk-mcp", "index", str(made.folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(tmp_path, {}),
        check=False,
        capture_output=True,
        preexec_fn=_at_most_400_kb,
    )
    assert done.returncode == 3
    assert b"could not be read or written" in done.stderr
    assert b"Traceback" not in done.stderr
    world = World(tmp_path, store=sqlite(tmp_path))
    assert world.listed()["code"]["status"] == "error"
    assert world.service.refresh("code").status == "success"
    assert len(whole(world)) == 300
    world.service.close()


def test_a_clone_whose_tree_leads_out_of_it_is_refused_and_leaves_nothing(world: World, server: GitServer) -> None:
    made = world.repository()
    blob = bytes.fromhex(made.git("rev-parse", "HEAD:config.yaml"))
    command = ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    entry = b"100644 ..\0" + blob
    tree = subprocess.run(command, cwd=made.folder, input=entry, check=True, capture_output=True).stdout.decode()
    made.git("update-ref", "refs/heads/main", made.git("commit-tree", tree.strip(), "-m", "leads out"))
    with pytest.raises(InvalidInputError, match="leads out of it"):
        world.index(server.url("team/my-api.git"))
    assert world.listed() == {}
    assert [path.name for path in (world.folder / "repos").iterdir() if not path.name.endswith(".lock")] == []


@pytest.mark.parametrize("source", ["", "  "])
def test_nothing_is_no_folder(world: World, source: str) -> None:
    with pytest.raises(InvalidInputError, match="No repository is given"):
        world.index(source)


def test_a_path_that_is_no_folder_is_named_harmlessly(world: World) -> None:
    (world.folder / "a\x1b[31m.py").write_text("a = 1\n")
    with pytest.raises(NotFoundError, match=r"x1b\[31m.py is not a folder"):
        world.index(world.folder / "a\x1b[31m.py")
    with pytest.raises(NotFoundError, match="There is no folder"):
        world.index(world.folder / "none")


@pytest.mark.requirement("C-11.4-maxConcurrentIndexing")
def test_one_repository_is_indexed_at_a_time(world: World) -> None:
    made = world.repository()
    messages: list[str] = []
    waiting = threading.Event()

    def progress(done: float, total: float | None, message: str) -> None:
        del done, total
        messages.append(message)
        waiting.set()

    with hold_lock(world.folder / "data" / "locks", "indexing"):
        thread = threading.Thread(
            target=lambda: world.service.index(IndexRequest(str(made.folder)), Call(progress, lambda: False))
        )
        thread.start()
        assert waiting.wait(20)
        assert world.listed() == {}
    thread.join(20)
    assert "waiting" in messages[0]
    assert world.listed()["my-api"]["status"] == "ready"


class Gated(HashingEmbedder):
    """Wait at the second batch until the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = 0
        self.reached = threading.Event()
        self.open = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.batches += 1
        if self.batches == 2:
            self.reached.set()
            assert self.open.wait(20)
        return super().embed_documents(texts)


@pytest.mark.slow
@pytest.mark.requirement("C-13.5-shutdown")
def test_closing_the_service_ends_an_indexing_cleanly_and_the_next_start_resumes_it(tmp_path: Path) -> None:
    files = {f"src/m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(450)}
    made = MadeRepository(tmp_path / "code")
    made.commit(files)
    embedder = Gated()
    service = make_service(tmp_path, store=sqlite(tmp_path), embedder=embedder)
    failed: list[BaseException] = []

    def index() -> None:
        try:
            service.index(IndexRequest(str(made.folder)))
        except KnowledgeError as exc:
            failed.append(exc)

    thread = threading.Thread(target=index)
    thread.start()
    assert embedder.reached.wait(20)
    closing = threading.Thread(target=service.close)
    closing.start()
    embedder.open.set()
    closing.join(20)
    thread.join(20)
    assert [type(each) for each in failed] == [CancelledError]
    world = World(tmp_path, store=sqlite(tmp_path))
    entry = world.listed()["code"]
    assert (entry["status"], 0 < entry["file_count"] < 450) == ("error", True)
    assert world.service.refresh("code").files_unchanged == entry["file_count"]
    assert world.listed()["code"]["status"] == "ready"
    world.service.close()


def test_a_damaged_clone_and_a_lost_clone_are_made_again(world: World, server: GitServer) -> None:
    made = world.repository()
    world.index(server.url("team/my-api.git"))
    clone = world.folder / "repos" / "my-api"
    (clone / ".git" / "HEAD").write_text("garbage")
    made.commit({"one.py": "a = 1\n"})
    world.service.refresh("my-api")
    assert (clone / "one.py").exists()
    subprocess.run(["rm", "-rf", str(clone)], check=True)
    made.commit({"two.py": "b = 2\n"})
    assert world.service.refresh("my-api").files_processed == 1
    assert (clone / "two.py").exists()


def test_a_folder_that_has_gone_is_reported_and_its_index_stays(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = world.repository()
    world.index(made.folder)
    made.folder.rename(made.folder.with_name("moved"))
    with pytest.raises(NotFoundError):
        world.service.refresh("my-api")
    monkeypatch.setattr("knowledge_mcp.engine.repositories.state._REMEMBERED", 0.0)
    entry = world.listed()["my-api"]
    assert entry["status"] == "ready"
    assert world.search("refresh_token")["results"]
    assert json.loads((world.folder / "data" / "repositories.json").read_text())["repositories"]["my-api"]


def test_what_ended_an_indexing_is_reported_where_the_list_of_repositories_cannot_be_written_either(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    made = world.repository()
    world.index(made.folder)
    monkeypatch.setattr("knowledge_mcp.engine.repositories.manifest.write_atomically", full)
    with pytest.raises(InternalError, match=r"repositories\.json cannot be written"):
        world.index(made.folder)
    made.folder.rename(made.folder.with_name("moved"))
    with pytest.raises(NotFoundError):
        world.service.refresh("my-api")


ASKED: list[Callable[[RepositoryService], object]] = [
    lambda service: service.repositories(),
    lambda service: service.repository("my-api"),
    lambda service: service.search_code(CodeQuery("tokens")),
]


@pytest.mark.parametrize("ask", ASKED)
def test_nothing_in_a_store_that_replaces_another_is_an_error(
    tmp_path: Path, ask: Callable[[RepositoryService], object]
) -> None:
    with pytest.raises(ConnectionFailedError, match="qdrant does not answer"):
        ask(make_service(tmp_path, degraded="qdrant does not answer; memory is used instead."))
