"""A stand-in of the REST service: the console's files under their policy, and the contract's endpoints over plain data.

Unlike the real service it can be told to fail, to degrade and to hold anything in any field, hostile text too.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

KEY = "the-key-of-the-tests-3f9"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TIME = "2026-03-02T09:30:00+00:00"
MEDIA = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}

Json = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """What an endpoint answers in place of its work."""

    status: int
    error: str = ""
    detail: str = "told by the test"
    suggestion: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def response(self) -> Response:
        """Write it as the contract has it."""
        result = {"error": self.error, "detail": self.detail, "status_code": self.status, "request_id": "request-7"}
        if self.suggestion:
            result["suggestion"] = self.suggestion
        return JSONResponse(result, self.status, headers={"X-Request-ID": "request-7", **self.headers})


def console_file(name: str) -> Response:
    """Serve one file of the bundle under the policy."""
    found = resources.files("knowledge_mcp").joinpath("console", name)
    if not re.fullmatch(r"[a-z]+\.(css|html|js|svg)", name) or not found.is_file():
        return Failure(404, "not_found", f"There is no {name}.").response()
    headers = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "max-age=600"}
    return Response(found.read_bytes(), headers=headers, media_type=MEDIA[name.rpartition(".")[2]])


def a_document(number: int, texts: list[str], **changes: Any) -> Json:
    """Make a document of passages, two on a page; `changes` go over its fields."""
    made: Json = {
        "doc_id": f"{number:016x}", "title": f"Document {number}", "source": f"file-{number}.pdf",
        "filename": f"file-{number}.pdf", "edition": "",
        "collection": "default", "pages": (len(texts) + 1) // 2, "status": "ready", "warnings": [], "created_at": TIME,
        "updated_at": TIME, "metadata": {"edition": "2"}, **changes,
    }  # fmt: skip
    made["chunks"] = [
        {
            "text": text,
            "metadata": {
                "source": made["source"], "filename": made["filename"], "page": index // 2 + 1,
                "pages": [index // 2 + 1],
                "collection": made["collection"], "doc_id": made["doc_id"], "chunk_id": f"{number}-{index}",
                "chunk_index": index,
                "title": made["title"], "section": "Detail", "sections": ["Part", "Detail"], "chunk_type": "guidance",
                "normative": index % 2 == 0, "clause_number": f"5.{index + 1}",
                "lines": [index * 10 + 1, index * 10 + 8],
                "document_metadata": made["metadata"],
            },
        }
        for index, text in enumerate(texts)
    ]  # fmt: skip
    return made


class Service:
    """The state of the stand-in; every test has its own, over one running server."""

    def __init__(self) -> None:
        self.keys = {KEY}
        self.documents: dict[str, Json] = {}
        self.collections = ["default"]
        self.read_only: set[str] = set()
        self.failures: dict[str, list[Failure]] = {}
        """By "METHOD /first-part": each request takes one from the front; `always` holds those that stay."""
        self.always: dict[str, Failure] = {}
        self.extra: Json = {}
        """Laid over every answer to a search."""
        self.ready: Json = {"status": "ready", "checks": {"vector_store": {"up": True, "message": "answers"}}}
        self.asked: list[tuple[str, str, Any]] = []
        """Method, path and body of every request to an endpoint, in order."""
        self.jobs: dict[str, Json] = {}
        self.hold = threading.Event()
        """While it is set, jobs stay at 40 of 100."""
        self.pictures: dict[str, bytes] = {}
        """Pictures of pages by document's id; the original of another one is gone."""
        self.changes: list[Json] = []
        """The clauses that differ in every comparison."""
        self.places: list[Json] = []
        """What every comparison touches."""
        self.trace: Json = {}
        """What is reported for every trace, except the two documents."""
        self.check: Json = {}
        """The answer to every check, beside the two documents."""
        self.conflicts: list[Json] = []
        """What is reported for every search for conflicts."""
        self.goes_on: list[str] = []
        """Jobs that traces, checks and searches for conflicts are answered with, one each, before what they come to."""
        self.outcome: Callable[[Json], Json] = lambda job: job
        """What becomes of a job that ends."""

    def add(self, document: Json) -> Json:
        """Keep a document, and its collection."""
        self.documents[document["doc_id"]] = document
        if document["collection"] not in self.collections:
            self.collections.append(document["collection"])
        return document

    def within(self, collection: str) -> list[Json]:
        """List a collection's documents by title."""
        found = [each for each in self.documents.values() if each["collection"] == collection]
        return sorted(found, key=lambda each: str(each["title"]))

    def took(self, start: str) -> list[Any]:
        """Return the bodies of the requests whose "METHOD /path" begins so."""
        return [body for method, path, body in self.asked if f"{method} {path}".startswith(start)]


