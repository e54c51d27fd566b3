"""What Git says when it fails, as errors of ours."""

from __future__ import annotations

import re

from knowledge_mcp.model.errors import (
    AuthError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
)
from knowledge_mcp.sources.git_url import without_credentials

__all__ = ["git_error", "is_damage", "quoted"]

_LONGEST = 600
_PROGRESS = re.compile(
    r"^(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Updating|Total|Cloning)\b"
)

_SPACE = re.compile(r"no space left on device|disk quota exceeded|unable to write file|file too large", re.IGNORECASE)
_NAME = re.compile(r"invalid path '|file name too long", re.IGNORECASE)
_DENIED = re.compile(
    r"could not read (?:username|password)|authentication failed|invalid (?:username|credentials)|access denied"
    r"|returned error: 40[13]|support for password authentication was removed|bad credentials",
    re.IGNORECASE,
)
_NO_BRANCH = re.compile(r"remote branch .* not found|couldn't find remote ref|remote ref does not exist", re.IGNORECASE)
_MISSING = re.compile(
    r"repository .{0,400}not found|returned error: 404|does not appear to be a git repository|does not exist"
    r"|not valid: is this a git repository",
    re.IGNORECASE,
)
_MOVED = re.compile(r"returned error: 30\d|unable to update url base from redirection", re.IGNORECASE)
_BUSY = re.compile(r"returned error: 429|rate limit", re.IGNORECASE)
_OFFLINE = re.compile(
    r"could not resolve|failed to connect|couldn't connect|connection (?:refused|reset|timed out)|timed out|early eof"
    r"|unable to access|rpc failed|hung up|operation too slow|network is unreachable|unexpected disconnect"
    r"|returned error: 5\d\d|no route to host|index-pack failed|fetch-pack|invalid index-pack output",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(r"ssl|certificate|tls", re.IGNORECASE)
_OWNER = re.compile(r"dubious ownership", re.IGNORECASE)
_NO_REPOSITORY = re.compile(r"not a git repository", re.IGNORECASE)
_FORBIDDEN = re.compile(r"transport '.{0,300}' not allowed|protocol .{0,300} not (?:allowed|supported)", re.IGNORECASE)
_DAMAGE = re.compile(
    r"object file .{0,300} is empty|loose object .{0,300} is corrupt|bad object"
    r"|unable to read (?:tree|sha1)|bad signature"
    r"|index file (?:corrupt|smaller)|not a git repository|packfile .{0,300} cannot be accessed|reference broken"
    r"|did not receive expected object|missing (?:blob|tree)|bad index file|unknown index entry|invalid sha1"
    r"|shallow file has changed|unable to resolve reference|needed a single revision|not a valid ref",
    re.IGNORECASE,
)


def quoted(said: bytes | str, secrets: tuple[str, ...] = ()) -> str:
    """Return what Git said, without progress, credentials and secrets, cut to what helps."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    lines = [line.strip() for line in re.split(r"[\r\n]+", text)]
    kept = without_credentials("; ".join(line for line in lines if line and not _PROGRESS.match(line)))
    for secret in secrets:
        kept = kept.replace(secret, "***") if secret else kept
    kept = "".join(character if character.isprintable() else "?" for character in kept)
    return kept[:_LONGEST]


def is_damage(error: KnowledgeError) -> bool:
    """Tell whether an error speaks of a clone that is damaged, and that a new one would mend."""
    return _DAMAGE.search(error.details) is not None


def git_error(said: str, *, what: str, branch: str = "", token: bool = False) -> KnowledgeError:
    """Make the error of what Git said.

    Args:
        said: as `quoted` returns it.
        what: the repository, as the user may see it.
        branch: the branch that was asked for.
        token: whether a token was sent.
    """
    if _SPACE.search(said):
        return InternalError(
            f"There is no room on the disk for {what}.",
            details=said,
            suggestion="Free space, or set REPO_CLONE_PATH to a larger disk.",
            recoverable=True,
        )
    if _NAME.search(said):
        return InvalidInputError(
            f"{what} holds a file name that leads out of it, or that this machine cannot have.",
            details=said,
            suggestion="Clone it by hand without that file, and index the folder.",
        )
    if _NO_BRANCH.search(said):
        return NotFoundError(
            f"{what} has no branch {branch}." if branch else f"{what} no longer has the branch.",
            details=said,
            suggestion="Check the branch's name, or leave it out for the default branch.",
        )
    if _MOVED.search(said):
        return InvalidInputError(
            f"{what} has moved to another address.", details=said, suggestion="Use its new address."
        )
    if _BUSY.search(said):
        return RateLimitedError(f"The host of {what} asks to wait.", details=said)
    if _DENIED.search(said):
        return _denied(said, what, token=token)
    if _FORBIDDEN.search(said):
        return InvalidInputError(f"{what} is not reached by https.", details=said, suggestion="Use its https address.")
    return _unreachable(said, what, token=token)


def _denied(said: str, what: str, *, token: bool) -> AuthError:
    if token:
        return AuthError(
            f"The token was refused for {what}.",
            details=said,
            suggestion="Check that GITHUB_PAT (or GIT_TOKENS) is valid, has not expired, and may read it.",
        )
    return AuthError(
        f"{what} is private, or not there: it wants a token.",
        details=said,
        suggestion="Set GITHUB_PAT, or GIT_TOKENS for another host, to a token that may read it, or check the address.",
    )


def _unreachable(said: str, what: str, *, token: bool) -> KnowledgeError:
    if _OWNER.search(said):
        return InvalidInputError(
            f"{what} belongs to another user of this machine.",
            details=said,
            suggestion="Index it as its owner, or change its owner.",
        )
    if _MISSING.search(said) and not _NO_REPOSITORY.search(said):
        hint = "" if token else " A private repository needs GITHUB_PAT, or GIT_TOKENS on another host."
        return NotFoundError(f"There is no repository {what}.", details=said, suggestion=f"Check the address.{hint}")
    if _NO_REPOSITORY.search(said):
        return NotFoundError(f"{what} is not a Git repository.", details=said, suggestion="Check the path.")
    if _OFFLINE.search(said):
        why = " Its certificate was not accepted." if _CERTIFICATE.search(said) else ""
        return ConnectionFailedError(
            f"{what} could not be reached.{why}",
            details=said,
            suggestion="Check the network, a proxy (HTTPS_PROXY) and the address, then try again.",
        )
    return InternalError(f"Git failed on {what}.", details=said)
