"""Tools of the conformance suite that need the client's input to go on, in the form of 2026-07-28."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    MissingRequiredClientCapabilityErrorData,
    SamplingCapability,
    SamplingMessage,
    TextContent,
)

from knowledge_mcp.transports.mcp.server import KnowledgeServer

MISSING_CAPABILITY = -32021
AnyContext = Context[Any, Any]
Answer = CallToolResult | InputRequiredResult


def elicit(message: str, field: str, kind: str = "string") -> ElicitRequest:
    """Ask the user for one value."""
    schema: dict[str, Any] = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str, max_tokens: int) -> CreateMessageRequest:
    """Ask the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


def done(text: str) -> CallToolResult:
    """Answer with text."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


def value(ctx: AnyContext, key: str, field: str) -> Any:
    """Return what the user filled in, None where nothing usable came."""
    answer = (ctx.input_responses or {}).get(key)
    return answer.content.get(field) if isinstance(answer, ElicitResult) and answer.content else None


def add_input_required(server: KnowledgeServer) -> None:
    """Register all of them."""
    _add_single_questions(server)
    _add_rounds(server)
    _add_capabilities(server)


def _add_single_questions(server: KnowledgeServer) -> None:
    @server.tool(description="Ask for a name.")
    async def test_input_required_result_elicitation(ctx: AnyContext) -> Answer:
        name = value(ctx, "user_name", "name")
        if isinstance(name, str):
            return done(f"Hello, {name}!")
        return InputRequiredResult(input_requests={"user_name": elicit("What is your name?", "name")})

    @server.tool(description="Ask a model.")
    async def test_input_required_result_sampling(ctx: AnyContext) -> Answer:
        answer = (ctx.input_responses or {}).get("capital_question")
        if isinstance(answer, CreateMessageResult) and isinstance(answer.content, TextContent):
            return done(answer.content.text)
        return InputRequiredResult(input_requests={"capital_question": sample("What is the capital of France?", 100)})

    @server.tool(description="Ask for roots.")
    async def test_input_required_result_list_roots(ctx: AnyContext) -> Answer:
        answer = (ctx.input_responses or {}).get("client_roots")
        if isinstance(answer, ListRootsResult):
            return done(", ".join(str(root.uri) for root in answer.roots))
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})

    @server.prompt(description="Ask for context.")
    async def test_input_required_result_prompt(ctx: AnyContext) -> Any:
        context = value(ctx, "user_context", "context")
        if isinstance(context, str):
            return f"Use this context: {context}"
        question = elicit("What context should the prompt use?", "context")
        return InputRequiredResult(input_requests={"user_context": question})


def _add_rounds(server: KnowledgeServer) -> None:
    async def confirm(ctx: AnyContext, state: str) -> Answer:
        if ctx.request_state == state and value(ctx, "confirm", "ok") is not None:
            return done("state-ok")
        return InputRequiredResult(
            input_requests={"confirm": elicit("Please confirm", "ok", "boolean")}, request_state=state
        )

    @server.tool(description="Ask, and get a state back.")
    async def test_input_required_result_request_state(ctx: AnyContext) -> Answer:
        return await confirm(ctx, "waiting-for-confirmation")

    @server.tool(description="Ask, and notice a state that was changed.")
    async def test_input_required_result_tampered_state(ctx: AnyContext) -> Answer:
        return await confirm(ctx, "sealed-by-the-server")

    @server.tool(description="Ask three things at once.")
    async def test_input_required_result_multiple_inputs(ctx: AnyContext) -> Answer:
        asked = {
            "user_name": elicit("What is your name?", "name"),
            "greeting": sample("Generate a greeting", 50),
            "client_roots": ListRootsRequest(),
        }
        if ctx.request_state and set(asked) <= set(ctx.input_responses or {}):
            return done("All answered.")
        return InputRequiredResult(input_requests=asked, request_state="waiting-for-three")

    @server.tool(description="Ask twice.")
    async def test_input_required_result_multi_round(ctx: AnyContext) -> Answer:
        if ctx.request_state == "round-2" and value(ctx, "step2", "color") is not None:
            return done("Both steps answered.")
        if ctx.request_state == "round-1" and value(ctx, "step1", "name") is not None:
            second = elicit("Step 2: What is your favorite color?", "color")
            return InputRequiredResult(input_requests={"step2": second}, request_state="round-2")
        first = elicit("Step 1: What is your name?", "name")
        return InputRequiredResult(input_requests={"step1": first}, request_state="round-1")


def _add_capabilities(server: KnowledgeServer) -> None:
    def declared(ctx: AnyContext) -> ClientCapabilities:
        return ctx.client_capabilities or ClientCapabilities()

    @server.tool(description="Ask only what the client can answer.")
    async def test_input_required_result_capabilities(ctx: AnyContext) -> Answer:
        able = declared(ctx)
        asked: dict[str, CreateMessageRequest | ListRootsRequest | ElicitRequest] = {}
        if able.elicitation is not None:
            asked["user_name"] = elicit("What is your name?", "name")
        if able.sampling is not None:
            asked["greeting"] = sample("Generate a greeting", 50)
        if not asked or set(asked) <= set(ctx.input_responses or {}):
            return done("Answered.")
        return InputRequiredResult(input_requests=asked)

    @server.tool(description="Need sampling.")
    async def test_missing_capability(ctx: AnyContext) -> str:
        if declared(ctx).sampling is None:
            needed = ClientCapabilities(sampling=SamplingCapability())
            data = MissingRequiredClientCapabilityErrorData(required_capabilities=needed)
            raise MCPError(
                code=MISSING_CAPABILITY,
                message="This tool needs sampling.",
                data=data.model_dump(by_alias=True, mode="json", exclude_none=True),
            )
        return "Sampling is there."

    @server.tool(description="Ask for a name in the answer's stream.")
    async def test_streaming_elicitation(ctx: AnyContext) -> Answer:
        if value(ctx, "user_name", "name") is not None:
            return done("Thank you.")
        return InputRequiredResult(input_requests={"user_name": elicit("What is your name?", "name")})