def application(current: Callable[[], Service]) -> Starlette:
    """Build the server; `current` gives the state that holds now."""

    async def page(request: Request) -> Response:
        return console_file(request.path_params.get("name", "index.html"))

    async def endpoint(request: Request) -> Response:
        service = current()
        body: Any = None
        if request.headers.get("content-type", "").startswith("application/json"):
            body = await request.json()
        elif request.headers.get("content-type", "").startswith("multipart/"):
            async with request.form() as form:
                body = {name: value if isinstance(value, str) else value.filename for name, value in form.items()}
        else:
            body = dict(request.query_params)
        path = request.url.path
        service.asked.append((request.method, path, body))
        refused = _refusal(service, request)
        if refused is not None:
            return refused.response()
        return _answer(service, request.method, path.strip("/").split("/"), body)

    methods = ["GET", "POST", "DELETE"]
    return Starlette(
        routes=[
            Route("/", page),
            Route("/console/{name}", page),
            Route("/{path:path}", endpoint, methods=methods),
        ]
    )


def _refusal(service: Service, request: Request) -> Failure | None:
    path = request.url.path
    name = f"{request.method} /{path.strip('/').split('/')[0]}"
    waiting = service.failures.get(name)
    if waiting:
        return waiting.pop(0)
    if name in service.always:
        return service.always[name]
    if path in {"/health", "/ready"}:
        return None
    sent = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not sent and "" not in service.keys:
        return Failure(401, "unauthorized", "No API key was sent.")
    return None if sent in service.keys else Failure(403, "forbidden", "The API key is not known.")


def _answer(service: Service, method: str, path: list[str], body: Any) -> Response:
    match method, path:
        case "GET", ["health"]:
            return JSONResponse({"status": "healthy", "version": "9.9.9"})
        case "GET", ["ready"]:
            return JSONResponse(service.ready, 200 if service.ready["status"] == "ready" else 503)
        case "GET", ["collections"]:
            listed = [_collection(service, name) for name in sorted(service.collections)]
            start = int(body.get("offset", 0))
            return JSONResponse({"collections": listed[start : start + int(body["limit"])], "total": len(listed)})
        case "DELETE", ["collections", name]:
            gone = [service.documents.pop(each["doc_id"]) for each in service.within(name)]
            service.collections = [each for each in service.collections if each != name or each == "default"]
            return JSONResponse({"status": "deleted", "collection": name, "documents": len(gone)})
        case "POST", ["search"]:
            return _search(service, body)
        case "GET", [*_, "outline"] | [*_, "pages", _] | ["changes" | "impact" | "trace" | "check" | "conflicts"]:
            return _shown(service, path, body)
        case "GET", ["jobs"]:
            return JSONResponse({"jobs": [_job(service, name, cancelled=False) for name in reversed(service.jobs)]})
        case _:
            return _documents_or_jobs(service, method, path, body)


