"""For each rule of the house: files that break it, and files that come as near as is allowed; `@` is the package."""

from __future__ import annotations

Files = dict[str, str]

DOC = '"""What this is for."""\n'
ENOUGH_TESTS = "".join(f"def test_a_thing_number_{n}() -> None: ...\n" for n in range(20))

SAMPLES: dict[str, list[tuple[Files, Files]]] = {
    "files_are_short": [
        ({"src/a.py": "x = 1\n" * 401}, {"src/a.py": "x = 1\n" * 400}),
        ({"src/a.py": "x = '''\n" + "text\n" * 400 + "'''\n"}, {"src/a.py": DOC + "# why\n\nx = 1\n" * 400}),
    ],
    "functions_are_short": [
        ({"tests/a.py": "def f():\n" + "    x = 1\n" * 60}, {"tests/a.py": "def f():\n" + "    x = 1\n" * 59}),
        (
            {"tools/a.py": "class C:\n  async def f():\n" + "    x = 1\n" * 60},
            {"tools/a.py": "class C:\n    x = 1\n" * 40},
        ),
    ],
    "files_have_names": [({"@/utils.py": DOC}, {"@/spans.py": DOC})],
    "folders_are_small": [
        (
            {f"@/engine/m{n}.py": DOC for n in range(16)},
            {f"@/engine/m{n}.py": DOC for n in range(15)} | {"@/engine/__init__.py": DOC, "@/engine/a/m.py": DOC},
        ),
    ],
    "a_public_class_has_a_name_of_its_own": [
        (
            {"@/a.py": "class Place: ...\n", "@/engine/b.py": "class Place: ...\n"},
            {
                "@/a.py": "class Place: ...\nclass _Own: ...\n",
                "@/b.py": "class _Own: ...\n",
                "tests/a.py": "class Place: ...\n",
            },
        ),
    ],
    "modules_say_what_they_are_for": [({"@/a.py": "x = 1\n"}, {"@/a.py": DOC, "tests/a.py": ""})],
    "environment_is_read_in_settings": [
        ({"@/wiring.py": "import os\nx = os.environ['A']\n"}, {"@/settings.py": "import os\nx = os.environ['A']\n"}),
        ({"@/cli/a.py": "from os import getenv\n"}, {"@/cli/a.py": "from os import fsync\n"}),
    ],
    "model_is_frozen": [
        (
            {"@/model/a.py": "@dataclass(frozen=True)\nclass A: ...\n"},
            {"@/model/a.py": "@dataclass(frozen=True, slots=True)\nclass A: ...\n"},
        ),
        ({"@/model/a.py": "class A: ...\n"}, {"@/engine/a.py": "class A: ...\n"}),
        (
            {"@/model/a.py": "class A(B): ...\nclass B: ...\n"},
            {"@/model/a.py": "class A(StrEnum): ...\nclass B(Exception): ...\nclass C(B): ...\n"},
        ),
    ],
    "public_names_are_listed": [
        ({"@/a.py": "__all__ = ['f']\ndef f(): ...\n"}, {"@/a.py": "def f(): ...\n"}),
        (
            {"@/a.py": "from x import h\n__all__ = ['h']\nclass G: ...\n"},
            {"@/a.py": "from x import h\n__all__ = ['G', 'h']\nclass G: ...\n"},
        ),
        (
            {"@/a.py": "from x import A9, f\n__all__ = ['f', 'A9']\n"},
            {"@/a.py": "from x import A9, A10\n__all__ = ['A9', 'A10']\n"},
        ),
        ({"@/a.py": "__all__ = ['h']\n"}, {"@/a.py": "from x import h\n__all__ = ['h']\n"}),
    ],
    "pure_rooms_use_the_standard_library": [
        ({"@/engine/a.py": "def f():\n    import numpy\n"}, {"@/stores/a.py": "import numpy\n"}),
        (
            {"@/ports/storing.py": "from numpy.typing import NDArray\n"},
            {"@/ports/storing.py": "from knowledge_mcp.model import chunk\nimport json\n"},
        ),
    ],
    "install_hints_name_what_is_installed": [
        ({"@/a.py": "x = 'Run: pip install \"clausewise[api]\"'\n"}, {"@/a.py": "x = 'apt-get install git'\n"}),
        ({"@/a.py": "x = f'uv tool install {y}'\n"}, {"@/support/distribution.py": "x = 'pip install y'\n"}),
        ({"docs/a.md": "`pip install knowledge-mcp`\n"}, {"docs/a.md": '`pip install "clausewise[api]"`\n'}),
        ({"@/console/a.js": "x = 'knowledge-mcp[api]'\n"}, {"@/console/a.js": "x = 'knowledge-mcp'\n"}),
    ],
    "imports_are_absolute": [({"@/a.py": "from . import b\n"}, {"@/a.py": "from knowledge_mcp import b\n"})],
    "nothing_is_printed": [({"@/a.py": "print('x')\n"}, {"tools/a.py": "print('x')\n", "@/b.py": "c.print('x')\n"})],
    "nothing_is_left_undone": [
        ({"@/a.py": "x = 1  # TODO: y\n"}, {"@/a.py": "x = '# TODO: y'\n"}),
        ({"@/a.py": "raise NotImplementedError('x')\n"}, {"@/a.py": "try: ...\nexcept NotImplementedError: ...\n"}),
    ],
    "mocks_are_rare": [
        (
            {"tests/test_a.py": ENOUGH_TESTS + "a = Mock()\nb = mock.patch('c')\n"},
            {"tests/test_a.py": ENOUGH_TESTS + "a = Mock()\n"},
        ),
        (
            {"tests/test_a.py": "def test_a_thing_of_it(mocker): ...\n"},
            {"tests/test_a.py": "def test_a_thing_of_it(server): ...\n"},
        ),
    ],
    "no_test_sleeps": [
        ({"tests/test_a.py": "import time\ntime.sleep(1)\n"}, {"tests/test_a.py": "clock.sleep(1)\n"}),
        ({"tests/a.py": "from time import sleep\n"}, {"tests/a.py": "import anyio\nanyio.sleep(0)\n"}),
    ],
    "names_of_tests_are_sentences": [
        (
            {"tests/test_a.py": "def test_search_works(): ...\n"},
            {"tests/test_a.py": "def test_a_search_finds_it(): ...\n"},
        ),
        ({"tests/test_a.py": "class TestA:\n    def test_x(self): ...\n"}, {"tests/a.py": "def test_x(): ...\n"}),
    ],
}
