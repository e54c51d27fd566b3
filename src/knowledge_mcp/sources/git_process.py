"""The `git` program as a child process: no shell, not the user's configuration, never for longer than asked.

No hook, helper, filter, submodule or other protocol than the one allowed can run. A token goes to Git in its
environment, as a header for one address, and stands in no argument, address, file or log.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from knowledge_mcp.model.errors import ConfigError, KnowledgeError, NotFoundError, TimedOutError
from knowledge_mcp.sources.git_errors import git_error, quoted
from knowledge_mcp.sources.git_url import RepositoryUrl

__all__ = ["Cancelled", "GitCall", "GitProgram"]

_STEP = 0.1
"""Seconds between two looks at the clock while Git works."""

_GRACE = 5.0
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
"""Asked now and then whether to stop."""


@dataclass(frozen=True, slots=True)
class GitCall:
    """Say on whose behalf Git runs.

    Attributes:
        what: the repository, as the user may see it in a message.
        url: the remote that is spoken to, None where none is.
        token: sent to that remote and to no other.
        branch: the branch that was asked for, for messages.
        trusted: a folder whose configuration is ours, whoever owns it.
        cancelled: asked now and then whether to stop.
        place: looks the remote's host up, checks its addresses, and gives them as `http.curloptResolve` has them;
            Git then connects to one of those and asks nobody again. Empty where a proxy connects.
        variables: where Git finds the repository, if not by looking; see `git_view`.
    """

    what: str
    url: RepositoryUrl | None = None
    token: str = ""
    branch: str = ""
    trusted: Path | None = None
    cancelled: Cancelled | None = None
    place: Callable[[], str] | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


class GitProgram:
    """Run Git. Thread-safe.

    Args:
        program: its name or path.
        environment: further variables for it: proxies and certificates (`HTTPS_PROXY`, `NO_PROXY`, `SSL_CERT_FILE`,
            `GIT_SSL_CAINFO` …). Nothing else of this process's environment reaches it.
        timeout: seconds that one run may take.
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
        """Run one command; returns its exit code and what it wrote.

        Args:
            arguments: the command and its arguments; what comes from outside stands after `--` or joined to its option.
            call: on whose behalf.
            folder: where to run it.
            allowed: exit codes that are answers.

        Raises:
            KnowledgeError: Git is not installed, took too long, was cancelled, or failed; see `git_errors`.
        """
        process = self._start(arguments, call, folder)
        deadline = time.monotonic() + self._timeout
        try:
            output, said = self._wait(process, deadline, call)
        except BaseException:
            _kill(process)
            raise
        if process.returncode in allowed:
            return process.returncode, output
        secrets = (call.token, _basic(call)) if call.token else ()
        text = quoted(said, secrets) or f"exit code {process.returncode}"
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
        # after a redirect Git would send the token to wherever it leads
        settings.append(f"http.followRedirects={'false' if call.token else 'initial'}")
        if call.place is not None and (resolved := call.place()):
            settings.append(f"http.curloptResolve={resolved}")
        command = [program, "--no-pager", *(part for setting in settings for part in ("-c", setting)), *arguments]
        try:
            return subprocess.Popen(
                command,
                cwd=folder,
                env=self._variables(call, program),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            if folder is not None and not folder.is_dir():
                raise NotFoundError(f"{call.what} is not there.", suggestion="Check the path.") from error
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

    def _wait(self, process: subprocess.Popen[bytes], deadline: float, call: GitCall) -> tuple[bytes, bytes]:
        while True:
            try:
                return process.communicate(timeout=max(min(_STEP, deadline - time.monotonic()), 0.001))
            except subprocess.TimeoutExpired:
                if call.cancelled is not None and call.cancelled():
                    raise _stopped(call) from None
                if time.monotonic() >= deadline:
                    raise TimedOutError(
                        f"Git took more than {self._timeout:.0f} seconds for {call.what} and was stopped.",
                        suggestion="Try again, or clone less: a shallow clone of one branch.",
                    ) from None


def _stopped(call: GitCall) -> KnowledgeError:
    return TimedOutError(f"Work on {call.what} was cancelled.", suggestion="Start it again when it is wanted.")


def _basic(call: GitCall) -> str:
    user = call.url.user if call.url is not None else ""
    return base64.b64encode(f"{user}:{call.token}".encode()).decode("ascii")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End Git and everything that it started, and free its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired, ValueError):
        process.communicate(timeout=_GRACE)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