def _documents_or_jobs(service: Service, method: str, path: list[str], body: Any) -> Response:
    match method, path:
        case "GET", ["documents"]:
            part = body.get("name_contains", "").lower()
            found = [each for each in service.within(body["collection"]) if part in str(each["title"]).lower()]
            start = int(body.get("offset", 0))
            listed = [{**each, "chunks": len(each["chunks"])} for each in found[start : start + int(body["limit"])]]
            return JSONResponse({"documents": listed, "total": len(found)})
        case _, ["documents", name] if name not in service.documents:
            return Failure(404, "not_found", f"There is no document '{name}'.").response()
        case "GET", ["documents", name]:
            document = service.documents[name]
            start = int(body.get("offset", 0))
            chunks = document["chunks"][start : start + int(body.get("limit", 10_000))]
            return JSONResponse({**document, "chunks": chunks, "chunk_count": len(document["chunks"])})
        case "DELETE", ["documents", name]:
            return JSONResponse(
                {"status": "deleted", "doc_id": name, "chunks": len(service.documents.pop(name)["chunks"])}
            )
        case "POST", ["trace", "decisions"] | ["check", "marks"]:
            return JSONResponse({"decided": 1})
        case "POST", ["ingest" | "ingest_url" | "ingest_file"]:
            return _accept(service, body)
        case _, ["jobs", name] if name in service.jobs:
            return JSONResponse(_job(service, name, cancelled=method == "DELETE"))
        case _:
            return Failure(404, "not_found", f"There is nothing at /{'/'.join(path)}.").response()


def _shown(service: Service, path: list[str], body: Any) -> Response:
    match path:
        case ["documents", name, *_] if name not in service.documents:
            return Failure(404, "not_found", f"There is no document '{name}'.").response()
        case ["documents", name, "outline"]:
            return JSONResponse({"doc_id": name, "sections": service.documents[name].get("sections", [])})
        case ["documents", name, "pages", page]:
            if name not in service.pictures:
                return Failure(404, "not_found", "The original is gone.", "Put it back.").response()
            return Response(service.pictures[name], media_type="image/png", headers={"X-Page": page})
        case ["changes" | "impact" as what]:
            found = _changed(service, body) if what == "changes" else _touched(service, body)
            return JSONResponse({side: _named(service, body[side]) for side in ("old", "new")} | found)
        case ["trace"] | ["check"] | ["conflicts"]:
            return _reviewed(service, path[0], body)
        case _:
            return Failure(404, "not_found", f"There is nothing at /{'/'.join(path)}.").response()


def _changed(service: Service, body: Json) -> Json:
    result = [(each["became"], *each["kinds"], *(f"requirements_{one}" for one in each["obligations"]))
            for each in service.changes]  # fmt: skip
    kept = [each for each, kinds in zip(service.changes, result, strict=True) if body.get("kinds", kinds[0]) in kinds]
    start = int(body["offset"])
    page = {"total": len(kept), "clauses": kept[start : start + int(body["limit"])]}
    return {"summary": dict(Counter(name for kinds in result for name in kinds)), **page}


def _touched(service: Service, body: Json) -> Json:
    page = {"total": len(service.places), "places": service.places[: int(body["limit"])]}
    return {"untouched": 1, "degraded": [], **page}


def _reviewed(service: Service, what: str, body: Any) -> Response:
    if service.goes_on:
        return JSONResponse({"status": "accepted", "job_id": service.goes_on.pop(0)}, 202)
    if what == "conflicts":
        kept = [each for each in service.conflicts if body.get("kind", each["kind"]) == each["kind"]]
        start = int(body["offset"])
        summary = dict(Counter(each["kind"] for each in service.conflicts))
        page = {"total": len(kept), "conflicts": kept[start : start + int(body["limit"])]}
        return JSONResponse({"documents": 2, "compared": 4, "summary": summary, **page})
    names = ("from", "to") if what == "trace" else ("document", "standard")
    sides = {side: {**_named(service, body[side]), "items": 2} for side in names}
    return JSONResponse(sides | (service.trace if what == "trace" else service.check))


