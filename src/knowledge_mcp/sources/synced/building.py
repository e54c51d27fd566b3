"""Create each kind of registered source from its registration and the settings; check what may be registered."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.ingest import SourceKind, SourceSpec
from knowledge_mcp.ports import SyncedSource
from knowledge_mcp.sources.files import spelled
from knowledge_mcp.sources.git import source as git
from knowledge_mcp.sources.git.url import OWNED_HOSTS, check_branch, parse_url, repository_name, secrets_by_host
from knowledge_mcp.sources.synced.folders import FolderSource, RepositorySource, check_below
from knowledge_mcp.sources.synced.registered import SourceList
from knowledge_mcp.sources.synced.web import PageSource, SitemapSource, Visitor
from knowledge_mcp.sources.synced.webdav import WebDavSource
from knowledge_mcp.sources.web.address import WebAddress, parse_address
from knowledge_mcp.sources.web.fetcher import WebFetcher
from knowledge_mcp.support.distribution import Secret


class SourceOptions(git.GitOptions, Protocol):
    """The settings for registered sources."""

    @property
    def data_folder(self) -> Path: ...
    @property
    def source_logins(self) -> Secret | None: ...

    rag_fetch_max_bytes: int
    rag_fetch_timeout: float


# ---- what may be registered -----------------------------------------------------------------------------------------


def spec_of(location: str, kind: SourceKind | None, spec: SourceSpec) -> SourceSpec:
    """Check a registration, and determine its kind, location and name.

    Args:
        location: a folder's path, or an https address.
        kind: None to derive it from the location: an existing folder; a sitemap by its name; a repository by its host
            or `.git`; WebDAV by `davs://`; otherwise a page.
        spec: everything else; an empty name is derived from the location.

    Raises:
        NotFoundError: there is no such folder.
        InvalidInputError: the address, name, branch or folder inside a repository is invalid.
    """
    if not location.strip():
        raise InvalidInputError("No location was given.", suggestion="Give a folder or an address such as https://….")
    if location.startswith("davs://"):
        location, kind = f"https://{location.removeprefix('davs://')}", kind or SourceKind.WEBDAV
    kind = kind or _kind_of(location)
    if kind is SourceKind.FOLDER:
        path = spelled(location)
        if path.is_file():
            raise InvalidInputError(
                f"'{location[:200]}' is a file.",
                suggestion=f"Register its folder with --pattern '{path.name}', or ingest it with `knowledge-ingest`.",
            )
        if not path.is_dir():
            raise NotFoundError(f"There is no folder '{location[:200]}'.", suggestion="Check the path.")
        place, name = str(path), path.name
    elif kind is SourceKind.GIT:
        remote = parse_url(location)
        place, name = remote.text, remote.name
        check_below(spec.below)
        if spec.branch:
            check_branch(spec.branch)
    else:
        address = parse_address(location)
        place, name = address.url, _web_name(address)
        if kind is SourceKind.WEBDAV:  # with or without a trailing slash it is the same folder
            place = place.rstrip("/")
    if (spec.branch or spec.below) and kind is not SourceKind.GIT:
        raise InvalidInputError(
            "--branch and --below are only for git repositories.", suggestion="Omit them, or add --kind git."
        )
    if spec.patterns and kind in {SourceKind.PAGE, SourceKind.SITEMAP}:
        raise InvalidInputError(
            "--pattern is only for folders, git repositories and WebDAV.",
            suggestion="Omit it, or give the type of the address with --kind.",
        )
    name = spec.name or repository_name(name)
    if repository_name(name) != name:
        raise InvalidInputError(
            f"'{name[:80]}' is not a source name.", suggestion="Use letters, digits, '.', '_' and '-'."
        )
    return SourceSpec(name, kind, place, spec.every, spec.branch, check_below(spec.below), spec.patterns, spec.allow)


def _kind_of(location: str) -> SourceKind:
    if "://" not in location:
        return SourceKind.FOLDER
    parts = urlsplit(location)
    path = parts.path.lower()
    if path.endswith(".git") or (parts.hostname in OWNED_HOSTS and len(path.strip("/").split("/")) == 2):
        return SourceKind.GIT
    if "sitemap" in path.rpartition("/")[2] and path.endswith((".xml", ".xml.gz")):
        return SourceKind.SITEMAP
    return SourceKind.PAGE


def _web_name(address: WebAddress) -> str:
    last = unquote(address.path.rstrip("/").rpartition("/")[2])
    return f"{address.host}-{last}" if last else address.host


# ---- creating sources -----------------------------------------------------------------------------------------------


def folder(
    spec: SourceSpec, options: SourceOptions, memory: SourceList, environment: Mapping[str, str]
) -> SyncedSource:
    """Create the source of a local folder."""
    del environment
    return FolderSource(
        Path(spec.location),
        spec.patterns,
        own_data=options.data_folder,
        mounts=memory.mounts(spec.name),
        remember=lambda mounts: memory.remember_mounts(spec.name, mounts),
    )


def repository(
    spec: SourceSpec, options: SourceOptions, memory: SourceList, environment: Mapping[str, str]
) -> SyncedSource:
    """Create the source of a git repository of documents."""
    return RepositorySource(spec, git.from_options(options, folder=memory.clones, environment=environment))


def page(spec: SourceSpec, options: SourceOptions, memory: SourceList, environment: Mapping[str, str]) -> SyncedSource:
    """Create the source of one web page."""
    del environment
    return PageSource(spec.location, _visitor(spec, _fetcher(options, ()), memory))


def sitemap(
    spec: SourceSpec, options: SourceOptions, memory: SourceList, environment: Mapping[str, str]
) -> SyncedSource:
    """Create the source of a sitemap's pages."""
    del environment
    fetcher = _fetcher(options, ())
    return SitemapSource(spec.location, fetcher, _visitor(spec, fetcher, memory))


