"""A real Qdrant server in place of the stand-in, for whoever has one.

| variable | what it does |
|---|---|
| `QDRANT_TEST_URL` | every test of the stand-in runs against this server, **whose collections are all dropped** |
| `QDRANT_TEST_GRPC` | its gRPC port: tests that make a client of their own take it instead of REST |
| `QDRANT_TEST_API_KEY` | where it asks for one |

Without them nothing here is used. One server serves one run: no `-n`. Needs the `qdrant` extra.
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from dataclasses import dataclass, field

import httpx
from qdrant_client import QdrantClient

__all__ = ["REAL", "RealQdrant"]


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

    def empty(self) -> None:
        """Drop all collections."""
        with contextlib.closing(self.client(grpc=False)) as client:
            for each in client.get_collections().collections:
                client.delete_collection(each.name)

    @functools.cached_property
    def _http(self) -> httpx.Client:
        return httpx.Client(timeout=60.0)

    def forwarded(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        """Let it answer a request as it came in."""
        headers = {"content-type": "application/json", **({"api-key": self.key} if self.key else {})}
        answer = self._http.request(method, f"{self.url}{target}", content=body, headers=headers)
        return answer.status_code, answer.content


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
