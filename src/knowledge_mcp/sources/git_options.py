"""What clones of Git repositories read of the settings: their folder, and whose token goes to which host."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.sources.git import GitClones
from knowledge_mcp.sources.git_process import GitProgram
from knowledge_mcp.sources.git_url import permalink
from knowledge_mcp.support.secret import Secret

__all__ = ["GitOptions", "from_options", "permalink"]

_PROXIES = frozenset({"https_proxy", "all_proxy"})
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")


class GitOptions(Protocol):
    """The settings that clones depend on."""

    @property
    def repo_clone_path(self) -> Path: ...
    @property
    def github_pat(self) -> Secret | None: ...
    @property
    def git_tokens(self) -> Secret | None: ...
    @property
    def rag_fetch_allowed_hosts(self) -> tuple[str, ...]: ...


def from_options(
    options: GitOptions, *, environment: Mapping[str, str] | None = None, loopback_http: bool = False
) -> GitClones:
    """Build the clones from the settings.

    Args:
        options: the settings.
        environment: proxies and certificates for Git.
        loopback_http: whether plain http is accepted on this machine, for tests.

    Raises:
        ConfigError: GIT_TOKENS is not of the form `host=token,host=token`; names the place, never a token.
    """
    tokens: dict[str, str] = {}
    given = options.git_tokens.get_secret_value() if options.git_tokens is not None else ""
    for place, pair in enumerate((each.strip() for each in given.split(",") if each.strip()), 1):
        host, found, token = pair.partition("=")
        if not found or not token.strip() or not _HOST.fullmatch(host.strip()):
            raise ConfigError(
                f"Entry {place} of GIT_TOKENS is not of the form host=token.",
                suggestion="Write gitlab.example.com=TOKEN, further ones after a comma.",
            )
        tokens[host.strip()] = token.strip()
    if options.github_pat is not None:
        tokens["github.com"] = options.github_pat.get_secret_value()
    return GitClones(
        options.repo_clone_path,
        tokens=tokens,
        loopback_http=loopback_http,
        allowed_hosts=options.rag_fetch_allowed_hosts,
        proxied=any(each.lower() in _PROXIES and value for each, value in (environment or {}).items()),
        git=GitProgram(environment=environment),
    )
