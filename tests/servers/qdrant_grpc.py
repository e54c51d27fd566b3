"""A stand-in for a Qdrant server's gRPC port, over loopback, in front of the client's local mode.

It answers the calls that `stores.qdrant` makes; gRPC itself refuses every other one. Requests become the models of the
REST protocol by the client's own conversions, and answers go back by them. Needs the `qdrant` extra.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from qdrant_client import QdrantClient, models
from qdrant_client import grpc as wire
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.http.exceptions import UnexpectedResponse

from tests.servers.qdrant_local import LocalQdrant, refusal

Handler = Callable[[QdrantClient, Any], Any]
_CODES = {404: grpc.StatusCode.NOT_FOUND, 409: grpc.StatusCode.ALREADY_EXISTS}
_DONE = models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


class QdrantGrpcServer:
    """Serve one local Qdrant by gRPC, on a free port of the loopback.

    Args:
        local: what keeps the collections.

    Attributes:
        called: service and name of the calls that were made.
    """

    def __init__(self, local: LocalQdrant | None = None) -> None:
        self.local = local or LocalQdrant()
        self.called: set[tuple[str, str]] = set()
        self._grpc = grpc.server(ThreadPoolExecutor(8))
        for service in ("Qdrant", "Collections", "Points"):
            methods = {call[1]: self._method(call) for call in CALLS if call[0] == service}
            handler = grpc.method_handlers_generic_handler(f"qdrant.{service}", methods)
            self._grpc.add_generic_rpc_handlers((handler,))
        self.port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()

    def stop(self) -> None:
        """Stop answering at once."""
        self._grpc.stop(None).wait()

    def _method(self, call: tuple[str, str]) -> grpc.RpcMethodHandler[Any, Any]:
        asked, handler = CALLS[call]

        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            self.called.add(call)
            try:
                return handler(self.local.client, request)
            except UnexpectedResponse as exc:
                context.abort(_CODES.get(exc.status_code or 500, grpc.StatusCode.INVALID_ARGUMENT), str(exc))
            except grpc.RpcError as exc:  # of a real server behind it that is spoken to by gRPC as well
                context.abort(exc.code(), exc.details() or "")

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=asked.FromString,
            response_serializer=lambda said: said.SerializeToString(),
        )


def _health(_: QdrantClient, __: Any) -> Any:
    return wire.HealthCheckReply(title="a stand-in for Qdrant", version="1.20.0")


def _list_collections(client: QdrantClient, _: Any) -> Any:
    found = client.get_collections().collections
    return wire.ListCollectionsResponse(collections=[RestToGrpc.convert_collection_description(each) for each in found])


def _list_aliases(client: QdrantClient, _: Any) -> Any:
    found = client.get_aliases().aliases
    return wire.ListAliasesResponse(aliases=[RestToGrpc.convert_alias_description(each) for each in found])


def _change_aliases(client: QdrantClient, asked: Any) -> Any:
    actions = [GrpcToRest.convert_alias_operations(each) for each in asked.actions]
    return wire.CollectionOperationResponse(result=client.update_collection_aliases(actions))


def _exists(client: QdrantClient, asked: Any) -> Any:
    there = wire.CollectionExists(exists=client.collection_exists(asked.collection_name))
    return wire.CollectionExistsResponse(result=there)


def _describe(client: QdrantClient, asked: Any) -> Any:
    found = client.get_collection(asked.collection_name)
    return wire.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(found))


def _create(client: QdrantClient, asked: Any) -> Any:
    vectors = GrpcToRest.convert_vectors_config(asked.vectors_config)
    sparse = GrpcToRest.convert_sparse_vector_config(asked.sparse_vectors_config)
    done = client.create_collection(asked.collection_name, vectors_config=vectors, sparse_vectors_config=sparse)
    return wire.CollectionOperationResponse(result=done)


def _drop(client: QdrantClient, asked: Any) -> Any:
    return wire.CollectionOperationResponse(result=client.delete_collection(asked.collection_name))


def _index(client: QdrantClient, asked: Any) -> Any:
    if asked.HasField("field_index_params"):
        schema: Any = GrpcToRest.convert_payload_schema_params(asked.field_index_params)
    else:
        schema = models.PayloadSchemaType(wire.FieldType.Name(asked.field_type).removeprefix("FieldType").lower())
    client.create_payload_index(asked.collection_name, asked.field_name, schema)
    return wire.PointsOperationResponse(result=RestToGrpc.convert_update_result(_DONE))


def _write(client: QdrantClient, asked: Any) -> Any:
    if not asked.wait:
        raise refusal(400, "this stand-in always waits")
    operations = [GrpcToRest.convert_points_update_operation(each) for each in asked.operations]
    client.batch_update_points(asked.collection_name, operations)
    return wire.UpdateBatchResponse(result=[RestToGrpc.convert_update_result(_DONE) for _ in operations])


def _query(client: QdrantClient, asked: Any) -> Any:
    requests = [GrpcToRest.convert_query_points(each) for each in asked.query_points]
    answers = client.query_batch_points(asked.collection_name, requests)
    points = ([RestToGrpc.convert_scored_point(each) for each in answer.points] for answer in answers)
    return wire.QueryBatchResponse(result=[wire.BatchResult(result=each) for each in points])


def _scroll(client: QdrantClient, asked: Any) -> Any:
    offset = GrpcToRest.convert_point_id(asked.offset) if asked.HasField("offset") else None
    points, following = client.scroll(
        asked.collection_name, scroll_filter=_filter(asked), limit=asked.limit, offset=offset, **_selected(asked)
    )
    offset = None if following is None else RestToGrpc.convert_extended_point_id(str(following))
    return wire.ScrollResponse(result=[RestToGrpc.convert_record(each) for each in points], next_page_offset=offset)


def _retrieve(client: QdrantClient, asked: Any) -> Any:
    ids = [GrpcToRest.convert_point_id(each) for each in asked.ids]
    found = client.retrieve(asked.collection_name, ids, **_selected(asked))
    return wire.GetResponse(result=[RestToGrpc.convert_record(each) for each in found])


def _count(client: QdrantClient, asked: Any) -> Any:
    found = client.count(asked.collection_name, _filter(asked), exact=asked.exact)
    return wire.CountResponse(result=RestToGrpc.convert_count_result(found))


def _facet(client: QdrantClient, asked: Any) -> Any:
    found = client.facet(asked.collection_name, asked.key, facet_filter=_filter(asked), limit=asked.limit)
    return wire.FacetResponse(hits=[RestToGrpc.convert_facet_value_hit(each) for each in found.hits])


def _filter(asked: Any) -> models.Filter | None:
    return GrpcToRest.convert_filter(asked.filter) if asked.HasField("filter") else None


def _selected(asked: Any) -> dict[str, Any]:
    """Read what of each point is asked for; a server gives nothing of what a request does not name."""
    payload, vectors = asked.HasField("with_payload"), asked.HasField("with_vectors")
    return {
        "with_payload": GrpcToRest.convert_with_payload_interface(asked.with_payload) if payload else False,
        "with_vectors": GrpcToRest.convert_with_vectors_selector(asked.with_vectors) if vectors else False,
    }


CALLS: Mapping[tuple[str, str], tuple[Any, Handler]] = {
    ("Qdrant", "HealthCheck"): (wire.HealthCheckRequest, _health),
    ("Collections", "List"): (wire.ListCollectionsRequest, _list_collections),
    ("Collections", "ListAliases"): (wire.ListAliasesRequest, _list_aliases),
    ("Collections", "UpdateAliases"): (wire.ChangeAliases, _change_aliases),
    ("Collections", "CollectionExists"): (wire.CollectionExistsRequest, _exists),
    ("Collections", "Get"): (wire.GetCollectionInfoRequest, _describe),
    ("Collections", "Create"): (wire.CreateCollection, _create),
    ("Collections", "Delete"): (wire.DeleteCollection, _drop),
    ("Points", "CreateFieldIndex"): (wire.CreateFieldIndexCollection, _index),
    ("Points", "UpdateBatch"): (wire.UpdateBatchPoints, _write),
    ("Points", "QueryBatch"): (wire.QueryBatchPoints, _query),
    ("Points", "Scroll"): (wire.ScrollPoints, _scroll),
    ("Points", "Get"): (wire.GetPoints, _retrieve),
    ("Points", "Count"): (wire.CountPoints, _count),
    ("Points", "Facet"): (wire.FacetCounts, _facet),
}
"""What is asked by each call, and who answers."""
