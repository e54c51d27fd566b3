"""A real Qdrant server in place of the stand-in, for whoever has one.

| variable | what it does |
|---|---|
| `QDRANT_TEST_URL` | every test of the stand-in runs against this server |
| `QDRANT_TEST_GRPC` | its gRPC port: tests that make a client of their own take it instead of REST |
| `QDRANT_TEST_API_KEY` | where it asks for one |

Without them nothing here is used. Each test has a part of the server: a prefix that no other name begins with, which is
put before its names and taken from what the server lists. Nothing else is read or touched there, and a part's
collections go when nobody holds it any more. Needs the `qdrant` extra.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
from pydantic import BaseModel
from qdrant_client import QdrantClient, models


@dataclass(frozen=True)
class RealQdrant:
    """Say where a real server is.

    Attributes:
        url: of its REST port.
        grpc: its gRPC port, None to speak REST.
        key: asked for in each request, None where it asks for none.
    """

    url: str
    grpc: int | None = None
    key: str | None = field(default=None, repr=False)

    def client(self, *, grpc: bool = True) -> QdrantClient:
        """Make a client."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a key without TLS
            return QdrantClient(
                url=self.url, api_key=self.key, prefer_grpc=grpc and self.grpc is not None,
                grpc_port=self.grpc or 6334, timeout=60, check_compatibility=False,
            )  # fmt: skip


class RealPart:
    """A part of a real server, which passes for one that nobody else uses."""

    def __init__(self, real: RealQdrant) -> None:
        self._prefix = f"t{secrets.token_hex(4)}_"
        self._client = real.client()
        self._http = httpx.Client(base_url=real.url, timeout=60.0, headers={"api-key": real.key} if real.key else {})
        weakref.finalize(self, _left, real, self._prefix, self._client, self._http)

    def called(self, name: str) -> Callable[..., Any]:
        """Return the client's method of that name, for this part."""
        method = getattr(self._client, name)
        if name in {"get_collections", "get_aliases"}:
            return lambda: self._listed(method())

        def renaming(changes: Sequence[models.AliasOperations], **more: Any) -> Any:
            return method([self._renamed(each) for each in changes], **more)

        def naming(collection: str, *args: Any, **more: Any) -> Any:
            return method(f"{self._prefix}{collection}", *args, **more)

        return renaming if name == "update_collection_aliases" else naming

    def forwarded(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        """Let the server answer a request as it came in."""
        path = target.partition("?")[0]
        if path == "/collections/aliases":
            asked = models.ChangeAliasesOperation.model_validate_json(body)
            changes = [self._renamed(each) for each in asked.actions]
            body = models.ChangeAliasesOperation(actions=changes).model_dump_json(exclude_none=True).encode()
        elif path.startswith("/collections/"):
            target = target.replace("/collections/", f"/collections/{self._prefix}", 1)
        headers = {"content-type": "application/json"}
        answer = self._http.request(method, target, content=body, headers=headers)
        if answer.status_code != 200 or path not in {"/collections", "/aliases"}:
            return answer.status_code, answer.content
        said = answer.json()
        kind = models.CollectionsResponse if path == "/collections" else models.CollectionsAliasesResponse
        said["result"] = self._listed(kind.model_validate(said["result"])).model_dump()
        return answer.status_code, json.dumps(said).encode()

    def _listed(self, found: models.CollectionsResponse | models.CollectionsAliasesResponse) -> BaseModel:
        """Leave of a list what is of this part, by its own names."""
        ((kind, every),) = found
        kept = [
            {field: str(name).removeprefix(self._prefix) for field, name in each}
            for each in cast("list[BaseModel]", every)
            if all(str(name).startswith(self._prefix) for _, name in each)
        ]
        return type(found).model_validate({kind: kept})

    def _renamed(self, change: models.AliasOperations) -> models.AliasOperations:
        ((kind, said),) = change
        return type(change).model_validate({kind: {field: f"{self._prefix}{name}" for field, name in said}})


def _left(real: RealQdrant, prefix: str, client: QdrantClient, http: httpx.Client) -> None:
    """Drop the collections of a part that nobody holds any more; their aliases go with them."""
    client.close()
    http.close()
    with contextlib.closing(real.client(grpc=False)) as last:
        for each in last.get_collections().collections:
            if each.name.startswith(prefix):
                last.delete_collection(each.name)


def _named() -> RealQdrant | None:
    url = os.environ.get("QDRANT_TEST_URL")
    if not url:
        return None
    return RealQdrant(
        url.rstrip("/"),
        int(os.environ.get("QDRANT_TEST_GRPC") or 0) or None,
        os.environ.get("QDRANT_TEST_API_KEY") or None,
    )


REAL = _named()
