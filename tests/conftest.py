"""What every test gets: the machine's programs by name, and at the end the state of the requirements."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from tests.machine import in_ci
from tests.machine import needs as _needs
from tests.requirements.manifest import summary

_LOOPBACK = ("127.", "::1", "::ffff:127.", "localhost", "0.0.0.0")


def _refuse_the_network(event: str, arguments: Sequence[Any]) -> None:
    """Fail a test that connects to anything but this machine, in this process."""
    if event != "socket.connect":
        return
    address = str(arguments[1])  # ('127.0.0.1', 80), or the path of a socket of this machine
    host = address[2:].partition("'")[0] if address.startswith("('") else "localhost"
    if not host.startswith(_LOOPBACK):
        raise AssertionError(f"a test connects to {host}, outside this machine")


sys.addaudithook(_refuse_the_network)

# Tests make much that lives long, and looking through all of it every 700 objects took a seventh of their time.
gc.set_threshold(20_000)

# Begun by a shell in the background, a run ignores Ctrl-C, and so would every program that its tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no finding, so examples have no deadline. CI draws the same ones every time, a third of the usual
# 100. Half of them keep `make test` short: each run of it draws others.
settings.register_profile("local", deadline=None, max_examples=16)
settings.register_profile("ci", settings.get_profile("local"), max_examples=33, derandomize=True, print_blob=True)
settings.load_profile("ci" if in_ci() else "local")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what was collected to itself: it lives to the end, and the collector would go through it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that have slow tests: a long one that begins last leaves the other workers idle."""
    first = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in first)


class _FilesAndRooms(LoadFileScheduling):
    """Give each process whole files, and folders whose fixtures of a package take seconds to make whole, too."""

    _FOLDERS = ("tests/console", "tests/house")
    """What they share is a browser, and the trees of all our code."""

    def _split_scope(self, nodeid: str) -> str:
        scope = str(super()._split_scope(nodeid))
        return next((folder for folder in self._FOLDERS if scope.startswith(f"{folder}/")), scope)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Hand the tests out as these folders need it."""
    return _FilesAndRooms(config, log)


@pytest.fixture
def needs() -> Callable[[str], str]:
    """Return a function that gives a program's path, skips where it is missing, and fails there in CI."""
    return _needs


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, as the servers do."""
    return "asyncio"


@pytest.fixture
def logging_restored() -> Generator[None]:
    """Put logging back as it was: a command sets it up for a process of its own."""
    root = logging.getLogger()
    before, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    shown = warnings.showwarning
    yield
    root.handlers[:] = before
    root.setLevel(level)
    logging.raiseExceptions = raising
    logging.captureWarnings(capture=False)
    warnings.showwarning = shown
    logging.getLogger("knowledge_mcp").setLevel(logging.NOTSET)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many requirements of which specification are built and planned."""
    terminalreporter.section("requirements")
    for line in summary():
        terminalreporter.line(line)
