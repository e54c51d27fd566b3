"""A stand-in for OpenAI and Azure OpenAI on loopback: the wire of their embedding requests, right and with faults.

```python
with OpenAIServer() as server:
    client = openai.OpenAI(api_key=server.key, base_url=server.url)
    client.embeddings.create(model="text-embedding-3-small", input=["a text"])
```

It answers `/v1/embeddings` and `/openai/deployments/{name}/embeddings?api-version=…`, in floats and in base64, with
vectors that depend on the text alone and lie near each other where texts share words. It counts every request.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, cast
from urllib.parse import parse_qs, urlsplit

from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.servers import openai_faults as faults
from tests.servers.openai_faults import Fault, Item
from tests.servers.running import ThreadedServer

MODELS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
SHORTENING = ("text-embedding-3-small", "text-embedding-3-large")
MOST_TEXTS, MOST_TOKENS, MOST_TOKENS_IN_ALL = 2048, 8192, 300_000
DRIP_SECONDS = 0.005
DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/embeddings")


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    model: str
    texts: tuple[str, ...]
    dimensions: int | None
    encoding: str


class OpenAIServer(ThreadedServer[ThreadingHTTPServer]):
    """Serve until closed; use it in a `with`.

    Args:
        key: the only key that is taken.
        deployments: Azure's names and the models behind them.
        count: measures a text in tokens, for usage and limits.

    Attributes:
        url, endpoint: OpenAI's base URL, and Azure's endpoint.
        faults: one a request, taken from the left; None for a right answer. Right ones follow when they are used up.
        always: a fault of all requests beyond those, None for none.
        refuse: tells of which texts a request is refused (HTTP 400, with `refusal`).
        requests: every request, in the order of coming.
        answered: how often each text was embedded in an answer that left whole.
        most_at_once: the most requests that were under way together.
    """

    def __init__(
        self,
        *,
        key: str = "sk-stand-in-0123456789abcdef",
        deployments: Mapping[str, str] | None = None,
        count: Callable[[str], int] | None = None,
    ) -> None:
        self.key = key
        self.deployments = dict(deployments or {"text-embedding-3-small": "text-embedding-3-small"})
        self.count: Callable[[str], int] = count or _count
        self.faults: deque[Fault | None] = deque()
        self.always: Fault | None = None
        self.refuse: Callable[[str], bool] = lambda _: False
        self.refusal = faults.refused()
        self.requests: list[Received] = []
        self.answered: Counter[str] = Counter()
        self.most_at_once = 0
        self._at_once = 0
        self._embedders: dict[int, HashingEmbedder] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        host, port = "127.0.0.1", self._server.server_address[1]
        self.endpoint = f"http://{host}:{port}"
        self.url = f"{self.endpoint}/v1"

    @property
    def texts(self) -> list[str]:
        """List every text that was sent, in the order of the requests."""
        return [text for request in self.requests for text in request.texts]

    def vector(self, text: str, dimensions: int = 1536) -> bytes:
        """Give the vector of a text as a right answer holds it: float32, unit norm."""
        with self._lock:
            embedder = self._embedders.setdefault(
                dimensions, HashingEmbedder(dimensions=dimensions, max_tokens=MOST_TOKENS)
            )
        return embedder.embed_query(text)

    # ---- one request

    def received(self, request: Received) -> Fault | None:
        """Note a request and choose its fault."""
        with self._lock:
            self.requests.append(request)
            return self.faults.popleft() if self.faults else self.always

    def working(self, change: Literal[1, -1]) -> None:
        """Count the requests that are under way at once."""
        with self._lock:
            self._at_once += change
            self.most_at_once = max(self.most_at_once, self._at_once)

    def objection(self, request: Received, model: str | None) -> Fault | None:
        """Find what the real service would object to."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ") or request.headers.get("api-key", "")
        if given != self.key:
            return faults.unauthorized(f"Incorrect API key provided: {given[:7]}{'*' * 12}{given[-4:]}.")
        if model is None:
            azure = request.path.startswith("/openai/")
            return faults.deployment_not_found() if azure else faults.model_not_found(request.model)
        if request.dimensions is not None and model not in SHORTENING:
            return faults.refused("This model does not support specifying dimensions.")
        if request.dimensions is not None and not 1 <= request.dimensions <= MODELS[model]:
            return faults.refused(f"Invalid value for 'dimensions' = {request.dimensions}.")
        if not request.texts or not all(request.texts) or len(request.texts) > MOST_TEXTS:
            return faults.refused("'$.input' is invalid.")
        counts = [self.count(text) for text in request.texts]
        if max(counts) > MOST_TOKENS:
            return faults.refused(f"This model's maximum context length is {MOST_TOKENS} tokens.")
        if sum(counts) > MOST_TOKENS_IN_ALL:
            return faults.too_many_tokens()
        return self.refusal if any(map(self.refuse, request.texts)) else None

    def answer(self, request: Received, model: str, fault: Fault) -> bytes:
        """Write the answer with the vectors, as the fault changes them."""
        dimensions = request.dimensions or MODELS[model]
        items: list[Item] = [
            (index, struct.unpack(f"<{dimensions}f", self.vector(text, dimensions)))
            for index, text in enumerate(request.texts)
        ]
        if fault.change is not None:
            items = fault.change(items)
        tokens = sum(map(self.count, request.texts))
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(components, request.encoding)}
            for index, components in items
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return json.dumps({"object": "list", "data": data, "model": model, "usage": usage}).encode()

    def sent(self, request: Received) -> None:
        """Note that an answer with vectors leaves whole."""
        with self._lock:
            self.answered.update(request.texts)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        return type("Handler", (_Handler,), {"stand_in": self})


