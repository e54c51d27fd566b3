"""Searching code: every specified field, places that are exact, filters, names of symbols, thresholds, merging."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.engine.repositories.search import glob_matches
from knowledge_mcp.engine.repositories.values import CodeQuery, SearchLimits
from knowledge_mcp.language.names import asks_for_symbol, is_name, is_report, names_in, weight_of_words
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError, NotFoundError
from knowledge_mcp.ranking.fusion import ANCHORS, code_similarity
from knowledge_mcp.sources.git.url import permalink
from knowledge_mcp.surfaces.repositories.tools import snippet
from tests.repositories.world import FILES, World
from tests.servers.git_server import GitServer


@pytest.fixture
def indexed(world: World) -> World:
    """Return a world with one repository in it."""
    world.index(world.repository().folder)
    return world


@pytest.mark.requirement(
    "C-3.2-semantic_search", "C-3.2-result", "C-3.2-metadata", "C-4.3-search", "C-5.1-metadata", "C-5.3-file_chunk",
    "C-5.1-chunk_id", "C-15.4-relevant",
)  # fmt: skip
def test_a_result_has_every_specified_field(indexed: World) -> None:
    answer = indexed.search("check the signature and the expiry of a token", limit=3)
    assert set(answer) == {"results", "metadata"}
    assert set(answer["metadata"]) >= {"total_matches", "query_time_ms", "repositories_searched"}
    assert answer["metadata"]["repositories_searched"] == ["my-api"]
    assert answer["metadata"]["total_matches"] >= len(answer["results"]) == 3
    best = answer["results"][0]
    assert set(best) >= {
        "file_path", "repository", "content_snippet", "similarity_score", "chunk_index", "metadata"
    }  # fmt: skip
    assert (best["file_path"], best["repository"], best["chunk_index"]) == ("src/auth/tokens.py", "my-api", 0)
    assert best["metadata"]["file_extension"] == ".py"
    assert best["metadata"]["file_size_bytes"] == len(FILES["src/auth/tokens.py"].encode())
    assert best["metadata"]["indexed_at"].endswith("Z")
    assert best["metadata"]["language"] == "python"
    assert best["id"] == "my-api:src/auth/tokens.py:0"
    scores = [each["similarity_score"] for each in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.requirement("C-6.6-positions")
def test_the_lines_of_each_result_are_those_of_the_file_at_its_commit(world: World, server: GitServer) -> None:
    made = world.repository(files={f"src/part{n}.py": _module(n) for n in range(12)} | {"win.ts": "let a = 1;\r\n" * 9})
    world.index(server.url("team/my-api.git"))
    checked = 0
    for query in ("compute the value", "class Worker", "loop over items", "let a", "documentation of a step"):
        for each in world.search(query, limit=50)["results"]:
            show = ["git", "show", f"{each['commit']}:{each['file_path']}"]
            text = subprocess.run(show, cwd=made.folder, check=True, capture_output=True).stdout.decode()
            lines = text.replace("\r\n", "\n").split("\n")
            place = "\n".join(lines[each["start_line"] - 1 : each["end_line"]])
            assert place.startswith(each["content_snippet"])
            shown = "\n".join(lines[each["start_line"] - 1 : each["snippet_end_line"]])
            assert shown.startswith(each["content_snippet"])
            assert shown.count("\n") == each["content_snippet"].count("\n")
            checked += 1
    assert checked > 60


def _module(number: int) -> str:
    body = "\n".join(f"        total += step({number}, {each})  # loop over items" for each in range(40))
    return (
        f'"""Documentation of a step {number}."""\n\nimport math\n\n\nclass Worker{number}:\n'
        f"    def compute(self) -> int:\n        total = 0\n{body}\n        return total\n\n\n"
        f"def step(a: int, b: int) -> int:\n    return int(math.sqrt(a * {number} + b))\n"
    )


@pytest.mark.requirement("C-3.2-snippet")
def test_a_snippet_is_cut_at_the_configured_length(indexed: World) -> None:
    assert all(len(each["content_snippet"]) <= 500 for each in indexed.search("token", limit=50)["results"])
    assert snippet("short", 500) == "short"
    assert snippet("x" * 900, 500) == "x" * 500
    assert snippet("a" * 400 + "\n" + "b" * 400, 500) == "a" * 400
    assert len(snippet("a\n" + "b" * 900, 500)) == 500


def test_exact_symbols_come_first_whatever_else_speaks_of_them(world: World) -> None:
    chatter = "# refresh_token refresh_token refresh_token\nprint('refresh_token')\n" * 4
    world.index(world.repository(files={**FILES, "zz/chatter.py": chatter}).folder)
    for query in ("refresh_token", "refresh_token()", "TokenValidator.validate_token", "ConnectionPool", "CircleArea"):
        best = world.search(query)["results"][0]
        assert best["exact_symbol"] is True, query
        assert best["similarity_score"] == 1.0
        assert query.removesuffix("()").rpartition(".")[2] in best["content_snippet"]
    assert world.search("refresh_token")["results"][0]["file_path"] == "src/auth/tokens.py"
    assert world.search("acquireConnection", threshold=0.99)["results"][0]["file_path"] == "src/db/pool.ts"


def test_error_messages_and_parts_of_identifiers_are_found_by_their_words(indexed: World) -> None:
    for query in ("E4711: refresh window closed", "E4711"):
        assert indexed.search(query, mode="keyword")["results"][0]["symbol"].endswith("refresh_token")
    assert indexed.search("backoff seconds", mode="keyword")["results"][0]["file_path"] == "config.yaml"
    assert indexed.search("pool.ts", mode="keyword")["results"][0]["file_path"] == "src/db/pool.ts"


def test_language_path_and_symbol_narrow_a_search(indexed: World) -> None:
    def paths(**filters: str) -> set[str]:
        return {each["file_path"] for each in indexed.search("token connection area", limit=50, **filters)["results"]}

    assert paths(language="python") == {"src/auth/tokens.py"}
    assert paths(language="TypeScript") == paths(language="ts") == {"src/db/pool.ts"}
    assert paths(path="src/**/*.go") == {"src/geometry/area.go"}
    assert paths(path="*.md") == paths(path="docs/") == paths(path="docs") == {"docs/deploy.md"}
    assert paths(symbol="ConnectionPool") == {"src/db/pool.ts"}
    assert paths(symbol="TokenValidator.validate_token") == {"src/auth/tokens.py"}
    assert paths(symbol="no_such_symbol") == set()
    unknown = indexed.search("token", language="cobol")
    assert unknown["results"] == []
    assert "python" in unknown["message"]
    assert "No file" in indexed.search("token", path="nowhere/*.py")["message"]


def test_a_file_whose_name_begins_with_a_blank_is_read(world: World) -> None:
    world.index(world.repository("team/blank", {" a.txt": "one\n", "b.txt": "two\n"}).folder)
    assert world.call("read_file_lines", repository="blank", file_path=" a.txt")["content"] == "one"
    assert world.call("read_file_lines", repository="blank", file_path=" ./b.txt ")["content"] == "two"


def test_a_very_long_line_is_shown_in_part_and_that_is_reported(world: World) -> None:
    world.index(world.repository("team/long", {"a.txt": "word " * 20_000 + "\nshort\n"}).folder)
    answer = world.call("read_file_lines", repository="long", file_path="a.txt")
    assert (answer["line_cut"], answer["end_line"], answer["more"]) == (True, 1, True)
    assert len(answer["content"]) == 60_000
    assert "line_cut" not in world.call("read_file_lines", repository="long", file_path="a.txt", start_line=2)


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("app/[id]/page.tsx", True),
        ("app/**/page.*", True),
        ("**.tsx", True),
        ("app/**.tsx", True),
        ("app/**/**/page.tsx", True),
        ("*/[id]/*", True),
        ("app/*", False),
        ("app/**/x/*", False),
        ("pa?e.tsx", True),
        ("[id]", False),
        ("app/[id]/", True),
        ("*/page.tsx", False),
    ],
)
def test_globs_go_over_folders_and_take_brackets_as_they_are(pattern: str, fits: bool) -> None:
    assert glob_matches("app/[id]/page.tsx", pattern) is fits


def test_no_glob_is_slow() -> None:
    deep = "/".join(["d"] * 60 + ["a" * 200])
    started = time.perf_counter()
    assert not glob_matches(deep, "**/" * 100 + "*a" * 50 + "*b")
    assert not glob_matches(deep, "**/" + "*a*" * 60 + "b")
    assert time.perf_counter() - started < 30, "no time where it is linear, days where it is not"


def test_a_method_of_a_generic_type_is_found_by_its_name(world: World) -> None:
    files = {
        "src/stack.rs": "impl<T> Stack<T> {\n    fn push(&mut self, item: T) {}\n}\n",
        "src/show.rs": "impl<T> fmt::Display for Stack<T> {\n    fn fmt(&self) {}\n}\n",
    }
    world.index(world.repository("team/gen", files).folder)

    def paths(symbol: str) -> list[str]:
        return [each["file_path"] for each in world.search("anything", symbol=symbol)["results"]]

    assert paths("Stack::push") == paths("Stack<T>::push") == paths("push") == ["src/stack.rs"]
    assert paths("Stack.fmt") == ["src/show.rs"]
    assert sorted(paths("Stack")) == ["src/show.rs", "src/stack.rs"]


@pytest.mark.requirement("C-3.2-threshold", "C-11.2-threshold")
def test_the_threshold_leaves_out_what_is_less_similar_and_says_how_much(indexed: World) -> None:
    everything = indexed.search("issue a new token", limit=50)
    scores = [each["similarity_score"] for each in everything["results"]]
    cut = (scores[0] + scores[1]) / 2
    some = indexed.search("issue a new token", threshold=cut)
    assert [each["similarity_score"] for each in some["results"]] == scores[:1]
    assert some["metadata"]["total_matches"] == 1
    assert some["metadata"]["below_threshold"] == len(scores) - 1
    nothing = indexed.search("issue a new token", threshold=1.0)
    assert nothing["results"] == []
    assert "threshold" in nothing["message"]
    assert nothing["suggestions"]


@pytest.mark.requirement("C-3.2-query", "C-3.2-limit", "C-11.4-maxQueryResults", "C-9.1-validation", "C-10.3-inputs")
@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""}, {"query": "x" * 1001}, {"query": "x", "limit": 0}, {"query": "x", "limit": 51},
        {"query": "x", "threshold": 1.1}, {"query": "x", "threshold": -0.1}, {"query": "x", "mode": "magic"},
        {"query": "x", "limit": "5"}, {"limit": 5}, {"query": "x", "unknown": 1},
    ],
)  # fmt: skip
def test_values_outside_what_is_specified_are_refused(world: World, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        world.call("semantic_search", **arguments)


@pytest.mark.requirement("C-8.2-search_defaults")
def test_defaults_and_the_highest_limit_come_from_the_configuration(tmp_path: Path) -> None:
    world = World(tmp_path, limits=SearchLimits(default_limit=2, max_limit=4, threshold=0.0, snippet=60))
    world.index(world.repository().folder)
    answer = world.call("semantic_search", query="token")
    assert len(answer["results"]) == 2
    assert answer["metadata"]["threshold"] == 0.0
    assert all(len(each["content_snippet"]) <= 60 for each in answer["results"])
    assert len(world.search("token", limit=4)["results"]) == 4
    with pytest.raises(InvalidInputError):
        world.search("token", limit=5)
    world.service.close()


@pytest.mark.requirement(
    "C-3.2-repository", "C-4.2-search", "C-6.3-merge", "C-11.2-per_repository", "C-15.4-several"
)  # fmt: skip
def test_several_repositories_are_searched_and_merged_by_similarity(indexed: World) -> None:
    other = indexed.repository("team/other", {"billing.py": "def charge_credit_card(amount):\n    return amount\n"})
    indexed.index(other.folder)
    both = indexed.search("charge the credit card", limit=50)
    assert both["metadata"]["repositories_searched"] == ["my-api", "other"]
    assert both["results"][0]["repository"] == "other"
    assert {each["repository"] for each in both["results"]} == {"my-api", "other"}
    scores = [each["similarity_score"] for each in both["results"]]
    assert scores == sorted(scores, reverse=True)
    one = indexed.search("charge the credit card", repository="my-api", limit=50)
    assert {each["repository"] for each in one["results"]} == {"my-api"}
    with pytest.raises(NotFoundError, match="otter"):
        indexed.search("x", repository="otter")


def test_an_empty_answer_says_why(world: World) -> None:
    nothing = world.search("token")
    assert nothing["results"] == []
    assert nothing["metadata"]["repositories_searched"] == []
    assert "pk-mcp index" in nothing["suggestions"][0]


def test_without_the_embedding_service_words_still_answer_and_the_answer_says_so(indexed: World) -> None:
    indexed.embedder.failure = ConnectionFailedError("The service does not answer.")
    answer = indexed.search("refresh_token")
    assert answer["results"][0]["exact_symbol"] is True
    assert "does not answer" in answer["metadata"]["degraded"][0]
    with pytest.raises(ConnectionFailedError):
        indexed.search("refresh_token", mode="dense")


def test_each_mode_ranks_by_what_it_says(indexed: World) -> None:
    embedded = len(indexed.embedder.queries)
    indexed.search("connection", mode="keyword")
    assert len(indexed.embedder.queries) == embedded
    dense = indexed.service.search_code(CodeQuery("connection", threshold=0.0, mode="dense"))
    assert all(hit.lexical is None for hit in dense.hits)
    assert not any(hit.exact_symbol for hit in dense.hits)
    hybrid = indexed.service.search_code(CodeQuery("connection pool", threshold=0.0))
    assert any(hit.lexical is not None and hit.dense is not None for hit in hybrid.hits)


def test_lines_are_read_as_they_were_indexed_and_nothing_else_can_be_read(indexed: World) -> None:
    lines = FILES["src/db/pool.ts"].split("\n")
    answer = indexed.call("read_file_lines", repository="my-api", file_path="src/db/pool.ts", start_line=2, end_line=4)
    assert answer["content"] == "\n".join(lines[1:4])
    assert (answer["total_lines"], answer["more"], answer["language"]) == (len(lines) - 1, True, "typescript")
    whole = indexed.call("read_file_lines", repository="my-api", file_path="src/db/pool.ts")
    assert whole["content"] + "\n" == FILES["src/db/pool.ts"]
    assert "more" not in whole
    for path in ("../../etc/passwd", "/etc/passwd", ".git/config", ".repository", "src/db/../../config.yaml"):
        with pytest.raises(NotFoundError):
            indexed.call("read_file_lines", repository="my-api", file_path=path)
    with pytest.raises(NotFoundError) as raised:
        indexed.call("read_file_lines", repository="my-api", file_path="pool.ts")
    assert "src/db/pool.ts" in raised.value.suggestion
    with pytest.raises(InvalidInputError):
        indexed.call("read_file_lines", repository="my-api", file_path="config.yaml", start_line=99)


def test_a_permalink_names_host_commit_and_lines() -> None:
    link = permalink("https://github.com/o/n.git", "a" * 40, "src/a b.py", (3, 9))
    assert link == f"https://github.com/o/n/blob/{'a' * 40}/src/a%20b.py#L3-L9"


@pytest.mark.requirement("C-B.2-similarity", "C-6.3-cosine")
@given(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.sampled_from([*ANCHORS, "unknown"]))
def test_similarity_keeps_the_order_of_cosines_and_lies_in_0_to_1(one: float, other: float, model: str) -> None:
    space = EmbeddingSpace("local", model, 384)
    low, high = sorted((one, other))
    assert 0.0 <= code_similarity(space, low) <= code_similarity(space, high) <= 1.0
    if model == "unknown":
        distance = 1.0 - min(max(one, -1.0), 1.0)
        assert code_similarity(space, one) == pytest.approx(1.0 - distance / 2.0)


def test_names_are_distinguished_from_prose() -> None:
    assert names_in("where is parse_args called by TokenValidator.validate?") == [
        "parse_args", "TokenValidator.validate"
    ]  # fmt: skip
    assert names_in("how are tokens validated") == []
    assert names_in("std::vector") == ["std.vector"]
    assert is_name("refresh_token()")
    assert not is_name("refresh the token")
    assert (
        weight_of_words("refresh_token") > weight_of_words("who calls refresh_token") > weight_of_words("who is called")
    )
    assert weight_of_words("refresh_token") == weight_of_words("where is pool defined")


@pytest.mark.parametrize(
    "question", ["where is Status defined?", "class Status", "def Status", "show me the type Status defined"]
)
def test_a_plain_word_is_a_symbols_name_where_nothing_else_is_asked(question: str) -> None:
    assert names_in(question) == ["Status"]
    assert asks_for_symbol(question)
    assert not asks_for_symbol("the status of a job")


def test_what_a_report_calls_quotes_and_traces_is_distinguished_from_its_prose() -> None:
    report = "latex of it is wrong\n\n>>> latex(Product(x))\nuse `fold_product` here\n  File 'a.py', line 3, in emit\n"
    assert is_report(report)
    assert {"latex", "Product", "fold_product", "emit"} <= set(names_in(report))
    assert not is_report("latex(Product(x)) is wrong")
    assert names_in("latex of it is wrong") == []


def test_a_report_finds_the_function_that_it_calls_among_many_that_use_the_same_words(world: World) -> None:
    noise = {
        f"noise/m{number}.py": f"def area_of_shape_{number}(shape):\n    return shape.area * {number}\n"
        for number in range(30)
    }
    files = {**FILES, **noise, "deep/cut.py": "def trim(value):\n    return value[1:]\n"}
    world.index(world.repository(files=files).folder)
    report = "The area of the shape is wrong\n\n>>> trim(shape.area)\nthe area of a shape, not of its shape\n"
    found = [each["file_path"] for each in world.search(report)["results"]]
    assert "deep/cut.py" in found[:3]
    assert "deep/cut.py" not in [
        each["file_path"] for each in world.search("the area of the shape is wrong")["results"]
    ]


def test_a_word_that_a_report_repeats_counts_once(indexed: World) -> None:
    texts = ("window closed connection", "window closed connection\nconnection connection")
    once, often = (indexed.service.search_code(CodeQuery(each, threshold=0.0, mode="keyword")).hits for each in texts)
    assert [hit.similarity for hit in once] == [hit.similarity for hit in often]


def test_a_name_defined_in_many_places_says_nothing_in_a_report(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"many/m{number}.py": f"def run(job):\n    return job + {number}\n" for number in range(9)}
    world.index(world.repository(files={**FILES, **files}).folder)

    def best() -> float:
        result = world.search("A job ends too soon\n\n>>> run(job)\n", limit=50)["results"]
        return max(each["similarity_score"] for each in result if each["file_path"].startswith("many/"))

    plain = best()
    monkeypatch.setattr("knowledge_mcp.engine.repositories.search.MOST_PLACES", 9)
    assert best() == pytest.approx((1.0 + plain) / 2, abs=0.001)


def test_the_first_line_of_a_report_leads_its_meaning(world: World) -> None:
    world.index(world.repository().folder)
    rest = "computes the surface of a circle with a radius"
    asked = [f"Validate signed tokens of web requests\n{rest}", f"{rest}\nValidate signed tokens of web requests"]
    scores = [
        {each["file_path"]: each["similarity_score"] for each in world.search(text, mode="dense")["results"]}
        for text in asked
    ]
    assert scores[0]["src/auth/tokens.py"] > scores[1]["src/auth/tokens.py"]
    assert scores[0]["src/geometry/area.go"] < scores[1]["src/geometry/area.go"]


def test_a_question_that_names_what_it_means_is_answered_with_places_in_the_legs_as_asked(world: World) -> None:
    world.index(world.repository().folder)
    question = "does TokenValidator check the signature and the expiry of a token"
    found = world.service.search_code(CodeQuery(question, limit=20, threshold=0.0))
    alone = world.service.search_code(CodeQuery(question, limit=20, threshold=0.0, mode="dense"))
    places = {hit.chunk.id: hit.dense for hit in alone.hits}
    assert found.hits[0].chunk.document_id.endswith("src/auth/tokens.py")
    assert all(0.0 <= hit.similarity <= 1.0 for hit in found.hits)
    assert all(hit.dense == places[hit.chunk.id] for hit in found.hits if hit.dense is not None)


@pytest.mark.parametrize(
    ("pattern", "fits", "misses"),
    [
        ("*.py", "a/b.py", "a/b.pyi"),
        ("src/*.py", "src/a.py", "src/x/a.py"),
        ("src/**/*.py", "src/x/y/a.py", "lib/a.py"),
        ("src/**/*.py", "src/a.py", "src/a.js"),
        ("src", "src/a.py", "src2/a.py"),
        ("./src/", "src/x/a.py", "a.py"),
        ("src/a.py", "src/a.py", "src/a.pyc"),
        ("te?t/**", "test/x", "teest/x"),
        ("a+b/(c).py", "a+b/(c).py", "aab/c.py"),
    ],
)
def test_globs_fit_what_they_say(pattern: str, fits: str, misses: str) -> None:
    assert glob_matches(fits, pattern)
    assert not glob_matches(misses, pattern)
