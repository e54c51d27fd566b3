"""A journal of jobs in the store itself, so that all replicas of a service see the same jobs.

A job is the record of a document without passages in a separate collection; the bytes that it needs are stored next to
it in parts. A finished job is moved to a second collection, which is read as a whole only to remove old ones. A process
is alive as long as its own record there changes, by the observer's clock: the clocks of two machines are never
compared.
"""

from __future__ import annotations

import base64
import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime, timedelta

from knowledge_mcp.engine.core.base import record_of
from knowledge_mcp.engine.core.documents import publish_note
from knowledge_mcp.engine.jobs.journal import HeartbeatWatch, Job, job_from_json, job_to_json
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace
from knowledge_mcp.model.errors import KnowledgeError, NotFoundError
from knowledge_mcp.ports import Store

JOBS_COLLECTION = "knowledge_jobs"
"""The collection of unfinished jobs; it contains no documents of users."""
ENDED_COLLECTION = "knowledge_jobs_ended"
"""The collection of finished jobs, for a week."""

_BEAT = 10.0
"""Seconds between two heartbeats."""
_DEAD = timedelta(seconds=60)
"""Silence after which a process counts as dead."""
_LEFT = timedelta(days=1)
"""Minimum age at which data of no job is removed."""
_ANSWER_SECONDS = 2.0
"""Seconds for which the answer of `is_stop_requested` is cached."""
_PART = 2 * 1024 * 1024
"""Bytes of one part; servers limit the size of requests."""
_JOB, _OWNER, _STOP, _CONTENT = "job", "owner", "stop", "content"
_LABEL = "job"

_logger = logging.getLogger(__name__)


