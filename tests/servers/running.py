"""What the servers of tests have in common: they run until the end of a `with` block."""

from __future__ import annotations

import contextlib
import math
import subprocess
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from socketserver import BaseServer
from typing import Any, Generic, Self, TypeVar

S = TypeVar("S", bound=BaseServer)


@contextlib.contextmanager
def served(server: S) -> Generator[S]:
    """Serve on a thread of this process."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()


class ThreadedServer(Generic[S]):
    """Serve on a thread of this process, with more than a server has."""

    _server: S

    def __enter__(self) -> Self:
        self._serving = contextlib.ExitStack()
        self._serving.enter_context(served(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.close()


class ServerProcess:
    """Run a program, which can be killed and started again."""

    _process: subprocess.Popen[Any] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, again on the same folder and port, and wait until it answers."""
        raise NotImplementedError

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        raise NotImplementedError

    def _run_until_it_answers(
        self, command: Sequence[str], log: Path, patience: float = math.inf, **options: Any
    ) -> None:
        with log.open("ab") as said:  # a pipe that nobody reads stops it
            process: subprocess.Popen[Any] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=log.parent, **options
            )
        self._process = process
        deadline = time.monotonic() + patience
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"The server did not start: {log.read_text('utf-8', 'replace')[-2000:]}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
