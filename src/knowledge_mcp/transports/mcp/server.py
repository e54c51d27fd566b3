"""MCP: the surfaces' tools, prompts, resources and completions as one server, and serving it over stdio.

Importing this module imports only the SDK and nothing heavy. The knowledge base is opened by the first call that needs
it, or by the warm-up that starts once a client has listed the tools.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from types import FrameType, TracebackType
from typing import Any, Protocol, Self, cast

import anyio
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import AnyUrl, ValidationError

from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.surfaces.answers import render_error
from knowledge_mcp.surfaces.arguments import nearest
from knowledge_mcp.surfaces.contract import DATA_NOT_INSTRUCTIONS, Completer, Prompt, Surface, load_surfaces
from knowledge_mcp.transports.mcp.extensions import SkillsExtension, view_extension
from knowledge_mcp.transports.mcp.listing import Listing, read_listings
from knowledge_mcp.transports.mcp.tasks import TasksExtension
from knowledge_mcp.transports.mcp.tools import CALLERS_MISTAKES, ResourceReader, ToolRunner, find_service
from knowledge_mcp.transports.shared.audit import AuditLog
from knowledge_mcp.transports.shared.keys import ANONYMOUS, KEY, NOBODY, Key
from knowledge_mcp.transports.shared.provider import KnowledgeProviders, SurfaceService, crash

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
"""JSON-RPC's codes for invalid JSON, and for JSON that is not a request."""

logger = logging.getLogger(__name__)


_NO_ID = "A request needs an id that is a text or a whole number."


