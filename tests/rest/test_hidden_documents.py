"""Every route and every engine's method and tool, asked about hidden documents: answered as where there are none."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.call import ignore_progress
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.remote.knowledge import RefusedError, RemoteKnowledge, RemoteTools
from knowledge_mcp.remote.values import RIGHTS
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.transports.rest.app import build_rest_app
from knowledge_mcp.transports.rest.engine import engine_router
from knowledge_mcp.transports.shared.keys import Key, KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.engine.shelf import PUMPS, VALVES
from tests.fakes.library import FakeLibrary
from tests.remote.serving import AT_ONCE
from tests.rest.test_rights_worlds import ROUTES, TOOLS, Held, Place, RestCall, compare_worlds
from tests.rest.world import Options, keys_file
from tests.signon.asks import ARGUMENTS, CALLS
from tests.signon.worlds import RandomWorld, asked
from tests.transports.in_thread import serving

OPEN: Place = ("docs", "a.md")
HIDDEN: Place = ("docs", "b.md")
ALONE: Place = ("docs-2", "a.md")
"""A hidden document that has a collection for itself."""
HOLDINGS: dict[Place, Held] = {
    OPEN: (PUMPS, ""),
    HIDDEN: (VALVES, "legal"),
    ("docs", "c.md"): (VALVES, ""),
    ALONE: (VALVES, "board, legal"),
}
JOBS: list[Held] = [("docs", "legal"), ("docs", ""), ("docs-2", "board")]
METHODS = sorted(name for name, right in RIGHTS.items() if right == "read")


@pytest.mark.parametrize("write", [(), ("docs*",)])
@pytest.mark.slow
def test_all_routes_and_tools_answer_about_a_hidden_document_as_about_none(write: tuple[str, ...]) -> None:
    key = Key("limited", ("docs", "docs-2"), write, ("eng",))
    pairs = [(OPEN, HIDDEN), (HIDDEN, OPEN), (ALONE, HIDDEN), (HIDDEN, HIDDEN), (OPEN, ("docs", "c.md"))]
    removing = [each for each in reversed((*ROUTES, *TOOLS)) if each.startswith("DELETE")]
    asks: list[RestCall] = []
    for route in (*(each for each in (*ROUTES, *TOOLS) if each not in removing), *removing):
        asks.append(RestCall(route, "docs", HIDDEN, OPEN, 0, is_near=True, wait=True))
        for number, (place, other) in enumerate(pairs):
            asks += [
                RestCall(route, place[0], place, other, number % 3, is_near=False, wait=wait) for wait in (False, True)
            ]
    compare_worlds(key, HOLDINGS, JOBS, asks)


@contextmanager
def engine_of(knowledge: LocalKnowledge, groups: tuple[str, ...], folder: Path) -> Generator[str]:
    """Serve an engine over REST to somebody of these groups, whose key is `k-key`; gives its address."""
    limits = {"read": ["engine:standards"], "write": [], "groups": groups}
    ring = KeyRing("owner", keys_file(folder, json.dumps({"keys": [{"name": "limited", "key": "k-key", **limits}]})))
    router = engine_router(lambda _: knowledge, ["standards"])
    library: KnowledgeProvider[SharedLibrary] = KnowledgeProvider(FakeLibrary)
    with serving(build_rest_app(library, ring, options=Options(), version="1", engine_router=router)) as url:
        yield url


def tool_asked(service: RemoteTools, name: str, arguments: dict[str, Any]) -> str:
    """Run a tool by its route, and write down all of the answer or the refusal."""

    def call(_: Any) -> Any:
        try:
            return service.call_tool(
                name, arguments, on_progress=ignore_progress, cancelled=lambda: False, repeatable=True
            )
        except RefusedError as exc:
            return "refused", exc.rendered

    return asked(service, call)


MORE = pytest.mark.slow  # further seeds draw more of the same


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=MORE) for seed in range(1, 3))])
def test_engines_over_rest_answer_as_where_no_hidden_document_is_stored(tmp_path: Path, seed: int) -> None:
    groups = ("eng",)
    for part in ("all", "seen", "all-keys", "seen-keys"):
        (tmp_path / part).mkdir()
    drawn = RandomWorld(f"rest {seed}", tmp_path / "all", MemoryStore(EnglishAnalyser()))
    without = drawn.without(groups, tmp_path / "seen", MemoryStore(EnglishAnalyser()))
    asks = [CALLS[name](made) for name in METHODS for made in drawn.drawings(2)]
    calls = [(name, ARGUMENTS[name](made)) for name in sorted(ARGUMENTS) for made in drawn.drawings(2)]
    reported: list[list[str]] = []
    for part, world in (("all", drawn.world), ("seen", without)):
        with ExitStack() as stack:
            url = stack.enter_context(engine_of(world.knowledge, groups, tmp_path / f"{part}-keys"))
            remote = RemoteKnowledge(url, "k-key", "standards", policy=AT_ONCE)
            stack.callback(remote.close)
            service = RemoteTools(url, "k-key", "standards", policy=AT_ONCE)
            stack.callback(service.close)
            answers = [asked(remote, ask) for ask in asks]
            reported.append([*answers, *(tool_asked(service, *call) for call in calls)])
    for place, (here, there) in enumerate(zip(*reported, strict=True)):
        assert here == there, METHODS[place // 2] if place < len(asks) else calls[place - len(asks)]
    assert sum("AuthError" in each for each in reported[0]) == 0
