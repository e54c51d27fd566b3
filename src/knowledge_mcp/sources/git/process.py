"""The `git` program as a child process: no shell, no user configuration, always with a time limit.

No hook, helper, filter, submodule or protocol other than the allowed one can run. A token is passed to Git in its
environment, as a header for one address, and is in no argument, address, file or log.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.model.source import ChangeKind, FileChange
from knowledge_mcp.sources.git.url import RepositoryUrl, without_credentials
from knowledge_mcp.sources.git.watching import bound, read_all, watch_disk
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.support.system.processes import end_tree, start_tree

_LONGEST = 600
_PROGRESS = re.compile(
    r"^(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Resolving|Updating|Total|Cloning)\b"
)

_SPACE = re.compile(r"no space left on device|disk quota exceeded|unable to write file|file too large", re.IGNORECASE)
_MEMORY = re.compile(
    r"out of memory|memory exhausted|too large to fit into virtual memory|cannot allocate memory", re.IGNORECASE
)
_NAME = re.compile(r"invalid path '|file name too long", re.IGNORECASE)
_DENIED = re.compile(
    r"could not read (?:username|password)|authentication failed|invalid (?:username|credentials)|access denied"
    r"|returned error: 40[13]|support for password authentication was removed|bad credentials",
    re.IGNORECASE,
)
_NO_BRANCH = re.compile(
    r"remote branch .{1,400} not found|couldn't find remote ref|remote ref does not exist", re.IGNORECASE
)
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
    r"|shallow file has changed|unable to resolve reference|needed a single revision|not a valid ref"
    r"|cannot lock ref",
    re.IGNORECASE,
)


def quoted(output: bytes | str, secrets: tuple[str, ...] = ()) -> str:
    """Return Git's message, without progress, credentials and secrets, shortened to what helps."""
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    lines = [line.strip() for line in re.split(r"[\r\n]+", text)]
    cleaned = without_credentials("; ".join(line for line in lines if line and not _PROGRESS.match(line)))
    for secret in secrets:
        cleaned = cleaned.replace(secret, "***") if secret else cleaned
    cleaned = "".join(character if character.isprintable() else "?" for character in cleaned)
    return cleaned[:_LONGEST]


def is_damage(error: KnowledgeError) -> bool:
    """Return whether an error message means a damaged clone that a new one would repair."""
    return _DAMAGE.search(error.details) is not None


def is_redirect(error: KnowledgeError) -> bool:
    """Return whether an error message means that the remote redirects, which Git does not follow."""
    return _MOVED.search(error.details) is not None


CHECK_NETWORK = "Check the network, a proxy (HTTPS_PROXY) and the address, then try again."
"""What to do if a remote cannot be reached."""


def git_error(message: str, *, what: str, branch: str = "", token: bool = False) -> KnowledgeError:
    """Build the error for a message of Git.

    Args:
        message: as returned by `quoted`.
        what: the repository, as shown to the user.
        branch: the requested branch.
        token: whether a token was sent.
    """
    if _SPACE.search(message):
        return InternalError(
            f"There is not enough disk space for {what}.",
            details=message,
            suggestion="Free space, or set REPO_CLONE_PATH to a larger disk.",
            recoverable=True,
        )
    if _NAME.search(message):
        return InvalidInputError(
            f"{what} contains a file name that leads out of it, or that this system does not allow.",
            details=message,
            suggestion="Clone it yourself without that file, and index the folder.",
        )
    if _NO_BRANCH.search(message):
        return NotFoundError(
            f"{what} has no branch {branch}." if branch else f"{what} no longer has the branch.",
            details=message,
            suggestion="Check the branch name, or omit it for the default branch.",
        )
    if _MOVED.search(message):
        return InvalidInputError(
            f"{what} has moved to another address.", details=message, suggestion="Use its new address."
        )
    if _BUSY.search(message):
        return RateLimitedError(f"The host of {what} is limiting requests.", details=message)
    if _DENIED.search(message):
        return _access_error(message, what, token=token)
    if _FORBIDDEN.search(message):
        return InvalidInputError(
            f"{what} cannot be reached by https.", details=message, suggestion="Use its https address."
        )
    return _unreachable(message, what, token=token)


