"""Git repositories: our own clones, kept up to date, and working trees of others, which are only read."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.source import Checkout, FileChange, RemoteHead
from knowledge_mcp.sources.git.folder import CloneFolder, disk_error
from knowledge_mcp.sources.git.process import (
    CHECK_NETWORK,
    Cancelled,
    GitCall,
    GitProgram,
    changes_between,
    gitlinks,
    is_damage,
    is_redirect,
    uncommitted,
)
from knowledge_mcp.sources.git.url import (
    RepositoryUrl,
    check_branch,
    is_loopback,
    parse_url,
    repository_name,
    secrets_by_host,
    without_credentials,
)
from knowledge_mcp.sources.git.view import viewed
from knowledge_mcp.sources.web.address import Deadline, host_matches, parse_address
from knowledge_mcp.sources.web.places import Resolver, places_of, system_resolver
from knowledge_mcp.support.distribution import Secret
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.files import path_text, printable_path, remove_folder

_LOGGER = logging.getLogger(__name__)
_LOOK_UP_SECONDS = 30.0
"""The time in which a resolver tries two name servers twice."""
_REFERENCES = "/info/refs?service=git-upload-pack"
"""What Git asks first, and the only thing that a remote may redirect."""


class GitClones:
    """Keep clones of repositories, one folder each, below one folder. Thread- and process-safe.

    A clone is created next to its final path and then renamed, so that a folder with a repository's name is always
    complete. What an interrupted run left is removed by the next one. Nothing of a repository is executed: no hook,
    filter, submodule.

    Args:
        folder: of the clones; created with the first one.
        tokens: by host (`github.com`, with a port if it has one); a token is sent only to its host.
        git: the program.
        loopback_http: whether servers on this machine may be cloned from, also over http.
        allowed_hosts: hosts whose private addresses are accepted, like those of the hosts in `tokens`.
        proxied: whether a proxy connects to the hosts; it resolves their names itself.
        resolver: returns a host's addresses.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        tokens: Mapping[str, str] | None = None,
        git: GitProgram | None = None,
        loopback_http: bool = False,
        allowed_hosts: tuple[str, ...] = (),
        proxied: bool = False,
        resolver: Resolver = system_resolver,
    ) -> None:
        self._folder = CloneFolder(Path(folder).expanduser().absolute())
        self._tokens = {host.lower(): token for host, token in (tokens or {}).items() if token}
        self._git = git or GitProgram()
        self._loopback_http = loopback_http
        self._allowed = (*allowed_hosts, *(host.partition(":")[0] for host in self._tokens))
        self._proxied = proxied
        self._resolver = resolver

    def place(self, name: str) -> Path:
        """Return the folder of a clone, whether it exists or not.

        Raises:
            InvalidInputError: not a valid name for a clone.
        """
        return self._folder.place(name)

    def clone(
        self,
        url: str,
        *,
        name: str = "",
        branch: str = "",
        shallow: bool = True,
        fresh: bool = False,
        cancelled: Cancelled | None = None,
    ) -> Checkout:
        """Clone a repository, or return the existing clone.

        Args:
            url: `https://…`; see `parse_url`.
            name: instead of the last part of the address.
            branch: a branch or tag, instead of the remote's default branch.
            shallow: fetch one commit only.
            fresh: replace an existing clone.
            cancelled: called from time to time; returns whether to stop.

        Raises:
            InvalidInputError: an invalid address, branch or name; another repository has the name (also with `fresh`);
                there is no commit.
            NotFoundError, AuthError, ConnectionFailedError, TimedOutError, RateLimitedError, ConfigError,
            InternalError: as for `git_error`.
        """
        remote = parse_url(url, loopback_http=self._loopback_http)
        name = name or remote.name
        place = self.place(name)
        call = self._call(remote, branch=check_branch(branch) if branch else "", cancelled=cancelled)
        with self._folder.locked(name):
            if place.is_dir():
                existing = self._find_existing(name, place, remote, branch)
                if existing is not None and not fresh:
                    return existing
            return self._clone(name, place, remote, branch, call, shallow=shallow)

    def update(self, name: str, *, branch: str = "", cancelled: Cancelled | None = None) -> Checkout:
        """Update a clone to the current state of its remote, even after a forced push; a damaged clone is rebuilt.

        Args:
            name: name of the clone.
            branch: branch or tag to follow; by default the remote's current default branch.
            cancelled: called from time to time; returns whether to stop.

        Raises:
            NotFoundError: there is no such clone, or the requested branch no longer exists.
        """
        place = self.place(name)
        with self._folder.locked(name):
            if not place.is_dir():
                raise NotFoundError(f"There is no clone '{name}'.", suggestion="Index the repository by its URL.")
            remote = self._remote_of(name, place)
            call = self._call(remote, branch=check_branch(branch) if branch else "", cancelled=cancelled, trusted=place)
            head = self._head(remote, call)
            shallow = (place / ".git" / "shallow").exists()
            try:
                self._fetch(place, head, call, shallow=shallow)
                return self._describe(name, place, remote, call)
            except KnowledgeError as error:
                if not is_damage(error):
                    raise
                log_event(_LOGGER, logging.WARNING, "clone_damaged", repository=name, reason=error.message)
            return self._clone(name, place, remote, head.branch, call, shallow=shallow)

    def remote_head(self, url: str, *, branch: str = "") -> RemoteHead:
        """Return the commit of a branch on its remote, without a clone; the default branch if none is named.

        Raises:
            NotFoundError: there is no such branch.
            InvalidInputError: the repository has no commit.
        """
        remote = parse_url(url, loopback_http=self._loopback_http)
        return self._head(remote, self._call(remote, branch=check_branch(branch) if branch else ""))

    def changes(self, folder: Path, old: str, new: str) -> tuple[FileChange, ...] | None:
        """List the changes between two commits; None if the repository no longer has one of them."""
        if folder.parent == self._folder.path:
            return changes_between(self._git, folder, old, new, GitCall(folder.name, trusted=folder))
        with viewed(self._git, folder, GitCall(folder.name)) as view:
            return None if view is None else changes_between(self._git, folder, old, new, view.call)

    def open(self, name: str) -> Checkout:
        """Return the present state of a clone.

        Raises:
            NotFoundError: there is no clone of that name.
        """
        place = self.place(name)
        if not place.is_dir():
            raise NotFoundError(f"There is no clone '{name}'.", suggestion="Index the repository by its URL.")
        remote = self._remote_of(name, place)
        return self._describe(name, place, remote, self._call(remote, trusted=place))

    def remove(self, name: str) -> bool:
        """Remove a clone; return whether there was one."""
        return self._folder.remove(name)

    def worktree(self, path: str | os.PathLike[str], *, name: str = "") -> Checkout:
        """Return the state of a local folder, a repository or not, with its uncommitted changes; it is only read.

        Raises:
            NotFoundError: there is no such folder.
            InvalidInputError: the repository belongs to another user, or is bare.
        """
        folder = Path(os.path.realpath(Path(path).expanduser()))
        if not folder.is_dir():
            raise NotFoundError(
                f"{printable_path(folder)} is not a folder."
                if folder.exists()
                else f"There is no folder {printable_path(folder)}.",
                suggestion="Check the path; for a remote repository, give its https address.",
            )
        if all((folder / each).exists() for each in ("HEAD", "objects", "refs")):
            raise InvalidInputError(
                f"{printable_path(folder)} is a repository without files: a bare one or a .git folder.",
                suggestion="Index the folder of its files, or a clone of it.",
            )
        name = repository_name(name or folder.name)
        with viewed(self._git, folder, GitCall(f"the folder {name}")) as view:
            if view is None:
                return Checkout(name, "", folder, "", "", local=True)
            head, short = ["rev-parse", "--verify", "--quiet", "HEAD"], ["symbolic-ref", "--quiet", "--short", "HEAD"]
            _, commit = self._git.run(head, view.call, folder=folder, allowed=(0, 1))
            _, branch = self._git.run(short, view.call, folder=folder, allowed=(0, 1))
            changes = uncommitted(self._git, folder, view.call)
            submodules = gitlinks(self._git, folder, view.call)
            inside = [*(each.path for each in changes if each.path.endswith("/")), *submodules]
            return Checkout(
                name=name,
                url=without_credentials(view.remote.partition("?")[0]),
                folder=folder,
                branch=_line(branch),
                commit=_line(commit),
                local=True,
                dirty=tuple(each for each in changes if not each.path.endswith("/")),
                absent=tuple(path_text(each) for each in submodules if not (folder / each / ".git").exists()),
                nested=tuple(self.worktree(each) for path in inside if _is_repository(each := folder / path, folder)),
            )

    def is_pushed(self, folder: Path, commit: str) -> bool:
        """Return whether a branch of `origin`, as last fetched, contains a commit of a local repository."""
        with viewed(self._git, folder, GitCall(folder.name)) as view:
            if view is None:
                return False
            contains = ["for-each-ref", "--count=1", "--contains", commit, "refs/remotes/origin"]
            status, found = self._git.run(contains, view.call, folder=folder, allowed=(0, 129))  # 129: no such commit
            return status == 0 and bool(found.strip())

    # ---- parts

    def _call(
        self,
        remote: RepositoryUrl,
        *,
        branch: str = "",
        cancelled: Cancelled | None = None,
        trusted: Path | None = None,
    ) -> GitCall:
        token = self._tokens.get(remote.host, "")
        place = functools.partial(self._place_of, remote, cancelled) if remote.scheme == "https" else None
        return GitCall(remote.text, remote, token, branch, trusted, cancelled, place, self._folder.path)

    def _ask(self, arguments: Sequence[str], call: GitCall, folder: Path | None = None) -> bytes:
        """Run a command that connects to the remote; if that redirects, the target is checked like its address."""
        try:
            return self._git.run(arguments, call, folder=folder)[1]
        except InvalidInputError as error:
            remote = call.url
            if remote is None or call.place is None or call.token or self._proxied or not is_redirect(error):
                raise
            from knowledge_mcp.sources.web.fetcher import WebFetcher

            fetcher = WebFetcher(timeout=_LOOK_UP_SECONDS, allowed_hosts=self._allowed, resolver=self._resolver)
            found = fetcher.destination(f"{remote.text}{_REFERENCES}", cancelled=call.cancelled)
            if not found.endswith(_REFERENCES):
                raise
        target = parse_url(found.removesuffix(_REFERENCES))
        place = functools.partial(self._place_of, target, call.cancelled)
        call = replace(call, url=target, place=place, instead_of=remote.text)
        return self._git.run(arguments, call, folder=folder)[1]

    def _place_of(self, remote: RepositoryUrl, cancelled: Cancelled | None) -> str:
        """Resolve a remote's host once, and check all its addresses by the rules for web pages."""
        address = parse_address(remote.text)
        accepted = host_matches(address.host, self._allowed) or (self._loopback_http and is_loopback(address.host))
        if self._proxied and address.literal is None:
            return ""
        deadline = Deadline(_LOOK_UP_SECONDS, cancelled, clock=time.monotonic)
        try:
            addresses = places_of(address, self._resolver, deadline, private_accepted=accepted)
        except ConnectionFailedError as exc:
            raise ConnectionFailedError(exc.message, details=exc.details, suggestion=CHECK_NETWORK) from exc
        listed = ",".join(f"[{each}]" if each.version == 6 else str(each) for each in addresses)
        return f"{address.host}:{address.port}:{listed}" if address.literal is None else ""

    def _clone(
        self, name: str, place: Path, remote: RepositoryUrl, branch: str, call: GitCall, *, shallow: bool
    ) -> Checkout:
        partial = self._folder.beside(name)
        options = ["--progress", "--single-branch", "--no-tags", "--no-recurse-submodules", "--template=", "--no-local"]
        options += ["--no-checkout"]
        options += ["--depth=1"] if shallow else []
        options += [f"--branch={branch}"] if branch else []
        started = time.monotonic()
        try:
            self._ask(["clone", *options, "--", remote.text, str(partial)], call)
            inside = GitCall(call.what, trusted=partial)
            code, _ = self._git.run(
                ["rev-parse", "--verify", "--quiet", "HEAD"], inside, folder=partial, allowed=(0, 1, 128)
            )
            if code != 0:
                raise self._without_head(remote, call)
            writing = replace(inside, cancelled=call.cancelled, writes=call.writes)
            self._check_size(partial, "HEAD", writing)
            self._git.run(["reset", "--hard", "--quiet"], writing, folder=partial)
            if place.exists():
                self._folder.discard(place)
            partial.rename(place)
        except OSError as error:
            raise disk_error(name, error) from error
        finally:
            remove_folder(partial)
        checkout = self._describe(name, place, remote, call)
        log_event(
            _LOGGER,
            logging.INFO,
            "repository_cloned",
            repository=name,
            commit=checkout.commit,
            seconds=round(time.monotonic() - started, 3),
        )
        return checkout

    def _find_existing(self, name: str, place: Path, remote: RepositoryUrl, branch: str) -> Checkout | None:
        """Return the existing clone of that name; None if it must be replaced: damaged, or of another branch."""
        try:
            current = self._remote_of(name, place)
            if _plain(current.text) != _plain(remote.text):
                raise InvalidInputError(
                    f"Another repository is already called {name}.",
                    details=f"It comes from {current.text}.",
                    suggestion="Choose another name for the new one, or remove the other first.",
                )
            checkout = self._describe(name, place, remote, GitCall(remote.text, trusted=place))
        except KnowledgeError as error:
            if not (is_damage(error) or isinstance(error, NotFoundError)):
                raise
            return None
        return checkout if not branch or branch == checkout.branch else None

    def _remote_of(self, name: str, place: Path) -> RepositoryUrl:
        call = GitCall(f"the clone {name}", trusted=place)
        arguments = ["config", "--file", str(place / ".git" / "config"), "--get", "remote.origin.url"]
        code, url = self._git.run(arguments, call, allowed=(0, 1, 3, 128))
        if code != 0:
            raise NotFoundError(
                f"The clone {name} is damaged: its origin is unknown.",
                details="not a git repository",
                suggestion="Remove it, and index the repository by its address.",
            )
        return parse_url(_line(url), loopback_http=self._loopback_http)

    def _head(self, remote: RepositoryUrl, call: GitCall) -> RemoteHead:
        prefixes = ("refs/heads/", "refs/tags/") if call.branch else ("",)
        references = [prefix + (call.branch or "HEAD") for prefix in prefixes]
        branch, found = (
            call.branch,
            self._listed(remote, call, "--symref", *references, *(f"{each}^{{}}" for each in references)),
        )
        if (default := found.pop("ref: HEAD", "")).startswith("refs/heads/"):
            branch = default.removeprefix("refs/heads/")
        for reference in references:
            if reference in found:  # the commit of an annotated tag is listed after it
                followed = f"refs/heads/{branch}" if branch and reference == "HEAD" else reference
                return RemoteHead(branch, found.get(f"{reference}^{{}}", found[reference]), followed)
        if call.branch:
            raise NotFoundError(
                f"{call.what} has no branch {call.branch}.",
                suggestion="Check the branch name, or omit it for the default branch.",
            )
        raise self._without_head(remote, call)

    def _listed(self, remote: RepositoryUrl, call: GitCall, *arguments: str) -> dict[str, str]:
        """List references of a remote with their commits; `ref: HEAD` has the branch that HEAD names."""
        options = [each for each in arguments if each.startswith("-")]
        patterns = arguments[len(options) :]
        output = self._ask(["ls-remote", *options, "--", remote.text, *patterns], call)
        rows = (line.partition("\t") for line in output.decode("utf-8", "replace").splitlines())
        return dict(
            (f"ref: {name}", value.removeprefix("ref: ")) if value.startswith("ref: ") else (name, value)
            for value, _, name in rows
        )

    def _without_head(self, remote: RepositoryUrl, call: GitCall) -> KnowledgeError:
        """Distinguish an empty repository from one whose default branch is missing, for example after a rename."""
        names = [each.removeprefix("refs/heads/") for each in self._listed(remote, call, "--heads")]
        if not names:
            return InvalidInputError(f"{remote.text} has no commit yet.", suggestion="Index it when it has a commit.")
        return NotFoundError(
            f"{remote.text} has a default branch that does not exist.",
            details=f"Its branches: {', '.join(names[:20])}.",
            suggestion=f"Index it with one of its branches (--branch), such as {names[0]}.",
        )

    def _fetch(self, place: Path, head: RemoteHead, call: GitCall, *, shallow: bool) -> None:
        """Fetch a branch or tag and check out its commit."""
        _unlock(place)
        branch = check_branch(head.branch) if head.reference.startswith("refs/heads/") else ""
        target = f"refs/remotes/origin/{branch}" if branch else "refs/kept"
        options = ["--progress", "--force", "--no-tags", "--no-recurse-submodules"]
        options += ["--depth=1"] if shallow else []
        self._ask(["fetch", *options, "--", "origin", f"+{head.reference}:{target}"], call, place)
        inside = GitCall(call.what, trusted=place, cancelled=call.cancelled, writes=call.writes)
        self._check_size(place, target, inside)
        where = ["-B", branch] if branch else ["--detach"]
        _, before = self._git.run(["rev-parse", "--quiet", "HEAD"], inside, folder=place, allowed=(0, 1, 128))
        try:
            self._git.run(["checkout", "--force", "--quiet", *where, target, "--"], inside, folder=place)
            self._git.run(["reset", "--hard", "--quiet", target, "--"], inside, folder=place)
            self._git.run(["clean", "-ffdxq"], inside, folder=place)
        except KnowledgeError:  # part of a tree that does not fit would fill the disk, a little more at each update
            _unlock(place)
            undo = GitCall(call.what, trusted=place)
            with contextlib.suppress(KnowledgeError):
                self._git.run(["reset", "--hard", "--quiet", _line(before), "--"], undo, folder=place)
                self._git.run(["clean", "-ffdxq"], undo, folder=place)
            raise

    def _check_size(self, place: Path, commit: str, call: GitCall) -> None:
        """Refuse more files than can be listed before any is written: a few small trees can hold any number of them."""
        self._git.run(["ls-tree", "-r", "-z", "--name-only", commit, "--"], call, folder=place)

    def _describe(self, name: str, place: Path, remote: RepositoryUrl, call: GitCall) -> Checkout:
        inside = GitCall(call.what, trusted=place)
        _, commit = self._git.run(["rev-parse", "--verify", "HEAD^{commit}"], inside, folder=place)
        _, branch = self._git.run(["symbolic-ref", "--quiet", "--short", "HEAD"], inside, folder=place, allowed=(0, 1))
        shallow = (place / ".git" / "shallow").exists()
        absent = tuple(map(path_text, gitlinks(self._git, place, inside)))
        return Checkout(name, remote.text, place, _line(branch), _line(commit), shallow, absent=absent)