class StoreJournal:
    """Store jobs, and the bytes that they need, in a collection of the store (`Journal`).

    Args:
        store: shared by all processes.
        space: the embedding space of the collection; nothing in it is ever searched.
        beat: seconds between two heartbeats of an owner.
        dead: silence after which an owner counts as dead.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        store: Store,
        space: EmbeddingSpace,
        *,
        beat: float = _BEAT,
        dead: timedelta = _DEAD,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._space = space
        self._beat = beat
        self._signs = HeartbeatWatch(dead.total_seconds(), clock)
        self._left = HeartbeatWatch(dead.total_seconds(), clock)
        self._lock = threading.Lock()
        self._made: set[str] = set()
        self._answers: dict[str, tuple[float, bool]] = {}

    # ---- heartbeats

    def hold(self, owner: str) -> Callable[[], None]:
        self._put(_OWNER, owner, secrets.token_hex(4))
        ended = threading.Event()

        def beat() -> None:
            while not ended.wait(self._beat):
                try:
                    self._put(_OWNER, owner, secrets.token_hex(4))
                except KnowledgeError as exc:
                    _logger.warning("the sign of life of this process could not be written: %s", exc.message)

        thread = threading.Thread(target=beat, name="jobs' sign of life", daemon=True)
        thread.start()

        def free() -> None:
            ended.set()
            thread.join(self._beat)
            with contextlib.suppress(KnowledgeError):
                self._drop(_OWNER, owner)

        return free

    def is_locked(self, owner: str) -> bool:
        record = self._get(_OWNER, owner)
        if record is None:
            self._signs.forget(owner)
            return False
        return self._signs.is_alive(owner, record.sha256)

    # ---- jobs

    def write(self, job: Job) -> None:
        if job.state.is_final:
            self._put(_JOB, job.id, job_to_json(job), where=ENDED_COLLECTION)
            self._drop(_JOB, job.id)
        else:
            self._put(_JOB, job.id, job_to_json(job))

    def read(self, job_id: str) -> Job | None:
        open_one = self._get(_JOB, job_id)
        ended = self._get(_JOB, job_id, ENDED_COLLECTION)  # after the open one: it moves from there
        record = ended or open_one
        return None if record is None else _job_of(record)

    def open(self) -> list[Job]:
        return self._all(JOBS_COLLECTION)

    def ended(self) -> list[Job]:
        return self._all(ENDED_COLLECTION)

    def forget(self, job_id: str) -> None:
        job = self.read(job_id)
        if job is not None:
            self.drop_content(str(job.request.get("content_id", "")))
        self._drop_parts(job_id, ENDED_COLLECTION)
        self._drop(_STOP, job_id)
        self._drop(_JOB, job_id)
        self._drop(_JOB, job_id, ENDED_COLLECTION)

    # ---- requests to stop

    def ask_to_stop(self, job_id: str) -> None:
        self._put(_STOP, job_id, "")

    def is_stop_requested(self, job_id: str) -> bool:
        now = time.monotonic()
        answered_at, answer = self._answers.get(job_id, (-_ANSWER_SECONDS, False))
        if now - answered_at >= _ANSWER_SECONDS:
            try:
                answer = self._get(_STOP, job_id) is not None
            except KnowledgeError as exc:
                _logger.warning("whether job %s is to stop could not be asked: %s", job_id, exc.message)
            self._answers[job_id] = (now, answer)
        return answer

    def settled(self, job_id: str) -> None:
        self._answers.pop(job_id, None)
        self._drop(_STOP, job_id)
        job = self.read(job_id)
        if job is not None and job.state.is_final:
            self._drop(_JOB, job_id)
            self.drop_content(str(job.request.get("content_id", "")))

    @contextlib.contextmanager
    def recovering(self) -> Generator[bool]:
        """Allow every process: no lock spans machines, and work resumed twice is only done twice."""
        there = self._is_there()
        if there:
            self._sweep()
        yield there

    # ---- bytes of jobs

    def put_content(self, content: bytes) -> str:
        """Store bytes for a job and return the `content_id` for its request; they are removed when the job ends."""
        content_id = secrets.token_hex(16)
        self._put_parts(content_id, content, JOBS_COLLECTION)
        return content_id

    def _put_parts(self, name: str, content: bytes, where: str) -> None:
        for number, start in enumerate(range(0, max(len(content), 1), _PART)):
            text = base64.b64encode(content[start : start + _PART]).decode("ascii")
            self._put(_CONTENT, f"{name}.{number}", "", text=text or "=", where=where)

    def content(self, content_id: str) -> bytes:
        """Return the bytes stored for a job.

        Raises:
            NotFoundError: there are none.
        """
        content = self._join_parts(content_id, JOBS_COLLECTION)
        if content is None:
            raise NotFoundError("The document of this job no longer exists.", suggestion="Send the document again.")
        return content

    def _join_parts(self, name: str, where: str) -> bytes | None:
        parts: list[bytes] = []
        for part in self._parts(name) if self._is_there(where) else ():
            stored = self._store.open(where).parts(part)
            if stored is None or stored.text is None:
                break
            parts.append(base64.b64decode(stored.text) if stored.text != "=" else b"")
        return b"".join(parts) if parts else None

    def drop_content(self, content_id: str) -> None:
        """Remove the bytes stored for a job, if any."""
        self._drop_parts(content_id, JOBS_COLLECTION)

    def _drop_parts(self, name: str, where: str) -> None:
        for part in self._parts(name) if name and self._is_there(where) else ():
            if self._store.open(where).documents([part]):
                self._store.open(where).delete(part)
            else:
                break

    def keep_result(self, job_id: str, content: bytes) -> None:
        self._drop_parts(job_id, ENDED_COLLECTION)
        self._put_parts(job_id, content, ENDED_COLLECTION)

    def result(self, job_id: str) -> bytes:
        content = self._join_parts(job_id, ENDED_COLLECTION)
        if content is None:
            raise NotFoundError("The result of this job no longer exists.", suggestion="Start the job again.")
        return content

    def _sweep(self) -> None:
        """Remove what killed processes left: bytes of no job, owners that are long dead.

        In addition to its age by the clock, this process must have seen it unchanged for a while: a clock may have
        jumped.
        """
        records = self._store.open(JOBS_COLLECTION).documents()
        jobs = [job for job in (_job_of(each) for each in records if each.id.startswith(f"{_JOB}:")) if job is not None]
        needed = {str(job.request.get("content_id", "")) for job in jobs if not job.state.is_final}
        for record in records:
            kind, _, name = record.id.partition(":")
            is_left = kind == _OWNER or (kind == _CONTENT and name.partition(".")[0] not in needed)
            is_old = datetime.now(UTC) - datetime.fromisoformat(record.updated_at) > _LEFT
            if is_left and is_old and not self._left.is_alive(record.id, record.sha256):
                self._store.open(JOBS_COLLECTION).delete(record.id)
                self._left.forget(record.id)

    # ---- records

    @staticmethod
    def _parts(content_id: str) -> Iterator[str]:
        number = 0
        while True:
            yield f"{_CONTENT}:{content_id}.{number}"
            number += 1

    def _is_there(self, where: str = JOBS_COLLECTION) -> bool:
        with self._lock:
            if where not in self._made and self._store.open(where).info() is not None:
                self._made.add(where)
            return where in self._made

    def _all(self, where: str) -> list[Job]:
        records = self._store.open(where).documents() if self._is_there(where) else ()
        jobs = (_job_of(each) for each in records if each.id.startswith(f"{_JOB}:"))
        return [job for job in jobs if job is not None]

    def _get(self, kind: str, name: str, where: str = JOBS_COLLECTION) -> DocumentRecord | None:
        return record_of(self._store.open(where), f"{kind}:{name}") if self._is_there(where) else None

    def _drop(self, kind: str, name: str, where: str = JOBS_COLLECTION) -> None:
        if self._is_there(where):
            self._store.open(where).delete(f"{kind}:{name}")

    def _put(self, kind: str, name: str, value: str, *, text: str = "-", where: str = JOBS_COLLECTION) -> None:
        if not self._is_there(where):
            self._store.create_collection(where, self._space)
        publish_note(self._store.open(where), self._space, f"{kind}:{name}", kind, (_LABEL, value), text)


def _job_of(record: DocumentRecord) -> Job | None:
    try:
        return job_from_json(dict(record.metadata).get(_LABEL, ""))
    except (ValueError, TypeError, KeyError) as exc:
        _logger.warning("the journal's %s cannot be read: %s", record.id, exc)
        return None