def _access_error(message: str, what: str, *, token: bool) -> AuthError:
    if token:
        return AuthError(
            f"The token was refused for {what}.",
            details=message,
            suggestion="Check that GITHUB_PAT (or GIT_TOKENS) is valid, has not expired, and may read it.",
        )
    return AuthError(
        f"{what} is private or does not exist; a private one needs a token.",
        details=message,
        suggestion="Set GITHUB_PAT, or GIT_TOKENS for another host, to a token that may read it, or check the address.",
    )


def _unreachable(message: str, what: str, *, token: bool) -> KnowledgeError:
    if _MEMORY.search(message):
        return InvalidInputError(
            f"{what} needs more memory than Git may use here.",
            details=message,
            suggestion="Clone it yourself, and index the folder.",
        )
    if _OWNER.search(message):
        return InvalidInputError(
            f"{what} belongs to another user of this system.",
            details=message,
            suggestion="Index it as its owner, or change its owner.",
        )
    if _MISSING.search(message) and not _NO_REPOSITORY.search(message):
        hint = "" if token else " A private repository needs GITHUB_PAT, or GIT_TOKENS on another host."
        return NotFoundError(f"There is no repository {what}.", details=message, suggestion=f"Check the address.{hint}")
    if _NO_REPOSITORY.search(message):
        return NotFoundError(f"{what} is not a Git repository.", details=message, suggestion="Check the path.")
    if _OFFLINE.search(message):
        why = " Its certificate was not accepted." if _CERTIFICATE.search(message) else ""
        return ConnectionFailedError(
            f"{what} could not be reached.{why}",
            details=message,
            suggestion=CHECK_NETWORK,
        )
    return InternalError(f"Git failed on {what}.", details=message)


_GRACE = 5.0
_FOREIGN_SECONDS = 300.0
"""Maximum time to read another user's repository: a status of a million files takes a minute, and a pipe in the place
of a file, which Git opens, never ends.
"""
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.quotePath=false",
    "core.pager=cat",
    "core.packedGitLimit=1g",
    "core.packedGitWindowSize=64m",
    "pack.threads=2",
    "credential.helper=",
    "diff.external=",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
    "safe.bareRepository=explicit",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "http.followRedirects=false",  # Git would connect to an unchecked address, with the token
    "http.lowSpeedLimit=100",
    "http.lowSpeedTime=120",
    "status.showUntrackedFiles=all",
)
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
}

Cancelled = Callable[[], bool]
"""Called from time to time; returns whether to stop."""


@dataclass(frozen=True, slots=True)
class GitCall:
    """The context of one run of Git.

    Attributes:
        what: the repository, as shown to the user in messages.
        url: the remote to connect to, None for none.
        token: sent only to that remote.
        branch: the requested branch, for messages.
        trusted: a folder with our own configuration, whoever owns it.
        cancelled: called from time to time; returns whether to stop.
        place: resolves the remote's host, checks its addresses, and returns them in the form of `http.curloptResolve`;
            Git then connects to one of those without resolving again. Empty if a proxy connects.
        writes: the folder in which it stores what a remote sends.
        instead_of: the address that `url` replaces wherever Git finds it.
        variables: where Git finds the repository, if not by searching; see `sources.git.view`.
    """

    what: str
    url: RepositoryUrl | None = None
    token: str = ""
    branch: str = ""
    trusted: Path | None = None
    cancelled: Cancelled | None = None
    place: Callable[[], str] | None = None
    writes: Path | None = None
    instead_of: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