def _unlock(place: Path) -> None:
    """Remove the locks of a killed run in a clone; only ours is running now."""
    for stale in (place / ".git").glob("*.lock"):
        stale.unlink(missing_ok=True)


def _is_repository(inner: Path, folder: Path) -> bool:
    """Return whether a folder is really inside another one, and is itself a repository."""
    return inner != folder and Path(os.path.realpath(inner)) == inner and (inner / ".git").exists()


def _line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip()


def _plain(url: str) -> str:
    return url.removesuffix("/").removesuffix(".git").casefold()


# ---- settings -------------------------------------------------------------------------------------------------------

_PROXIES = frozenset({"https_proxy", "all_proxy"})


class GitOptions(Protocol):
    """The settings for clones."""

    repo_clone_path: Path

    @property
    def github_pat(self) -> Secret | None: ...
    @property
    def git_tokens(self) -> Secret | None: ...

    rag_fetch_allowed_hosts: tuple[str, ...]


def from_options(
    options: GitOptions,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    loopback_http: bool = False,
) -> GitClones:
    """Create the clones from the settings.

    Args:
        options: the settings.
        folder: of the clones, instead of REPO_CLONE_PATH.
        environment: proxies and certificates for Git.
        loopback_http: whether plain http is accepted on this machine, for tests.

    Raises:
        ConfigError: GIT_TOKENS does not have the form `host=token,host=token`; names the position, never a token.
    """
    given = options.git_tokens.get_secret_value() if options.git_tokens is not None else ""
    advice = "Use gitlab.example.com=TOKEN; separate several by commas."
    tokens = dict(secrets_by_host(given, "GIT_TOKENS", "host=token", advice))
    if options.github_pat is not None:
        tokens["github.com"] = options.github_pat.get_secret_value()
    return GitClones(
        folder or options.repo_clone_path,
        tokens=tokens,
        loopback_http=loopback_http,
        allowed_hosts=options.rag_fetch_allowed_hosts,
        proxied=any(each.lower() in _PROXIES and value for each, value in (environment or {}).items()),
        git=GitProgram(environment=environment),
    )
