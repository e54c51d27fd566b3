"""What the conformance suite's scenarios call, registered on our own server class, behind our own HTTP stack.

Nothing of this is a feature: it shows that the stack carries whatever a server may answer. Spawn it with
`python -m tests.foreign.fixture_server http fixture|product`.
"""

from __future__ import annotations

import base64
import json
import logging
import struct
import sys
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Audio, Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

from knowledge_mcp.transports.mcp.http import build_app, serve
from knowledge_mcp.transports.mcp.server import KnowledgeServer, build_server
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.serving import listen
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.library import FakeLibrary
from tests.foreign.fixture_inputs import add_input_required

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 0)
STEP = 0.05
AnyContext = Context[Any, Any]
RICH_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def log(ctx: AnyContext, text: str) -> None:
    """Send a log message, as servers did up to 2025-11-25."""
    await ctx.log("info", text)  # pyright: ignore[reportDeprecated] - the suite asks for what is deprecated


def resource(uri: str, text: str, media_type: str = "text/plain") -> EmbeddedResource:
    """Embed a text resource."""
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, text=text, mime_type=media_type))


def add_content(server: KnowledgeServer) -> None:
    """Register tools that answer with each kind of content."""

    @server.tool(description="Answer with text.")
    def test_simple_text() -> TextContent:
        return TextContent(type="text", text="This is a simple text response for testing.")

    @server.tool(description="Answer with an image.")
    def test_image_content() -> Image:
        return Image(data=PNG, format="png")

    @server.tool(description="Answer with a sound.")
    def test_audio_content() -> Audio:
        return Audio(data=WAV, format="wav")

    @server.tool(description="Answer with a resource.")
    def test_embedded_resource() -> EmbeddedResource:
        return resource("test://embedded-resource", "This is an embedded resource content.")

    @server.tool(description="Answer with several kinds of content.")
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        return [
            TextContent(type="text", text="Multiple content types test:"),
            Image(data=PNG, format="png").to_image_content(),
            resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
        ]

    @server.tool(description="Fail.")
    def test_error_handling() -> str:
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool(description="Take an argument that travels in a header too.")
    def test_header_argument(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "",
    ) -> str:
        return f"region {region}"

    @server.tool(name="json_schema_2020_12_tool", description="Tool with JSON Schema 2020-12 features")
    def rich() -> str:
        return "ok"


def add_messages(server: KnowledgeServer) -> None:
    """Register tools that send something on the way."""

    @server.tool(description="Log three messages.")
    async def test_tool_with_logging(ctx: AnyContext) -> str:
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await log(ctx, text)
            await pause()
        return "Logged."

    @server.tool(description="Log a message.")
    async def test_logging_tool(ctx: AnyContext) -> str:
        await log(ctx, "A message for whoever asked for messages")
        return "Logged."

    @server.tool(description="Report progress.")
    async def test_tool_with_progress(ctx: AnyContext) -> str:
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
            await pause()
        return "Done."

    @server.tool(description="Close the stream, go on, and answer on the next one.")
    async def test_reconnection(ctx: AnyContext) -> str:
        await ctx.close_sse_stream()
        await pause()
        return "Reconnected."

    @server.tool(description="Change the list of tools.")
    async def test_trigger_tool_change(ctx: AnyContext) -> str:
        await ctx.notify_tools_changed()
        return "Changed."

    @server.tool(description="Change the list of prompts.")
    async def test_trigger_prompt_change(ctx: AnyContext) -> str:
        await ctx.notify_prompts_changed()
        return "Changed."


