"""Run the `tesseract` program: no shell, no environment of ours, limits on time and memory, its errors named.

On Linux an interpreter confines itself and then becomes the program, which can read what is installed and the page's
image, write nothing, connect to nothing, and start nothing. A script in the program's place starts programs itself:
whoever put it there is trusted, and it has the limits only.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from knowledge_mcp.model.errors import ConfigError, InternalError, InvalidInputError, KnowledgeError, TimedOutError
from knowledge_mcp.support import sandbox_linux
from knowledge_mcp.support.sandbox import start_process

__all__ = ["INSTALL", "find_program", "run_program"]

INSTALL = (
    "Install it: `apt-get install tesseract-ocr tesseract-ocr-osd` (Debian, Ubuntu) or `brew install tesseract` (macOS)"
)
_ELF = b"\x7fELF"
_ENTRY = "import sys; sys.path.insert(0, sys.argv[1]); import sandbox_linux; sandbox_linux.become(sys.argv[2])"
_TOO_LARGE = ("Image too large", "bad_alloc", "std::bad_alloc", "cannot allocate", "pix_malloc fail", "make_data fail")


def find_program(program: str) -> str:
    """Return the program's absolute path.

    Raises:
        ConfigError: it is not installed; the suggestion says how to install it.
    """
    found = shutil.which(program)
    if found is None:
        raise ConfigError(
            "Text recognition needs the program `tesseract`, which is not installed.",
            details=f"no {program} on the PATH",
            suggestion=f"{INSTALL}, then ingest again.",
        )
    return str(Path(found).absolute())


def run_program(
    command: list[str],
    *,
    given: bytes = b"",
    readable: tuple[str, ...] = (),
    seconds: float,
    memory: int,
    accepted: tuple[int, ...] = (0,),
) -> tuple[str, str]:
    """Run a command to its end.

    Args:
        command: the program's absolute path and its arguments.
        readable: files and folders that it may read besides what is installed.
        given: bytes for its standard input, fed only once the limits hold.
        seconds: wall-clock time, after which it is killed with whatever it started.
        memory: bytes of address space, where the system can limit them for another process (Linux).
        accepted: exit codes that are no failure.

    Returns:
        Its standard output and its standard error.

    Raises:
        TimedOutError: the time ran out.
        InvalidInputError: it ran out of memory: the image is too large.
        InternalError: it could not be started, crashed or failed; details hold its last words.
    """
    process = _started(command, readable)
    with process:
        _confine(process.pid, seconds, memory)
        try:
            output, errors = process.communicate(given, timeout=max(seconds, 0.01))
        except subprocess.TimeoutExpired as error:
            _kill(process)
            raise TimedOutError(
                f"Text recognition took longer than {seconds:.0f} seconds and was stopped.",
                suggestion="Ingest again when the machine is less busy; split very large sheets.",
            ) from error
        except BaseException:
            _kill(process)
            raise
    said = errors.decode(errors="replace").strip()
    if process.returncode not in accepted:
        raise _failure(process.returncode, said)
    return output.decode(errors="replace"), said


def _started(command: list[str], readable: tuple[str, ...]) -> subprocess.Popen[bytes]:
    # the environment is empty but for this: nothing secret reaches a program that works on untrusted bytes
    environment = {"OMP_THREAD_LIMIT": "1", "LC_ALL": "C", "PATH": os.defpath}
    try:
        started = _confined(command, readable)
        return start_process(
            lambda: subprocess.Popen(
                started,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,
            )
        )
    except OSError as error:
        raise InternalError(
            "Text recognition could not be started.", details=f"{command[0]}: {error.strerror or error}"
        ) from error


def _confined(command: list[str], readable: tuple[str, ...]) -> list[str]:
    """Put the interpreter before a command that confines itself and then becomes it; scripts stay as they are."""
    with open(command[0], "rb") as program:  # noqa: PTH123 - the path is a string everywhere here
        is_binary = program.read(4) == _ELF
    if sys.platform != "linux" or not is_binary:
        return command
    allowed = json.dumps({"parent": os.getpid(), "command": command, "readable": readable})
    return [sys.executable, "-I", "-S", "-c", _ENTRY, str(Path(sandbox_linux.__file__).parent), allowed]


def _confine(pid: int, seconds: float, memory: int) -> None:
    """Limit a process that waits for its input."""
    if sys.platform != "linux":
        return
    bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: int(seconds) + 2, resource.RLIMIT_AS: memory}
    for kind, bound in bounds.items():
        with contextlib.suppress(OSError, ValueError):  # it may have ended already, or its limits be lower
            resource.prlimit(pid, kind, (bound, bound))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _failure(code: int, said: str) -> KnowledgeError:
    words = said[-500:]
    if code == sandbox_linux.NOT_STARTED:
        return InternalError("Text recognition could not be started.", details=words)
    if any(sign in said for sign in _TOO_LARGE):
        return InvalidInputError(
            "The page needs more memory for text recognition than allowed.",
            details=words,
            suggestion="Split the page, or scan it with fewer dots per inch.",
        )
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return InternalError(
        f"Text recognition failed ({how}).",
        details=words,
        suggestion="Try `tesseract --version`; install it anew if that fails too.",
    )