class GitProgram:
    """Run Git. Thread-safe.

    Args:
        program: its name or path.
        environment: further variables for it: proxies and certificates (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`,
            `GIT_SSL_CAINFO` …). It gets nothing else of this process's environment.
        timeout: maximum seconds of one run.
    """

    def __init__(
        self, *, program: str = "git", environment: Mapping[str, str] | None = None, timeout: float = 1800.0
    ) -> None:
        self._program = program
        self._environment = dict(environment or {})
        self._timeout = timeout

    def run(
        self, arguments: Sequence[str], call: GitCall, *, folder: Path | None = None, allowed: Sequence[int] = (0,)
    ) -> tuple[int, bytes]:
        """Run one command; return its exit code and output.

        Args:
            arguments: the command and its arguments; untrusted ones follow `--` or are joined to their option.
            call: the context of the run.
            folder: where to run it.
            allowed: exit codes that are not errors.

        Raises:
            KnowledgeError: Git is not installed, timed out, was cancelled, or failed; see `git_error`.
        """
        process = self._start(arguments, call, folder)
        bound(process)
        seconds = min(self._timeout, _FOREIGN_SECONDS) if call.variables else self._timeout
        try:
            output, errors = self._wait(process, seconds, call)
        except BaseException:
            _kill(process)
            raise
        if process.returncode in allowed:
            return process.returncode, output
        secrets = (call.token, _basic(call)) if call.token else ()
        text = quoted(errors, secrets) or f"exit code {process.returncode}"
        raise git_error(text, what=call.what, branch=call.branch, token=bool(call.token))

    def _start(self, arguments: Sequence[str], call: GitCall, folder: Path | None) -> subprocess.Popen[bytes]:
        program = shutil.which(self._program)
        if program is None:
            raise ConfigError(
                "The git program is not installed.",
                suggestion="Install it (apt-get install git, brew install git), or index a folder instead.",
            )
        settings = [*_SETTINGS]
        if call.trusted is not None:
            settings.append(f"safe.directory={call.trusted}")
        if call.url is not None and call.instead_of:
            settings.append(f"url.{call.url.text}.insteadOf={call.instead_of}")
        if call.place is not None and (resolved := call.place()):
            settings.append(f"http.curloptResolve={resolved}")
        command = [program, "--no-pager", *(part for setting in settings for part in ("-c", setting)), *arguments]
        try:
            return start_tree(
                command,
                cwd=folder,
                env=self._variables(call, program),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            if folder is not None and not folder.is_dir():
                raise NotFoundError(f"{call.what} does not exist.", suggestion="Check the path.") from error
            raise ConfigError(
                "The git program cannot be started.", details=error.strerror or type(error).__name__
            ) from error

    def _variables(self, call: GitCall, program: str) -> dict[str, str]:
        path = os.pathsep.join(dict.fromkeys((str(Path(program).parent), *os.defpath.split(os.pathsep))))
        variables = {**self._environment, "PATH": path, **_ENVIRONMENT, **call.variables}
        variables["GIT_ALLOW_PROTOCOL"] = call.url.scheme if call.url is not None else "none"
        if call.token and call.url is not None:
            scheme, host = call.url.scheme, call.url.host
            variables["GIT_CONFIG_COUNT"] = "1"
            variables["GIT_CONFIG_KEY_0"] = f"http.{scheme}://{host}/.extraHeader"
            variables["GIT_CONFIG_VALUE_0"] = f"Authorization: Basic {_basic(call)}"
        return variables

    def _wait(self, process: subprocess.Popen[bytes], seconds: float, call: GitCall) -> tuple[bytes, bytes]:
        deadline = time.monotonic() + seconds
        has_room = watch_disk(call.writes, call.what)

        def look() -> None:
            checkpoint()
            if call.cancelled is not None and call.cancelled():
                raise _cancelled_error(call)
            if time.monotonic() >= deadline:
                raise TimedOutError(
                    f"Git took more than {seconds:.0f} seconds for {call.what} and was stopped.",
                    suggestion="Try again, or use a shallow clone of one branch.",
                )
            has_room()

        return read_all(process, call.what, look)


def _cancelled_error(call: GitCall) -> KnowledgeError:
    return TimedOutError(f"Work on {call.what} was cancelled.", suggestion="Start it again if you still need it.")


def _basic(call: GitCall) -> str:
    user = call.url.user if call.url is not None else ""
    return base64.b64encode(f"{user}:{call.token}".encode()).decode("ascii")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End Git and everything that it started, and free its pipes."""
    end_tree(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=_GRACE)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_RENAMES = 20_000


def has_commit(git: GitProgram, folder: Path, commit: str, call: GitCall) -> bool:
    """Return whether a clone contains a commit with its tree."""
    if not _COMMIT.fullmatch(commit):
        raise InvalidInputError("This is not the full hash of a commit.", suggestion="Give all 40 hexadecimal digits.")
    code, _ = git.run(["cat-file", "-e", f"{commit}^{{tree}}"], call, folder=folder, allowed=(0, 1, 128))
    return code == 0


def changes_between(git: GitProgram, folder: Path, old: str, new: str, call: GitCall) -> tuple[FileChange, ...] | None:
    """List the changes from one commit to another, sorted by path; None if the clone lacks one of them.

    Raises:
        InvalidInputError: `old` or `new` is not a full commit hash.
    """
    if not (has_commit(git, folder, old, call) and has_commit(git, folder, new, call)):
        return None
    arguments = ["diff-tree", "-r", "-z", "--raw", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]
    renames = ["-M", f"-l{_MOST_RENAMES}"]
    code, output = git.run([*arguments, *renames, old, new, "--"], call, folder=folder, allowed=(0, 128))
    if code:  # a partial clone lacks contents needed to detect renames
        _, output = git.run([*arguments, old, new, "--"], call, folder=folder)
    return tuple(sorted(_parse_changes(output), key=lambda change: change.path))


def _parse_changes(output: bytes) -> Iterator[FileChange]:
    fields = iter(output.split(b"\0"))
    for head in fields:
        if not head.startswith(b":"):
            continue
        status = head.split(b" ")[-1].decode("ascii")
        path = os.fsdecode(next(fields))
        if status[0] in "RC":
            target = os.fsdecode(next(fields))
            if status[0] == "R":
                yield FileChange(ChangeKind.RENAMED, target, path)
            else:
                yield FileChange(ChangeKind.ADDED, target)
        else:
            kind = {"A": ChangeKind.ADDED, "D": ChangeKind.DELETED}.get(status[0], ChangeKind.MODIFIED)
            yield FileChange(kind, path)


def gitlinks(git: GitProgram, folder: Path, call: GitCall) -> list[str]:
    """List the folders of submodules by path; nothing in them is read."""
    _, listed = git.run(["ls-files", "--stage", "-z"], call, folder=folder)
    entries = (each.partition(b"\t") for each in listed.split(b"\0") if each.startswith(b"160000 "))
    return [os.fsdecode(path) for _, _, path in entries]


def uncommitted(git: GitProgram, folder: Path, call: GitCall) -> tuple[FileChange, ...]:
    """List how a working tree differs from its commit, without ignored files; nothing is changed.

    The path of a folder that is itself a repository ends with `/`.
    """
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"]
    _, prefix = git.run(["rev-parse", "--show-prefix"], call, folder=folder)
    _, output = git.run([*arguments, "--", "."], call, folder=folder)
    above = os.fsdecode(prefix.removesuffix(b"\n"))
    changes: list[FileChange] = []
    for entry in output.split(b"\0"):
        if len(entry) < 4:
            continue
        status, path = entry[:2].decode("ascii"), os.fsdecode(entry[3:]).removeprefix(above)
        kind = ChangeKind.ADDED if status in {"??", "A ", "AM"} else ChangeKind.MODIFIED
        changes.append(FileChange(ChangeKind.DELETED if "D" in status else kind, path))
    return tuple(sorted(changes, key=lambda change: change.path))
