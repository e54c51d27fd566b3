"""Tasks (SEP-2663): a long call is answered with a handle, and its client asks for the result later.

Only clients that support tasks get one, and only if the work does not end soon. All others wait as before, and job ids
work for every client. A task lives in the process that started it.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from mcp import MCPError, types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from knowledge_mcp.model.call import Progress

TASKS = "io.modelcontextprotocol/tasks"

_PATIENCE = 2.0
"""Seconds that a call may take before it becomes a task: about the interval of a polling client."""
_POLL_MS = 2_000
_RETENTION_SECONDS = 3_600
"""How long a result is kept for its client."""
_MOST = 100
"""Maximum tasks of one key, 10 MB of results of at most 100 KB; beyond that, finished ones are dropped first."""

Context = ServerRequestContext[Any, Any]


class _Task:
    """One call; its times are those of a clock that nobody sets, and are told by that of the day."""

    def __init__(self, owner: str, clock: Callable[[], float]) -> None:
        self.id = secrets.token_urlsafe(24)
        self.owner = owner
        self._clock = clock
        self._created_at = datetime.now(UTC)
        self._created = self.updated = clock()
        self.message = ""
        self.job: asyncio.Task[types.CallToolResult] | None = None

    def note(self, done: float, total: float | None, message: str) -> None:
        """Record progress; for worker threads."""
        self.message = message or (f"{done:g} of {total:g}" if total else f"{done:g}")
        self.updated = self._clock()

    def ended(self, _: object) -> None:
        """Record when it ended."""
        self.updated = self._clock()

    @property
    def is_over(self) -> bool:
        return self.job is not None and self.job.done()

    @property
    def is_stale(self) -> bool:
        return self.is_over and self._clock() - self.updated > _RETENTION_SECONDS

    def state(self) -> dict[str, Any]:
        """Return its state, with the result once there is one."""
        lasted = self.updated - self._created
        fields: dict[str, Any] = {
            "taskId": self.id,
            "status": "working",
            "createdAt": self._created_at.isoformat(),
            "lastUpdatedAt": (self._created_at + timedelta(seconds=lasted)).isoformat(),
            "ttlMs": round((lasted + _RETENTION_SECONDS) * 1000) if self.is_over else None,
            "pollIntervalMs": _POLL_MS,
        }
        if self.message:
            fields["statusMessage"] = self.message
        if self.job is None or not self.job.done():
            return fields
        if self.job.cancelled():
            return {**fields, "status": "cancelled"}
        if (failed := self.job.exception()) is not None:
            unknown = types.ErrorData(code=types.INTERNAL_ERROR, message="The call failed.")
            error = failed.error if isinstance(failed, MCPError) else unknown
            return {**fields, "status": "failed", "error": _sent(error), "statusMessage": error.message}
        return {**fields, "status": "completed", "result": {"resultType": "complete", **_sent(self.job.result())}}


def _sent(model: types.CallToolResult | types.ErrorData) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class _TaskParams(types.RequestParams):
    """The parameters of a request for one task."""

    task_id: str


class _Update(_TaskParams):
    """The parameters of an answer to a task's question; our tasks ask none."""

    input_responses: dict[str, Any]


class TasksExtension(Extension):
    """Turn long calls into tasks.

    Args:
        is_long: returns whether a tool may take long.
        run: runs a call of such a tool; worker threads report its progress.
        owner: returns the caller's name. A task is visible only to the caller who started it.
        clock: monotonic seconds.
    """

    identifier = TASKS

    def __init__(
        self,
        is_long: Callable[[str], bool],
        run: Callable[[types.CallToolRequestParams, Context, Progress], Awaitable[types.CallToolResult]],
        owner: Callable[[Context], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_long = is_long
        self._run = run
        self._owner = owner
        self._clock = clock
        self._tasks: dict[str, _Task] = {}

    def methods(self) -> Sequence[MethodBinding]:
        """Return the protocol methods that the extension adds."""
        modern = frozenset(MODERN_PROTOCOL_VERSIONS)
        return [
            MethodBinding("tasks/get", _TaskParams, self._get, modern),
            MethodBinding("tasks/update", _Update, self._update, modern),
            MethodBinding("tasks/cancel", _TaskParams, self._cancel, modern),
        ]

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: Context, call_next: CallNext
    ) -> HandlerResult:
        """Start a long call, and return a task if it does not end soon."""
        may_be_one = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and _knows_tasks(ctx)
        if not may_be_one or not self._is_long(params.name):
            return await call_next(ctx)
        task = _Task(self._owner(ctx), self._clock)
        task.job = asyncio.ensure_future(self._run(params, ctx, task.note))
        task.job.add_done_callback(task.ended)
        try:
            await asyncio.wait({task.job}, timeout=_PATIENCE)
        except asyncio.CancelledError:
            task.job.cancel()
            raise
        if task.job.done():
            return task.job.result()
        self._make_room(task.owner)
        self._tasks[task.id] = task
        return {**task.state(), "resultType": "task"}

    async def _get(self, ctx: Context, params: _TaskParams) -> dict[str, Any]:
        return {**self._task_of(ctx, params).state(), "resultType": "complete"}

    async def _update(self, ctx: Context, params: _Update) -> dict[str, Any]:
        self._task_of(ctx, params)
        return {"resultType": "complete"}

    async def _cancel(self, ctx: Context, params: _TaskParams) -> dict[str, Any]:
        job = self._task_of(ctx, params).job
        if job is not None:
            job.cancel()
        return {"resultType": "complete"}

    def _task_of(self, ctx: Context, params: _TaskParams) -> _Task:
        """Find a task of the caller.

        Raises:
            MCPError: there is none, or the client does not declare support for tasks.
        """
        if not _knows_tasks(ctx):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)
        task = self._tasks.get(params.task_id)
        if task is None or task.owner != self._owner(ctx) or task.is_stale:
            raise MCPError(types.INVALID_PARAMS, "There is no such task: it ended over an hour ago, or never existed.")
        return task

    def _make_room(self, owner: str) -> None:
        self._tasks = {ident: each for ident, each in self._tasks.items() if not each.is_stale}
        tasks = [each for each in self._tasks.values() if each.owner == owner]
        over = sorted((each for each in tasks if each.is_over), key=lambda each: each.updated)
        for each in over[: max(0, len(tasks) - _MOST + 1)]:
            del self._tasks[each.id]


def _knows_tasks(ctx: Context) -> bool:
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and TASKS in (capabilities.extensions or {})