def add_questions(server: KnowledgeServer) -> None:
    """Register tools that ask the client something, as servers did up to 2025-11-25."""

    async def ask(ctx: AnyContext, message: str, schema: dict[str, Any]) -> str:
        answer = await ctx.session.elicit_form(message, {"type": "object", **schema}, ctx.request_id)
        return f"action={answer.action}, content={json.dumps(answer.content)}"

    @server.tool(description="Ask the client's model.")
    async def test_sampling(prompt: str, ctx: AnyContext) -> str:
        message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
        answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated] - as above
            [message], max_tokens=100, related_request_id=ctx.request_id
        )
        said = answer.content.text if isinstance(answer.content, TextContent) else ""
        return f"LLM response: {said}"

    @server.tool(description="Ask the user.")
    async def test_elicitation(message: str, ctx: AnyContext) -> str:
        fields = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        return f"User response: {await ask(ctx, message, {'properties': fields, 'required': ['username', 'email']})}"

    @server.tool(description="Ask the user, with defaults.")
    async def test_elicitation_sep1034_defaults(ctx: AnyContext) -> str:
        fields: dict[str, Any] = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        return f"Elicitation completed: {await ask(ctx, 'Fill in', {'properties': fields})}"

    @server.tool(description="Ask the user, with choices.")
    async def test_elicitation_sep1330_enums(ctx: AnyContext) -> str:
        options = ["option1", "option2", "option3"]
        names = ("First", "Second", "Third")
        titled = [{"const": f"value{n}", "title": f"{name} Option"} for n, name in enumerate(names, 1)]
        legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
        fields: dict[str, Any] = {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", **legacy},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        return f"Elicitation completed: {await ask(ctx, 'Choose', {'properties': fields})}"


def add_resources_and_prompts(server: KnowledgeServer) -> None:
    """Register the suite's resources and prompts."""

    @server.resource("test://static-text", mime_type="text/plain", description="Text.")
    def text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png", description="An image.")
    def binary() -> bytes:
        return PNG

    @server.resource("test://watched-resource", mime_type="text/plain", description="Something to watch.")
    def watched() -> str:
        return "Watched."

    @server.resource("test://template/{id}/data", mime_type="application/json", description="Data by id.")
    def data(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.prompt(description="Say something simple.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="Repeat the arguments.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(description="Embed a resource.")
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the suite's name
        embedded = resource(resourceUri, "Embedded resource content for testing.")
        return [UserMessage(embedded), UserMessage("Please process the embedded resource above.")]

    @server.prompt(description="Show an image.")
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(Image(data=PNG, format="png")), UserMessage("Please analyze the image above.")]


def add_methods(server: KnowledgeServer) -> None:
    """Answer the methods that the SDK's server class leaves out."""
    low = server._lowlevel_server  # pyright: ignore[reportPrivateUsage] - the SDK has no public way to do this

    async def accept(*_: object) -> EmptyResult:
        await anyio.lowlevel.checkpoint()
        return EmptyResult()

    low.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)


async def pause() -> None:
    """Let what was sent arrive as a message of its own."""
    with anyio.move_on_after(STEP):
        await anyio.Event().wait()


def build_fixture() -> KnowledgeServer:
    """Build our server with all of it."""
    server = build_server(lambda _: FakeKnowledge(), ["standards"], version="1")
    for add in (add_content, add_messages, add_questions, add_resources_and_prompts, add_methods, add_input_required):
        add(server)
    tools = server._tool_manager  # pyright: ignore[reportPrivateUsage] - a schema that no Python signature can say
    rich = tools.get_tool("json_schema_2020_12_tool")
    assert rich is not None
    rich.parameters = RICH_SCHEMA
    return server


class WithToken:
    """Add the token that the suite has no way to send, so that the authentication is part of what is tested."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the header."""
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], self._header]
        await self._app(scope, receive, send)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    builders = {
        "fixture": build_fixture,
        "product": lambda: build_server(lambda _: FakeKnowledge(), ["standards"], version="1"),
        "rag": lambda: build_server(lambda _: FakeLibrary(), ["rag"], version="1"),
    }
    built = builders[sys.argv[2]]()
    serve(WithToken(build_app(built, keys=KeyRing.of({"suite": "a-token"})), "a-token"), listen("127.0.0.1", 0))