class _Handler(BaseHTTPRequestHandler):
    stand_in: OpenAIServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.stand_in.working(1)
        try:
            self._serve()
        except OSError:  # the client went away, as it does when its time is up
            self.close_connection = True
        finally:
            self.stand_in.working(-1)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def _serve(self) -> None:
        stand_in = self.stand_in
        request, model = self._request()
        fault = stand_in.received(request) or Fault()
        if fault.release is not None and fault.send != "drip":
            fault.release.wait(60)
        objection = stand_in.objection(request, model) if fault.body is None else None
        if objection is not None:
            fault = objection
        body = fault.body if fault.body is not None else stand_in.answer(request, cast("str", model), fault)
        if fault.status == 200 and fault.body is None and fault.send == "whole":
            stand_in.sent(request)
        self._send(fault, body)

    def _request(self) -> tuple[Received, str | None]:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        body = cast("dict[str, Any]", json.loads(raw))
        given = body.get("input", [])
        parts = urlsplit(self.path)
        request = Received(
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            model=str(body.get("model", "")),
            texts=(given,) if isinstance(given, str) else tuple(cast("Sequence[str]", given)),
            dimensions=body.get("dimensions"),
            encoding=str(body.get("encoding_format", "float")),
        )
        deployment = DEPLOYMENT.fullmatch(parts.path)
        if deployment is not None and parse_qs(parts.query).get("api-version"):
            return request, self.stand_in.deployments.get(deployment[1])
        known = request.model if parts.path == "/v1/embeddings" and request.model in MODELS else None
        return request, known

    def _send(self, fault: Fault, body: bytes) -> None:
        if fault.send == "nothing":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(fault.status)
        self.send_header("content-type", fault.content_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("x-request-id", f"req_{len(self.stand_in.requests)}")
        for name, value in (fault.headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if fault.send == "half":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif fault.send == "drip":
            self._drip(body, fault.release or threading.Event())
        else:
            self.wfile.write(body)

    def _drip(self, body: bytes, release: threading.Event) -> None:
        for place in range(len(body)):
            self.wfile.write(body[place : place + 1])
            self.wfile.flush()
            if release.wait(DRIP_SECONDS):
                break
        self.close_connection = True


def _count(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def _encoded(components: Sequence[float], encoding: str) -> str | list[float]:
    if encoding == "base64":
        return base64.b64encode(struct.pack(f"<{len(components)}f", *components)).decode()
    return list(components)
