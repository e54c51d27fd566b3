"""What Pyright checks as on macOS and Windows: every file whose types may differ there, and no other."""

from __future__ import annotations

import pytest

from tests.house.test_tools import recipe
from tools.platforms import conditional_names, differing

STUBS = {
    "os": "import sys\nif sys.platform != 'win32':\n    def getuid() -> int: ...\ndef getcwd() -> str: ...\n",
    "os.path": "",
    "_stat": "",
    "_socket": "class socket:\n    if sys.platform == 'win32':\n        def share(self, pid: int) -> bytes: ...\n",
    "socket": "from _socket import socket\n",
    "time": "import sys\nif sys.platform == 'linux':\n    CLOCK_TAI: int\nelse:\n    from _all import tzset as tzset\n",
    "drawn": "import sys\nWIDE = sys.platform == 'darwin'\n",
    "plain": "WIDE = True\n",
}


def found(**texts: str) -> list[str]:
    return differing(texts, lambda name: STUBS.get(name, ""))


@pytest.mark.parametrize(
    "text",
    [
        "import os\nprint(os.getuid())\n",
        "from os import getuid\n",
        "def one() -> None:\n    import os as system\n    system.getuid()\n",
        "import socket\ndef one(of: socket.socket) -> bytes:\n    return of.share(1)\n",
        "import time\nplace = time.CLOCK_TAI\n",
        "import time\ntime.tzset()\n",
        "import sys\nif sys.platform == 'win32':\n    pass\n",
        "import os\nif os.name == 'nt':\n    pass\n",
        "import drawn\n",
        "from drawn import WIDE\n",
    ],
)
def test_a_file_that_may_differ_is_listed(text: str) -> None:
    assert found(ours=text) == ["ours"]


@pytest.mark.parametrize(
    "text",
    ["import os\nprint(os.getcwd())\n", "import plain\n", "import time\ntime.sleep(1)\n", "getuid = 1\n", ""],
)
def test_a_file_that_means_the_same_everywhere_is_not(text: str) -> None:
    assert found(ours=text) == []


def test_who_imports_one_of_ours_that_asks_for_the_system_is_listed_too() -> None:
    assert found(
        asks="import sys\nWIN = sys.platform == 'win32'\n", one="from asks import WIN\n", other="import one\n"
    ) == [
        "asks",
        "one",
    ]


def test_names_are_those_of_both_ways_and_of_members() -> None:
    assert conditional_names(STUBS["time"]) == {"CLOCK_TAI", "tzset"}
    assert conditional_names(STUBS["_socket"]) == {"share"}


def test_lint_checks_these_files_for_both_systems() -> None:
    lint = recipe("lint")
    assert "tools/platforms.py >$(VENV)/.differing" in lint
    for system in ("Darwin", "Windows"):
        assert f"/pyright --pythonplatform {system} $$(cat $(VENV)/.differing)" in lint
