"""Settings for access: tokens of an OAuth issuer, and the access log."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from knowledge_mcp.settings.groups import Words, setting
from knowledge_mcp.support.hosts import is_loopback

_sign = partial(setting, group="Signing on")


class AccessSettings(BaseModel, defer_build=True):
    """Whose tokens are accepted, what they must contain, and where accesses are logged."""

    oauth_issuer: str | None = _sign(
        "OAUTH_ISSUER", None,
        "Address of the OAuth 2.1 or OpenID Connect issuer whose access tokens `knowledge-mcp` over HTTP and "
        "`rag-api` accept in addition to their keys. Needs OAUTH_RESOURCE.",
        key="OAUTH_INTROSPECTION_CLIENT_SECRET", widens=True, example="https://login.example.com/realms/work",
    )  # fmt: skip
    oauth_resource: str | None = _sign(
        "OAUTH_RESOURCE", None,
        "Address of this server as clients reach it; published in its metadata (RFC 9728).",
        widens=True, example="https://kb.example.com/mcp",
    )  # fmt: skip
    oauth_audience: Words = _sign(
        "OAUTH_AUDIENCE", (),
        "Comma-separated audiences; a token must have one of them. Unset: OAUTH_RESOURCE.",
        widens=True, example="api://kb",
    )  # fmt: skip
    oauth_scopes: Words = _sign(
        "OAUTH_SCOPES", (), "Comma-separated scopes; a token must have all of them.", example="knowledge.read"
    )
    oauth_groups_claim: str = _sign(
        "OAUTH_GROUPS_CLAIM", "groups",
        "Claim of a token that lists the groups of its subject; separate nested claims by dots.",
        widens=True, example="realm_access.roles",
    )  # fmt: skip
    oauth_introspection_client_id: str | None = _sign(
        "OAUTH_INTROSPECTION_CLIENT_ID", None,
        "Client id for checking every token with the issuer (token introspection, RFC 7662). Unset: only JWTs are "
        "accepted, and a token that the issuer revokes stays valid until it expires.",
        example="knowledge-mcp",
    )  # fmt: skip
    oauth_introspection_client_secret: SecretStr | None = _sign(
        "OAUTH_INTROSPECTION_CLIENT_SECRET", None, "Secret of the introspection client.", example="your-secret"
    )
    audit_log: Path | None = _sign(
        "AUDIT_LOG", None,
        "File to which `knowledge-mcp` and `rag-api` append who read which documents with which tool, as one JSON "
        "object per line, without document text or questions. Unset: no audit log is written.",
        example="/var/log/knowledge-mcp/audit.jsonl",
    )  # fmt: skip


def signing_on_problems(settings: AccessSettings) -> list[str]:
    """List problems between the settings for tokens, and invalid forms."""
    problems: list[str] = []
    if (settings.oauth_issuer is None) != (settings.oauth_resource is None):
        problems.append("OAUTH_ISSUER and OAUTH_RESOURCE must be set together.")
    for name, url in (("OAUTH_ISSUER", settings.oauth_issuer), ("OAUTH_RESOURCE", settings.oauth_resource)):
        if url is not None and not _is_address(url):
            problems.append(f"{name} must be an https address (http on this machine only) without query and fragment.")
    pair = (settings.oauth_introspection_client_id, settings.oauth_introspection_client_secret)
    if (pair[0] is None) != (pair[1] is None):
        problems.append("OAUTH_INTROSPECTION_CLIENT_ID and OAUTH_INTROSPECTION_CLIENT_SECRET must be set together.")
    if any(
        not scope.isascii() or not scope.isprintable() or set(scope) & set(' "\\') for scope in settings.oauth_scopes
    ):
        problems.append("OAUTH_SCOPES contains an invalid scope name.")
    return problems


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and not set(url) & set(' "\\?#') and parts.username is None
    return bool(host) and plain and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))
