"""The stand-in for a Qdrant server answers as the client's local mode does, and refuses what it does not know."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import grpc
import httpx
import pytest
from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from qdrant_client import QdrantClient, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.http.exceptions import UnexpectedResponse

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, In, Prefix
from knowledge_mcp.stores.qdrant.connection import QdrantConfig, mapped
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_real import REAL
from tests.servers.qdrant_routes import ROUTES
from tests.servers.qdrant_server import QdrantServer

ID = "6d2f1c1e-5b0c-4a36-9b57-0f3c0d4a7e11"
OTHER = "6d2f1c1e-5b0c-4a36-9b57-0f3c0d4a7e12"
IS_A = models.Filter(must=[models.FieldCondition(key="kind", match=models.MatchValue(value="a"))])
SPARSE = models.SparseVector(indices=[1, 7], values=[0.5, 0.25])


def remote(server: QdrantServer) -> QdrantClient:
    return QdrantClient(url=server.url, check_compatibility=False, timeout=10)


def upsert(*points: models.PointStruct, **more: Any) -> models.UpdateOperation:
    return models.UpsertOperation(upsert=models.PointsList(points=list(points), **more))


def point(point_id: str, kind: str, vector: list[float], **payload: Any) -> models.PointStruct:
    return models.PointStruct(id=point_id, payload={"kind": kind, **payload}, vector={"v": vector, "s": SPARSE})


def requests() -> list[models.QueryRequest]:
    dense = models.QueryRequest(query=[1.0, 0.0], using="v", limit=5, with_payload=["kind"], filter=IS_A)
    return [dense, models.QueryRequest(query=SPARSE, using="s", limit=5, with_payload=True)]


OPERATIONS: list[tuple[str, Callable[[QdrantClient], Any]]] = [
    ("no collections", lambda client: client.get_collections()),
    ("unknown exists", lambda client: client.collection_exists("c")),
    ("unknown described", lambda client: client.get_collection("c")),
    ("unknown scrolled", lambda client: client.scroll("c")),
    ("unknown dropped", lambda client: client.delete_collection("c", timeout=5)),
    (
        "made",
        lambda client: client.create_collection(
            "c",
            vectors_config={"v": models.VectorParams(size=2, distance=models.Distance.DOT)},
            sparse_vectors_config={"s": models.SparseVectorParams(modifier=models.Modifier.IDF)},
            timeout=5,
        ),
    ),
    (
        "made again",
        lambda client: client.create_collection(
            "c", vectors_config={"v": models.VectorParams(size=2, distance=models.Distance.DOT)}
        ),
    ),
    ("made without vectors", lambda client: client.create_collection("r", vectors_config={})),
    ("exists", lambda client: client.collection_exists("c")),
    ("indexed", lambda client: client.create_payload_index("c", "kind", models.PayloadSchemaType.KEYWORD, wait=True)),
    (
        "indexed by text",
        lambda client: client.create_payload_index("c", "text", models.TextIndexParams(type=models.TextIndexType.TEXT)),
    ),
    ("described", lambda client: client.get_collection("c")),
    (
        "written",
        lambda client: client.batch_update_points(
            "c",
            [upsert(point(ID, "a", [0.6, 0.8], text="one two"), point(OTHER, "b", [1.0, 0.0], flag=True, none=None))],
            wait=True,
            ordering=models.WriteOrdering.STRONG,
        ),
    ),
    (
        "written on a condition",
        lambda client: client.batch_update_points(
            "c", [upsert(point(ID, "c", [0.0, 1.0]), update_filter=models.Filter(must_not=[IS_A]))]
        ),
    ),
    ("a wrong dimension", lambda client: client.batch_update_points("c", [upsert(point(ID, "a", [1.0]))])),
    ("payload without vectors", lambda client: client.batch_update_points(
        "r", [upsert(models.PointStruct(id=ID, payload={"x": 1}, vector={}))])),
    ("counted", lambda client: client.count("c", IS_A, exact=True, timeout=5)),
    ("scrolled", lambda client: client.scroll("c", IS_A, limit=1, with_payload=["kind"], with_vectors=["v"])),
    ("scrolled in pages", lambda client: client.scroll("c", limit=1, with_payload=False)),
    ("scrolled on", lambda client: client.scroll("c", limit=1, offset=OTHER)),
    ("retrieved", lambda client: client.retrieve("c", [OTHER, ID], with_payload=True, with_vectors=True)),
    ("searched", lambda client: client.query_batch_points("c", requests(), timeout=5)),
    ("searched wrongly", lambda client: client.query_batch_points(
        "c", [models.QueryRequest(query=[1.0, 0.0], using="none", limit=5)])),
    (
        "changed",
        lambda client: client.batch_update_points(
            "c",
            [
                models.SetPayloadOperation(set_payload=models.SetPayload(payload={"flag": False}, filter=IS_A)),
                models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(
                    points=[models.PointVectors(id=ID, vector={"s": models.SparseVector(indices=[3], values=[0.5])})])),
                models.DeleteOperation(delete=models.PointIdsList(points=[OTHER])),
            ],
        ),
    ),
    ("a vector of nothing", lambda client: client.batch_update_points("c", [
        models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(
            points=[models.PointVectors(id=ID, vector={"s": models.SparseVector(indices=[], values=[])})]))])),
    ("a vector less", lambda client: client.batch_update_points("c", [models.DeleteVectorsOperation(
        delete_vectors=models.DeleteVectors(points=[ID], vector=["s"]))])),
    ("read after that", lambda client: client.scroll("c", limit=9, with_payload=True, with_vectors=True)),
    (
        "named",
        lambda client: client.update_collection_aliases(
            [models.CreateAliasOperation(create_alias=models.CreateAlias(alias_name="n", collection_name="c"))],
            timeout=5,
        ),
    ),
    ("a name taken", lambda client: client.update_collection_aliases(
        [models.CreateAliasOperation(create_alias=models.CreateAlias(alias_name="r", collection_name="c"))])),
    ("names", lambda client: client.get_aliases()),
    ("read by name", lambda client: client.count("n")),
    ("dropped", lambda client: client.delete_collection("c")),
    ("gone", lambda client: client.count("n")),
]  # fmt: skip


def outcome(call: Callable[[QdrantClient], Any], client: QdrantClient) -> Any:
    try:
        answer = call(client)
    except UnexpectedResponse as exc:
        return exc.status_code, json.loads(exc.content)["status"]
    if isinstance(answer, BaseModel):  # once over JSON: the client fills in defaults when it reads an answer
        answer = type(answer).model_validate_json(answer.model_dump_json(exclude_none=True))
    return to_jsonable_python(answer, exclude_none=True)


@pytest.mark.skipif(REAL is not None, reason="it is about the stand-in alone")
def test_every_operation_has_the_answer_of_local_mode(server: QdrantServer) -> None:
    client, local = remote(server), LocalQdrant(indexed=False).client
    refused = 0
    for name, call in OPERATIONS:
        over_wire, direct = outcome(call, client), outcome(call, local)
        assert over_wire == direct, name
        refused += isinstance(direct, tuple)
    assert refused > 5, "refusals were not compared"
    used = {path.split("?")[0] for path in server.seen.paths}
    assert len(used) >= len(ROUTES) - 1
    client.close()


def test_changes_of_names_before_a_refused_one_stay_as_on_a_server() -> None:
    client = LocalQdrant().client
    for name in ("c", "r"):
        client.create_collection(name, vectors_config={})
    named = (models.CreateAlias(alias_name=name, collection_name="c") for name in ("n", "r"))
    with pytest.raises((UnexpectedResponse, grpc.RpcError)):
        client.update_collection_aliases([models.CreateAliasOperation(create_alias=each) for each in named])
    assert [each.alias_name for each in client.get_aliases().aliases] == ["n"]


def test_an_update_to_a_vector_of_nothing_is_refused_as_by_a_server(server: QdrantServer) -> None:
    client = remote(server)
    client.create_collection("c", vectors_config={}, sparse_vectors_config={"s": models.SparseVectorParams()})
    client.batch_update_points("c", [upsert(models.PointStruct(id=1, payload={}, vector={"s": SPARSE}))])
    given = models.PointVectors(id=1, vector={"s": models.SparseVector(indices=[], values=[])})
    emptied = models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=[given]))
    with pytest.raises(UnexpectedResponse):
        client.batch_update_points("c", [emptied])
    client.close()


@pytest.mark.parametrize("query", [SPARSE, [1.0, 0.0]])
def test_a_vector_of_another_name_is_a_wrong_request_as_to_a_server(query: Any) -> None:
    """It is not the collection that is missing."""
    client = LocalQdrant().client
    client.create_collection("c", vectors_config={}, sparse_vectors_config={"s": models.SparseVectorParams()})
    with pytest.raises((UnexpectedResponse, grpc.RpcError)) as refused:
        client.query_batch_points("c", [models.QueryRequest(query=query, using="none", limit=5)])
    assert type(mapped(refused.value, doing="testing", location="http://host")) is InvalidInputError


def test_values_of_a_field_without_an_index_are_not_counted_as_by_a_server() -> None:
    client = LocalQdrant().client
    client.create_collection("c", vectors_config={})
    client.upsert("c", [models.PointStruct(id=1, payload={"kind": "a"}, vector={})])
    with pytest.raises((UnexpectedResponse, grpc.RpcError)):
        client.facet("c", "kind")
    client.create_payload_index("c", "kind", models.PayloadSchemaType.KEYWORD)
    assert [(each.value, each.count) for each in client.facet("c", "kind").hits] == [("a", 1)]


@pytest.mark.skipif(REAL is not None, reason="it is about the stand-in alone")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/collections/c/unknown", {}),
        ("PATCH", "/collections/c", {}),
        ("POST", "/collections/c/points/recommend", {}),
        ("POST", "/collections/c/points/count?colour=red", {}),
        ("POST", "/collections/c/points/count", {"colour": "red"}),
        ("POST", "/collections/c/points/scroll", {"limit": "many"}),
        ("POST", "/collections/c/points/batch?wait=false", {"operations": []}),
        ("POST", "/collections/c/points/query/batch", {"searches": [{"query": [1.0], "colour": "red"}]}),
        ("POST", "/collections/c/points/batch?wait=true", "no json"),
    ],
)
def test_an_unknown_route_parameter_or_field_is_refused(
    server: QdrantServer, method: str, path: str, body: Any
) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    answer = httpx.request(method, f"{server.url}{path}", content=content)
    assert answer.status_code in {400, 404, 501}


def test_a_request_without_the_key_is_refused() -> None:
    server = QdrantServer(api_key="right")
    assert httpx.get(f"{server.url}/collections").status_code == 401
    assert httpx.get(f"{server.url}/collections", headers={"api-key": "wrong"}).status_code == 401
    assert httpx.get(f"{server.url}/collections", headers={"api-key": "right"}).status_code == 200
    server.stop()


class Recorded(LocalQdrant):
    """A local Qdrant that keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[models.UpdateOperation] = []
        self.queries: list[models.QueryRequest] = []
        self.filters: list[models.Filter] = []

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)

        def called(*args: Any, **kwargs: Any) -> Any:
            if name == "batch_update_points":
                self.operations.extend(args[1])
            elif name == "query_batch_points":
                self.queries.extend(args[1])
            elif name == "count" and args[1] is not None:
                self.filters.append(args[1])
            elif name == "scroll" and kwargs["scroll_filter"] is not None:
                self.filters.append(kwargs["scroll_filter"])
            return method(*args, **kwargs)

        return called


