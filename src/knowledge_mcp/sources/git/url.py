"""Addresses of repositories: which are accepted, the repository's name, and links to lines at one commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from knowledge_mcp.model.errors import ConfigError, InvalidInputError
from knowledge_mcp.sources.web.address import parse_address
from knowledge_mcp.sources.web.places import why_refused

_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_NAMED_HOST = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9.:\]-]{0,252}")
_SEGMENT = re.compile(r"[\w.~+-]+", re.ASCII)
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
_BAD_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|(?:^|/)\.|^[-/]|[/.]$|^@$")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
OWNED_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""Hosts on which each repository belongs to an account, whose name is the first part of the path."""
_LONGEST = 2000
_USERS: Mapping[str, str] = {"gitlab": "oauth2", "bitbucket": "x-token-auth"}
"""User names that hosts require with a token; others accept any."""


@dataclass(frozen=True, slots=True)
class RepositoryUrl:
    """The address of a repository that may be cloned.

    Attributes:
        text: the address given to Git; contains no credential.
        scheme: `https`, `http` (loopback only) or `file`.
        host: with the port if there is one; empty for `file`.
        name: the repository's name, safe as a folder name.
    """

    text: str
    scheme: str
    host: str
    name: str

    @property
    def user(self) -> str:
        """Return the user name to send with a token."""
        return next((user for part, user in _USERS.items() if part in self.host), "x-access-token")


def parse_url(text: str, *, loopback_http: bool = False, local: bool = False) -> RepositoryUrl:
    """Check an address: `https://host/…/name[.git]`, on `OWNED_HOSTS` with an owner, on GitHub `owner/name` (C 10.3).

    Args:
        text: the address as given.
        loopback_http: whether `http` and https to this machine are accepted, for local servers.
        local: whether a folder's path, or a `file` address, is accepted.

    Raises:
        InvalidInputError: the address is invalid; a credential in it is not repeated.
    """
    text = text.strip()
    if local and (text.startswith(("/", "./", "../", "~", "file:///"))):
        path = Path(text.removeprefix("file://")).expanduser().absolute()
        return RepositoryUrl(f"file://{path}", "file", "", repository_name(path.name))
    if len(text) > _LONGEST or not text.isprintable() or " " in text:
        raise _refusal("It is too long or has invalid characters.")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _refusal("It cannot be read.") from error
    if "@" in parts.netloc:
        raise _refusal(
            "It contains a user name or a token.",
            "Put it into GITHUB_PAT or GIT_TOKENS, not here.",
        )
    host = (parts.hostname or "").lower()
    here = host in _LOOPBACK
    if parts.scheme not in {"https", "http"} or (parts.scheme == "http" and not (here and loopback_http)):
        raise _refusal("It does not begin with https://.")
    if (here and not loopback_http) or not (_HOST.fullmatch(host) or here):
        raise _refusal("Its host is not allowed for cloning.")
    if not here:
        _check_host(host)
    if parts.query or parts.fragment:
        raise _refusal("It has a query or a fragment.", "Give the address as for `git clone`.")
    segments = [segment for segment in parts.path.split("/") if segment]
    if not segments or any(not _SEGMENT.fullmatch(one) or one.strip(".") == "" for one in segments):
        raise _refusal("Its path contains no repository.")
    if (host == "github.com" and len(segments) != 2) or (host in OWNED_HOSTS and len(segments) < 2):
        raise _refusal("Its path is not owner/name.")
    bracketed = f"[{host}]" if ":" in host else host
    place = f"{bracketed}:{port}" if port is not None else bracketed
    return RepositoryUrl(
        f"{parts.scheme}://{place}/{'/'.join(segments)}", parts.scheme, place, repository_name(segments[-1])
    )


def secrets_by_host(text: str, setting: str, form: str, advice: str) -> Iterator[tuple[str, str]]:
    """Yield hosts, in lower case and with the port if there is one, with their secrets.

    Args:
        text: `host=secret` entries, separated by commas.
        setting: the setting that contains it.
        form: the expected form, for the error message.
        advice: what to write instead.

    Raises:
        ConfigError: an entry has another form; names its position, never a secret.
    """
    for place, pair in enumerate((each.strip() for each in text.split(",") if each.strip()), 1):
        host, _, secret = pair.partition("=")
        if not secret.strip() or not _NAMED_HOST.fullmatch(host.strip()):
            raise ConfigError(f"Entry {place} of {setting} is not of the form {form}.", suggestion=advice)
        yield host.strip().lower(), secret.strip()


def is_loopback(host: str) -> bool:
    """Return whether a host name is this machine."""
    return host in _LOOPBACK


def _check_host(host: str) -> None:
    """Refuse ambiguous hosts and addresses that no repository has, by the rules for web pages."""
    try:
        literal = parse_address(f"https://{host}/").literal
    except InvalidInputError as error:
        raise _refusal(error.message.partition("accepted. ")[2]) from error
    why = why_refused(literal, private_accepted=True) if literal is not None else None
    if why is not None:
        raise _refusal(f"Its host is not allowed for cloning: {why}.")


def _refusal(why: str, suggestion: str = "Give an address such as https://github.com/owner/name.") -> InvalidInputError:
    return InvalidInputError(f"The address of the repository is not accepted. {why}", suggestion=suggestion)


def repository_name(text: str) -> str:
    """Derive a repository's name from an address: letters, digits, `.`, `_`, `-`, no leading dot or dash."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", text.removesuffix(".git")).lstrip(".-")[:100].rstrip(".")
    if name.endswith(".lock"):
        name = name.replace(".lock", "_lock")
    return name or "repository"


def check_branch(name: str) -> str:
    """Return a branch name if it is valid in Git.

    Raises:
        InvalidInputError: it is not.
    """
    if not name or len(name) > 250 or _BAD_BRANCH.search(name):
        raise InvalidInputError("This is not a branch name.", suggestion="Give a name such as main.")
    return name


def without_credentials(text: str) -> str:
    """Remove user names and tokens from every address in a text."""
    return _CREDENTIALS.sub("", text)


def permalink(url: str, commit: str, path: str, lines: tuple[int, int] | None = None) -> str | None:
    """Return the page that shows a file's lines at one commit; None if the host's URL format is unknown."""
    parts = urlsplit(without_credentials(url))
    host, base = parts.hostname or "", f"https://{parts.netloc}{parts.path.rstrip('/').removesuffix('.git')}"
    if parts.scheme != "https" or not commit:
        return None
    file = quote(path)
    first, last = lines or (0, 0)
    if "gitlab" in host:
        return f"{base}/-/blob/{commit}/{file}" + (f"#L{first}-{last}" if lines else "")
    if "bitbucket" in host:
        return f"{base}/src/{commit}/{file}" + (f"#lines-{first}:{last}" if lines else "")
    if "codeberg" in host or "gitea" in host or "forgejo" in host:
        return f"{base}/src/commit/{commit}/{file}" + (f"#L{first}-L{last}" if lines else "")
    if "github" in host:
        return f"{base}/blob/{commit}/{file}" + (f"#L{first}-L{last}" if lines else "")
    return None