def _collection(service: Service, name: str) -> Json:
    held = service.within(name)
    chunks = sum(len(each["chunks"]) for each in held)
    return {
        "name": name, "doc_count": len(held), "chunk_count": chunks, "token_count": chunks * 180,
        "embedding_model": "local/all-MiniLM-L6-v2 (int8, 384)", "created_at": TIME,
        **({"read_only": True} if name in service.read_only else {}),
    }  # fmt: skip


def _named(service: Service, name: str) -> Json:
    document = service.documents[name]
    return {each: document[each] for each in ("doc_id", "title", "edition", "collection")}


def _search(service: Service, body: Json) -> Response:
    everywhere = body.get("everywhere", False)
    if not everywhere and body["collection"] not in service.collections:
        hint = f"Did you mean {service.collections[0]}?"
        return Failure(404, "not_found", f"There is no collection '{body['collection']}'.", hint).response()
    words = set(re.findall(r"\w{4,}", body["query"].lower()))
    expected = body.get("filters", {})
    found: list[Json] = []
    documents = service.documents.values() if everywhere else service.within(body["collection"])
    for document in documents:
        if expected.get("document_id") not in {None, document["doc_id"]}:
            continue
        for chunk in document["chunks"]:
            share = len(words & set(re.findall(r"\w+", chunk["text"].lower()))) / max(1, len(words))
            about = chunk["metadata"]
            citation = f"{document['title']}, 2nd edition, {about['clause_number']} Detail, p. {about['page']}"
            if share and about["clause_number"].startswith(expected.get("clause_number", "")):
                found.append({**chunk, "score": share, "metadata": {**about, "citation": citation}})
    found.sort(key=lambda each: -float(each["score"]))
    kept = [each for each in found if each["score"] >= body["min_score"]]
    answer: Json = {
        "results": kept[: body["top_k"]], "query": body["query"], "collection": body.get("collection", "*"),
        "mode": body["mode"], "total": len(kept[: body["top_k"]]),
    }  # fmt: skip
    if len(kept) < len(found):
        answer["below_min_score"] = len(found) - len(kept)
    return JSONResponse({**answer, **service.extra})


def _accept(service: Service, body: Json) -> Response:
    result = body.get("metadata", {})
    about = json.loads(result) if isinstance(result, str) else result
    number = len(service.jobs) + 1
    name = about.get("filename") or body.get("url") or body.get("file") or "text"
    collection = about.get("collection") or body.get("collection")
    job: Json = {
        "job_id": f"{number:016x}", "state": "queued", "progress": {"done": 0.0, "message": ""},
        "collection": collection, "source": name, "created_at": TIME, "updated_at": TIME,
    }  # fmt: skip
    document = a_document(
        0x100 + number, [body.get("text", "taken in")], title=name, filename=name, collection=collection
    )
    job["document"] = document
    service.jobs[job["job_id"]] = job
    return JSONResponse({"status": "accepted", "job_id": job["job_id"]}, 202)


def _job(service: Service, name: str, *, cancelled: bool) -> Json:
    job = service.jobs[name]
    answer = {key: value for key, value in job.items() if key != "document"}
    if cancelled and job["state"] in {"queued", "running"}:
        job["state"] = answer["state"] = "cancelled"
    elif job["state"] in {"queued", "running"} and service.hold.is_set():
        job["state"] = answer["state"] = "running"
        answer["progress"] = {"done": 40.0, "message": "embedding"}
    elif job["state"] in {"queued", "running"} and "kind" in job:
        job["state"] = answer["state"] = "done"
    elif job["state"] in {"queued", "running"}:
        job["state"] = "done"
        document = service.add(job["document"])
        result: Json = {
            "status": "ingested", "doc_id": document["doc_id"], "chunks": 1, "collection": document["collection"],
            "title": document["title"], "source": document["source"], "pages": 1, "unchanged": False, "replaced": False,
            "embedded": 1, "reused": 0, "warnings": [],
        }  # fmt: skip
        answer = service.outcome(
            {**answer, "state": "done", "progress": {"done": 100.0, "message": "done"}, "result": result}
        )
        job.update(answer)
    return answer