def plain(value: Any) -> Any:
    """Leave out what says nothing: gRPC has no word for a list that is not there."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {name: plain(each) for name, each in pairs if each not in (None, [])}
    if isinstance(value, list):
        return [plain(each) for each in cast("list[Any]", value)]
    return plain(to_jsonable_python(value, exclude_none=True)) if isinstance(value, models.Filter) else value


def test_all_that_the_store_asks_can_be_said_in_grpc_too() -> None:
    local = Recorded()
    for config in (QdrantConfig("http://local", quantization="scalar", exact_up_to=0), QdrantConfig("http://local")):
        store = QdrantStore(config, EnglishAnalyser(), connect=lambda: local.client)
        store.create_collection("c", SPACE)
        put(
            store,
            "d",
            [SamplePassage("alpha words", clause_number="5.3", terms=(("alpha", "a"),)), "beta"],
            text="text",
        )
        put(store, "d", ["gamma words"], text="text")
        kept = And((Equals("normative", False), In("document_id", ("d", "e")), Prefix("clause_number", "5")))
        store.open("c").search(vector=unit_vector("x"), text="alpha words", filter=kept, limit=3)
        store.open("c").chunks("term", ["alpha"])
        store.open("c").defined_terms()
        store.open("c").verify(repair=True)
        store.open("c").delete("d")
    assert len(local.operations) > 20
    for operation in local.operations:
        RestToGrpc.convert_update_operation(operation)
    for each in local.queries:
        RestToGrpc.convert_query_request(each, "c")
    assert len(local.filters) > 20
    for each in local.filters:
        assert plain(GrpcToRest.convert_filter(RestToGrpc.convert_filter(each))) == plain(each)


def test_a_search_that_filters_nothing_sends_no_filter() -> None:
    """One that every point meets costs a look-up for each point that is compared."""
    local = Recorded()
    store = QdrantStore(QdrantConfig("http://local"), EnglishAnalyser(), connect=lambda: local.client)
    store.create_collection("c", SPACE)
    put(store, "d", ["alpha words"])
    store.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=3)
    assert [each.filter for each in local.queries] == [None, None]