class _Source(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Answers(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class AnsweringReader:
    """Pass messages on; answer invalid ones through the other stream.

    Args:
        source: messages, and errors for invalid lines.
        answers: stream for the error responses.
    """

    def __init__(self, source: _Source, answers: _Answers) -> None:
        self._source = source
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """Return the sender's context of the last message, like the SDK's own stream."""
        return getattr(self._source, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        while True:
            item = await self._source.receive()
            if not isinstance(item, Exception) and not _lacks_id(item.message):
                return item
            answer = answer_to(item) if isinstance(item, Exception) else _answer(None, _NO_ID, INVALID_REQUEST)
            if answer is not None:
                logger.warning("refused a message: %s", answer.error.message)
                await self._answers.send(SessionMessage(answer))

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()

    def __aiter__(self) -> AnsweringReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


def _lacks_id(message: types.JSONRPCMessage) -> bool:
    """Return whether a request has no valid id: the SDK takes it for a notification, and its sender would wait."""
    return isinstance(message, types.JSONRPCNotification) and not message.method.startswith("notifications/")


def answer_to(error: Exception) -> types.JSONRPCError | None:
    """Build the response to an invalid line; None if nobody waits for one: blank lines, notifications, responses."""
    if not isinstance(error, ValidationError):
        return None
    found = error.errors(include_url=False)
    if found and found[0]["type"] == "json_invalid":
        return _to_text(str(found[0]["input"]))
    # each form of a message that lacks a required member shows the whole input
    wholes = [each["input"] for each in found if each["type"] == "missing" and len(each["loc"]) == 2]
    return _to_value(wholes[0] if wholes else None, "A message must be a JSON-RPC request.", INVALID_REQUEST)


def _to_text(line: str) -> types.JSONRPCError | None:
    if not line.strip():
        return None
    try:
        value = json.loads(line)  # accepts lone surrogates too, unlike the SDK's parser
    except (ValueError, RecursionError):
        return _answer(None, "The message is not valid JSON.", PARSE_ERROR)
    return _to_value(value, "The message is not valid Unicode: it contains an unpaired surrogate.", PARSE_ERROR)


def _to_value(value: object, message: str, code: int) -> types.JSONRPCError | None:
    if not isinstance(value, dict):
        return _answer(None, message, code)
    members = cast("dict[str, object]", value)
    if "id" not in members or ("method" not in members and ("result" in members or "error" in members)):
        return None
    ident = members["id"]
    if isinstance(ident, str) and ident.isprintable():
        return _answer(ident, message, code)
    return _answer(ident if isinstance(ident, int) and not isinstance(ident, bool) else None, message, code)


def _answer(ident: str | int | None, message: str, code: int) -> types.JSONRPCError:
    error = InvalidInputError(message, suggestion="Send one JSON-RPC 2.0 request per line, as valid UTF-8.")
    return types.JSONRPCError(
        jsonrpc="2.0", id=ident, error=types.ErrorData(code=code, message=message, data=render_error(error))
    )


_LONGEST_ADDRESS = 4_096
"""Characters of a resource's address: every id is shorter, and errors and logs repeat it."""
WARM_UP_DELAY = 0.05
MAX_COMPLETIONS = 100


class _Offer:
    """Find what the surfaces offer by name."""

    def __init__(self, providers: KnowledgeProviders, surfaces: Sequence[Surface]) -> None:
        self.tools = {tool.name: (surface, tool) for surface in surfaces for tool in surface.tools}
        self.prompts = {prompt.name: prompt for surface in surfaces for prompt in surface.prompts}
        self.reader = ResourceReader(providers, surfaces)
        self.completers: dict[str, tuple[str, Completer]] = {
            name: (surface.name, each) for surface in surfaces for name, each in (surface.completers or {}).items()
        }


class KnowledgeServer(MCPServer[Any]):
    """Serve surfaces, each over its own Knowledge.

    Only public methods of the SDK's server are overridden; tools, prompts and resources registered with the SDK's own
    methods are served in addition to the surfaces'.

    Args:
        providers: provide the Knowledge of each surface.
        listings: their lists, as sent to clients.
        load: loads the surfaces, once a client asks for more than the lists.
        version: the product's version; `audit`: the audit log.
    """

    def __init__(
        self,
        providers: KnowledgeProviders,
        listings: Sequence[Listing],
        load: Callable[[], Sequence[Surface]],
        *,
        version: str,
        audit: AuditLog | None = None,
    ) -> None:
        with _without_rich():
            super().__init__(
                "knowledge-mcp",
                title="Knowledge",
                instructions="\n\n".join([*(each.instructions for each in listings), DATA_NOT_INSTRUCTIONS]),
                version=version,
                log_level="WARNING",
                extensions=[
                    SkillsExtension([each.name for each in listings]),
                    *(
                        [view_extension()]
                        if any("_meta" in tool for each in listings for tool in each.contents["tools"])
                        else []
                    ),
                    TasksExtension(
                        self._is_long, self._run_long, lambda context: self._key_of_request(context.request).name
                    ),
                ],
            )
        self.providers = providers
        self._runner = ToolRunner(providers, audit)
        self._listings = listings
        self._load = load
        self.running = 0
        """Number of running tool calls."""
        self.is_shared = False
        """Whether several clients share the server, each with the key in its requests."""
        # the SDK's own registration does not give the request to the handler, and so hides the client's key
        self._lowlevel_server.add_request_handler("completion/complete", types.CompleteRequestParams, self._complete)

    @cached_property
    def _offer(self) -> _Offer:
        return _Offer(self.providers, self._load())

    @cached_property
    def _published_tools(self) -> list[types.Tool]:
        return [tool for each in self._listings for tool in each.tools()]

    def close(self) -> None:
        """Close every Knowledge; blocking, idempotent."""
        self.providers.close()

    async def run_stdio_async(self) -> None:
        """Serve over stdio; invalid lines get a response too, which the SDK would not send."""
        async with stdio_server() as (requests, answers):
            options = self._lowlevel_server.create_initialization_options()
            await self._lowlevel_server.run(AnsweringReader(requests, answers), answers, options)

    async def list_tools(self) -> list[types.Tool]:
        """List the surfaces' tools first; the first call also starts the warm-up."""
        self.providers.start_warm_up(delay=WARM_UP_DELAY)
        return [*self._published_tools, *await super().list_tools()]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool; a failure becomes a result with our error object, an unknown tool a protocol error."""
        if name in self._offer.tools:
            version = context.protocol_version if context is not None else None
            return await self._run(name, arguments, version, self._key_of(context), context=context)
        registered = [tool.name for tool in await super().list_tools()]
        if name in registered:
            return await super().call_tool(name, arguments, context)
        raise _unknown_name("tool", name, [*self._offer.tools, *registered])

    async def _run(
        self, name: str, arguments: dict[str, Any], version: str | None, key: Key, **options: Any
    ) -> types.CallToolResult:
        surface, tool = self._offer.tools[name]
        self.running += 1
        try:
            return await self._runner.call(surface, tool, arguments, version, key=key, **options)
        finally:
            self.running -= 1

    def _is_long(self, name: str) -> bool:
        found = self._offer.tools.get(name)
        return found is not None and found[1].is_long

    async def _run_long(
        self, params: types.CallToolRequestParams, context: ServerRequestContext[Any, Any], progress: Progress
    ) -> types.CallToolResult:
        key = self._key_of_request(context.request)
        return await self._run(params.name, params.arguments or {}, context.protocol_version, key, progress=progress)

    async def list_prompts(self) -> list[types.Prompt]:
        """List the surfaces' prompts first."""
        return [*(prompt for each in self._listings for prompt in each.prompts()), *await super().list_prompts()]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Render a prompt; an unknown prompt, or an unknown or missing argument, is a protocol error."""
        prompt = self._offer.prompts.get(name)
        if prompt is None:
            registered = [prompt.name for prompt in await super().list_prompts()]
            if name in registered:
                return await super().get_prompt(name, arguments, context)
            raise _unknown_name("prompt", name, [*self._offer.prompts, *registered])
        values = dict(arguments or {})
        if problems := _prompt_problems(prompt, values):
            raise _missing_argument(name, problems)
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=prompt.render(values)))
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def list_resources(self) -> list[types.Resource]:
        """List the addresses without a parameter."""
        fixed = [resource for each in self._listings for resource in each.resources()]
        return [*fixed, *await super().list_resources()]

    async def list_resource_templates(self) -> list[types.ResourceTemplate]:
        """List the address templates with a parameter."""
        templates = [template for each in self._listings for template in each.templates()]
        return [*templates, *await super().list_resource_templates()]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents] | types.InputRequiredResult:
        """Read an address; an unknown one is a protocol error that contains it."""
        address = str(uri)
        if len(address) > _LONGEST_ADDRESS or not self._offer.reader.knows(address):
            try:
                return await super().read_resource(uri, context)
            except ResourceNotFoundError as exc:
                known = ", ".join(self._offer.reader.resources)
                missing = NotFoundError(f"Unknown resource: {address[:200]}", details=f"Known resources: {known}.")
                raise _protocol_error(missing, uri=address[:_LONGEST_ADDRESS]) from exc
        try:
            return [await self._runner.in_thread(partial(self._read, address, self._key_of(context)))]
        except KnowledgeError as exc:
            logger.info("a resource could not be read: %s", exc.message)
            raise _protocol_error(exc, uri=address) from exc
        except Exception as exc:
            raise _protocol_error(crash("reading a resource", exc), uri=address) from exc

    async def _complete(
        self, context: ServerRequestContext[Any, Any], params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        found = self._offer.completers.get(params.argument.name)  # the argument's name decides how it is completed
        if found is None or not await self._is_known(params.ref):
            return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))
        key = self._key_of_request(context.request)
        try:
            values = await self._runner.in_thread(partial(self._list_completions, *found, params.argument, key))
        except KnowledgeError as exc:
            raise _protocol_error(exc) from exc
        except Exception as exc:
            raise _protocol_error(crash("completing an argument", exc)) from exc
        first = values[:MAX_COMPLETIONS]
        more = len(values) > MAX_COMPLETIONS
        return types.CompleteResult(completion=types.Completion(values=first, total=len(values), has_more=more))

    async def _is_known(self, reference: types.PromptReference | types.ResourceTemplateReference) -> bool:
        """Return whether there is such a prompt or address template; of another one, nothing can be completed."""
        if isinstance(reference, types.PromptReference):
            return any(each.name == reference.name for each in await self.list_prompts())
        known = [each.uri_template for each in await self.list_resource_templates()]
        return reference.uri in known or any(str(each.uri) == reference.uri for each in await self.list_resources())

    def _read(self, address: str, key: Key) -> ReadResourceContents:
        with self._runner.audit(key, address) as documents:
            content = self._offer.reader.read(address, key)
            documents.extend(self._offer.reader.documents_of(address, content))
        return content

    def _list_completions(
        self, surface: str, completer: Completer, argument: types.CompletionArgument, key: Key
    ) -> list[str]:
        with self._runner.audit(key, f"completion/complete {argument.name}") as documents:
            values = list(completer(find_service(self.providers, surface, key), argument.value))
            documents.extend(values[:MAX_COMPLETIONS] if completer.names_documents else ())
        return values

    def _key_of(self, context: Context[Any, Any] | None) -> Key:
        return self._key_of_request(context.request_context.request if context is not None else None)

    def _key_of_request(self, request: Any) -> Key:
        """Return the client's key; on a shared server, an unknown client may do nothing."""
        if request is None:
            return NOBODY if self.is_shared else ANONYMOUS
        return request.scope.get(KEY, NOBODY)


def build_server(
    knowledge_factory: Callable[[str], SurfaceService],
    surfaces: Sequence[str],
    *,
    version: str,
    audit: AuditLog | None = None,
) -> KnowledgeServer:
    """Build the server; opens nothing and imports nothing heavy.

    Args:
        knowledge_factory: creates the service of a surface by name; called once for each, by the first call that
            needs it, on a worker thread.
        surfaces: names, as for `--surface`.
        version: the product's version, as shown to clients.
        audit: the audit log, None for none.

    Raises:
        ConfigError: a surface is unknown.
    """
    listings = read_listings(surfaces)
    names = [each.name for each in listings]

    def open_service(name: str) -> SurfaceService:
        load_surfaces([name])  # on the thread of the warm-up, or of the first call
        return knowledge_factory(name)

    providers = KnowledgeProviders(open_service, names)
    return KnowledgeServer(providers, listings, lambda: load_surfaces(names), version=version, audit=audit)


def run_stdio(server: KnowledgeServer) -> None:
    """Serve over standard input and output until the client closes them; SIGTERM and SIGINT end the process cleanly.

    The thread that waits for input cannot be woken, so a signal closes the knowledge base and exits immediately with 0.
    """

    def stop(number: int, _: FrameType | None) -> None:
        logger.info("stopped by %s", signal.Signals(number).name)
        server.providers.close(patience=2.0)
        logging.shutdown()
        os._exit(0)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
    try:
        server.run("stdio")
    finally:
        server.close()


def _protocol_error(error: KnowledgeError, **data: Any) -> MCPError:
    """Build a JSON-RPC error with our error object in `data`: -32602 if the request is wrong, otherwise -32603."""
    code = types.INVALID_PARAMS if error.code in CALLERS_MISTAKES else types.INTERNAL_ERROR
    return MCPError(code=code, message=error.message, data={**data, **render_error(error)})


def _unknown_name(kind: str, name: str, known: list[str]) -> MCPError:
    """Build the protocol error for an unknown tool or prompt; suggests the most similar name."""
    near = nearest(name, known)
    error = NotFoundError(
        f"Unknown {kind}: {name[:100]}",
        details=f"Known {kind}s: {', '.join(known)}.",
        suggestion=f"Did you mean '{near}'?" if near else f"List the {kind}s, then use one of them.",
    )
    return _protocol_error(error)


def _missing_argument(prompt: str, problems: dict[str, str]) -> MCPError:
    """Build the protocol error for invalid arguments of a prompt."""
    error = InvalidInputError(
        f"Invalid arguments for prompt {prompt}: {', '.join(problems)}.",
        details="; ".join(f"{name}: {problem}" for name, problem in problems.items()),
    )
    return _protocol_error(error)


def _prompt_problems(prompt: Prompt, values: dict[str, Any]) -> dict[str, str]:
    known = {argument.name: argument for argument in prompt.arguments}
    problems = {name[:60]: "is not an argument of this prompt" for name in values if name not in known}
    for argument in prompt.arguments:
        value = values.get(argument.name)
        if value is None or not str(value).strip():
            if argument.required:
                problems[argument.name] = "is required"
        elif len(str(value)) > argument.max_length:
            problems[argument.name] = f"has more than {argument.max_length} characters"
    return problems


@contextmanager
def _without_rich() -> Generator[None]:
    """Prevent the SDK's constructor from importing rich just to format log lines, which we format ourselves."""
    if "rich" in sys.modules:
        yield
        return
    sys.modules["rich"] = None  # pyright: ignore[reportArgumentType] - None is the documented way to refuse an import
    try:
        yield
    finally:
        del sys.modules["rich"]