def webdav(
    spec: SourceSpec, options: SourceOptions, memory: SourceList, environment: Mapping[str, str]
) -> SyncedSource:
    """Create the source of a WebDAV folder.

    Raises:
        ConfigError: SOURCE_LOGINS cannot be parsed; names the position, never a password.
    """
    del environment
    logins = logins_of(options)
    fetcher = _fetcher(options, tuple(host.rsplit(":", 1)[0] if "]" not in host else host for host in logins))
    login = logins.get(parse_address(spec.location).place, "")
    return WebDavSource(
        spec.location, fetcher, _visitor(spec, fetcher, memory, login), login=login, patterns=spec.patterns
    )


def _visitor(spec: SourceSpec, fetcher: WebFetcher, memory: SourceList, login: str = "") -> Visitor:
    remember = partial(memory.remember, spec.name)
    return Visitor(fetcher, memory.visited(spec.name), remember, login=login)


def _fetcher(options: SourceOptions, known: tuple[str, ...]) -> WebFetcher:
    return WebFetcher(
        max_bytes=options.rag_fetch_max_bytes,
        timeout=options.rag_fetch_timeout,
        allowed_hosts=(*options.rag_fetch_allowed_hosts, *known),
    )


def logins_of(options: SourceOptions) -> dict[str, str]:
    """Parse `host=user:password` or `host=token`, separated by commas; return the value of `Authorization` by host.

    Raises:
        ConfigError: an entry has another form; names its position, never a password.
    """
    given = options.source_logins.get_secret_value() if options.source_logins is not None else ""
    advice = (
        "Write dav.example.com=USER:PASSWORD or dav.example.com=TOKEN, further ones after a comma; "
        "a comma or % in a password as %2C and %25."
    )
    found: dict[str, str] = {}
    for host, login in secrets_by_host(given, "SOURCE_LOGINS", "host=user:password", advice):
        user, colon, password = login.partition(":")
        basic = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
        found[host] = f"Basic {basic}" if colon else f"Bearer {unquote(login)}"
    return found
