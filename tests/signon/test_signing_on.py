"""What a server answers to whoever shows a token, and to whoever has still to get one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.types import Message

from knowledge_mcp.transports.mcp.http import key_gate
from knowledge_mcp.transports.shared.admission import Admission, Admitted, ProtectedResource, Rejection
from knowledge_mcp.transports.shared.keys import Key, KeyRing
from knowledge_mcp.transports.shared.tokens import Issuer, TokenVerifier
from tests.rest.world import keys_file, make_world
from tests.signon.issuer import AUDIENCE, TestIssuer
from tests.transports.asgi import Echo, ask

pytestmark = pytest.mark.anyio

ROLES = {
    "keys": [{"name": "robot", "key": "robot-key"}],
    "roles": [
        {"group": "engineering", "read": ["eng*"], "write": ["eng-inbox"]},
        {"group": "staff", "read": ["docs"]},
        {"group": "admins", "read": ["*"], "write": ["*"], "groups": ["*"]},
    ],
}
METADATA = "https://kb.example.com/.well-known/oauth-protected-resource/mcp"


def resource_of(issuer: TestIssuer, **more: Any) -> ProtectedResource:
    client = more.pop("client", None)
    return ProtectedResource(AUDIENCE, TokenVerifier(Issuer(issuer.url, client=client), audiences=[AUDIENCE], **more))


def ring(folder: Path) -> KeyRing:
    return KeyRing(path=keys_file(folder, json.dumps(ROLES)))


def bearer(token: str) -> list[tuple[str, str]]:
    return [("host", "localhost"), ("authorization", f"Bearer {token}")]


async def test_who_has_no_token_is_told_where_to_sign_on(issuer: TestIssuer) -> None:
    app = key_gate(Echo(), Admission(KeyRing(), resource_of(issuer, scopes=["knowledge.read"])))
    answer = await ask(app)
    assert answer.status == 401
    challenge = answer.headers["www-authenticate"]
    assert challenge == f'Bearer realm="knowledge-mcp", scope="knowledge.read", resource_metadata="{METADATA}"'
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        result = await ask(app, path)
        assert result.status == 200
        assert json.loads(result.body) == {
            "resource": AUDIENCE, "authorization_servers": [issuer.url], "bearer_methods_supported": ["header"],
            "resource_name": "Knowledge", "scopes_supported": ["knowledge.read"],
        }  # fmt: skip
    assert (await ask(app, "/.well-known/oauth-protected-resource/other")).status == 401
    assert (await ask(app, "/.well-known/oauth-protected-resource", method="POST")).status == 401


async def test_without_an_issuer_there_is_no_metadata_and_no_word_of_it() -> None:
    app = key_gate(Echo(), Admission(KeyRing("k")))
    answer = await ask(app, "/.well-known/oauth-protected-resource")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="knowledge-mcp"')


async def test_keys_and_tokens_are_taken_side_by_side(issuer: TestIssuer, tmp_path: Path) -> None:
    echo = Echo()
    app = key_gate(echo, Admission(ring(tmp_path), resource_of(issuer)))
    assert (await ask(app, headers=bearer("robot-key"))).status == 200
    assert (await ask(app, headers=bearer(issuer.token(groups=["admins"])))).status == 200
    assert [each["user"].display_name for each in echo.asked] == ["robot", "oauth:alice"]


async def test_a_token_that_does_not_hold_says_why_in_the_challenge(issuer: TestIssuer) -> None:
    app = key_gate(Echo(), Admission(KeyRing(), resource_of(issuer, scopes=["more"])))
    wrong = await ask(app, headers=bearer(issuer.token(aud="other")))
    assert wrong.status == 401
    assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
    narrow = await ask(app, headers=bearer(issuer.token()))
    assert (narrow.status, narrow.error_code) == (403, "insufficient_scope")
    assert 'error="insufficient_scope", scope="more"' in narrow.headers["www-authenticate"]


async def test_an_issuer_that_is_down_is_a_failure_of_the_server_and_not_of_the_token(issuer: TestIssuer) -> None:
    issuer.answers.clear()
    app = key_gate(Echo(), Admission(KeyRing("key"), resource_of(issuer)))
    answer = await ask(app, headers=bearer(issuer.token()))
    assert (answer.status, answer.error_code, answer.headers["retry-after"]) == (503, "issuer_down", "30")
    assert (await ask(app, headers=bearer("key"))).status == 200


async def test_groups_have_the_rights_of_all_their_roles_together(issuer: TestIssuer, tmp_path: Path) -> None:
    admission = Admission(ring(tmp_path), resource_of(issuer))

    async def key(*groups: str) -> Key:
        judged = await admission.admit([f"Bearer {issuer.token(groups=list(groups))}"])
        assert isinstance(judged, Admitted)
        return judged.key

    both = await key("engineering", "staff", "elsewhere", "*")
    assert (both.read, both.write) == (("docs", "eng*"), ("eng-inbox",))
    assert both.groups == ("elsewhere", "engineering", "staff")
    assert (await key("admins")).may_do_everything
    nobody = await key()
    assert (nobody.read, nobody.write, nobody.may_read_totals) == ((), (), False)


async def test_without_roles_who_may_sign_on_reads_and_does_not_write(issuer: TestIssuer) -> None:
    judged = await Admission(KeyRing(), resource_of(issuer)).admit([f"Bearer {issuer.token()}"])
    assert isinstance(judged, Admitted)
    assert judged.key == Key("oauth:alice", ("*",), (), ("engineering",))
    assert not judged.key.may_read_totals


async def test_two_headers_and_other_schemes_let_nobody_in(issuer: TestIssuer) -> None:
    admission = Admission(KeyRing("key"), resource_of(issuer))
    token = f"Bearer {issuer.token()}"
    for given in ([], [token, token], ["Basic key"], ["Bearer"], ["Bearer "], [token.replace("Bearer", "DPoP")]):
        assert isinstance(await admission.admit(given), Rejection)


@pytest.mark.slow
async def test_a_stream_ends_when_its_token_is_taken_back_or_its_role_changes(
    issuer: TestIssuer, tmp_path: Path
) -> None:
    now = [0.0]
    issuer.active["opaque"] = {"active": True, **issuer.claims(groups=["admins"])}
    asked = Issuer(issuer.url, client=("kb", "secret"), clock=lambda: now[0])
    resource = ProtectedResource(AUDIENCE, TokenVerifier(asked, audiences=[AUDIENCE]))
    keys = KeyRing(path=keys_file(tmp_path, json.dumps(ROLES)))
    admission = Admission(keys, resource, clock=lambda: now[0])

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        streaming.set()
        while (await receive())["type"] != "http.disconnect":
            pass

    streaming = anyio.Event()
    app = key_gate(endless, admission)
    sent: list[Message] = []

    async def receive() -> Message:
        await anyio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in bearer("opaque")]
    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers, "client": ("192.0.2.7", 1)}
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(app, scope, receive, send)
            await streaming.wait()
            issuer.active.clear()
            now[0] = 59.0
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_the_rest_service_takes_tokens_with_the_rights_of_their_roles(issuer: TestIssuer, tmp_path: Path) -> None:
    async with make_world(keys=ring(tmp_path), key=None, resource=resource_of(issuer)) as world:

        async def get(path: str, token: str | None) -> Any:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            return await world.client.get(path, headers=headers)

        missing = await get("/collections", None)
        assert missing.status_code == 401
        assert f'resource_metadata="{METADATA}"' in missing.headers["WWW-Authenticate"]
        assert (await get("/.well-known/oauth-protected-resource", None)).json()["resource"] == AUDIENCE
        assert (await get("/collections", issuer.token(exp=1))).status_code == 401
        assert (await get("/collections", "robot-key")).status_code == 200
        assert (await get("/documents?collection=default", issuer.token(groups=["admins"]))).status_code == 200
        assert (await get("/documents?collection=default", issuer.token())).status_code == 404
        for groups, status in (([], 403), (["engineering"], 403), (["admins"], 200)):
            assert (await get("/metrics", issuer.token(groups=groups))).status_code == status


async def test_the_rest_service_answers_wrong_keys_as_before_where_no_tokens_are_taken(tmp_path: Path) -> None:
    async with make_world(keys=ring(tmp_path), key="wrong") as world:
        assert (await world.client.get("/collections")).status_code == 403
