"""The rules of the house, each a function from the project's root to its findings; no finding means that it holds."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.house.source import (
    PACKAGE,
    Module,
    imported_modules,
    lines_of_code,
    modules,
    modules_of_tests,
    nodes,
    package_modules,
)

Rule = Callable[[Path], list[str]]

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_MODULES_OF_A_FOLDER = 15
MOST_MOCKS_IN_100_TESTS = 5
LEAST_WORDS_OF_A_TEST_NAME = 4
PURE_ROOMS = ("engine", "model", "ports", "support")
NAMELESS_FILES = {"common.py", "helper.py", "helpers.py", "misc.py", "shared.py", "util.py", "utils.py"}
MOCKING = {"AsyncMock", "MagicMock", "Mock", "NonCallableMock", "PropertyMock", "create_autospec", "mocker", "patch"}
SLEEPERS = {"anyio", "asyncio", "time", "trio"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_are_short(root: Path) -> list[str]:
    """Hold files to 400 lines of code."""
    long = (module for module in modules(root) if module.text.count("\n") > MOST_LINES_OF_A_FILE)  # counting takes time
    counted = ((module.path, lines_of_code(module)) for module in long)
    return [f"{path}: {lines} lines of code" for path, lines in counted if lines > MOST_LINES_OF_A_FILE]


def functions_are_short(root: Path) -> list[str]:
    """Hold functions to 60 lines, from `def` to the last."""
    found: list[str] = []
    for module in modules(root):
        for node in nodes(module.tree):
            if isinstance(node, Function):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES_OF_A_FUNCTION:
                    found.append(f"{module.path}:{node.lineno}: {node.name} has {lines} lines")
    return found


def files_have_names(root: Path) -> list[str]:
    """Refuse file names that say nothing."""
    return [f"{one.path}: name it by what it is" for one in modules(root) if Path(one.path).name in NAMELESS_FILES]


def folders_are_small(root: Path) -> list[str]:
    """Hold folders of the package to 15 modules."""
    counted = Counter(
        Path(module.path).parent.as_posix() for module in package_modules(root) if Path(module.path).stem != "__init__"
    )
    return [f"{path}: {count} modules" for path, count in counted.items() if count > MOST_MODULES_OF_A_FOLDER]


def a_public_class_has_a_name_of_its_own(root: Path) -> list[str]:
    """Refuse two public classes of one name in the package."""
    named: dict[str, list[str]] = {}
    for module in package_modules(root):
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(f"{module.path}:{node.lineno}")
    return [f"{name}: {', '.join(places)}" for name, places in named.items() if len(places) > 1]


def modules_say_what_they_are_for(root: Path) -> list[str]:
    """Ask for a docstring at the head of every module of the package."""
    return [f"{module.path}: no docstring" for module in package_modules(root) if not ast.get_docstring(module.tree)]


def environment_is_read_in_settings(root: Path) -> list[str]:
    """Let only `settings` read the environment; the package itself writes to it, before any library is imported."""
    found: list[str] = []
    for module in package_modules(root):
        if module.room in {"", "settings"}:
            continue
        found.extend(f"{module.path}:{line}: reads the environment" for line in _environment_lines(module.tree))
    return found


def _environment_lines(tree: ast.Module) -> Iterator[int]:
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and _is_name(node.value, "os"):
            used = {node.attr}
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            used = {alias.name for alias in node.names}
        else:
            continue
        if used & names:
            yield node.lineno


def model_is_frozen(root: Path) -> list[str]:
    """Let the model hold frozen, slotted dataclasses, enumerations and exceptions only."""
    in_model = [module for module in package_modules(root) if module.room == "model"]
    classes = [(module, node) for module in in_model for node in nodes(module.tree) if isinstance(node, ast.ClassDef)]
    bases = {node.name: [_last_name(base) for base in node.bases] for _, node in classes}

    def comes_from(name: str, ending: tuple[str, ...]) -> bool:
        return name.endswith(ending) or any(comes_from(base, ending) for base in bases.get(name, []) if base != name)

    return [
        f"{module.path}:{node.lineno}: {node.name} is no frozen, slotted dataclass"
        for module, node in classes
        if not any(_is_frozen_dataclass(decorator) for decorator in node.decorator_list)
        and not any(comes_from(base, ("Enum", "Flag", "Exception", "Error")) for base in bases[node.name])
    ]


def _is_frozen_dataclass(decorator: ast.expr) -> bool:
    if not isinstance(decorator, ast.Call) or _last_name(decorator.func) != "dataclass":
        return False
    switched_on = {
        keyword.arg
        for keyword in decorator.keywords
        if isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    }
    return {"frozen", "slots"} <= switched_on


def public_names_are_listed(root: Path) -> list[str]:
    """Ask for an `__all__` only where names of others are passed on, and there for a complete, true and sorted one."""
    return [f"{module.path}: {what}" for module in package_modules(root) for what in _wrong_with_all(module)]


def _wrong_with_all(module: Module) -> Iterator[str]:
    defined, bound, imported, listed = _top_level_names(module.tree)
    if listed is None:
        return
    if imported.isdisjoint(listed):
        yield "__all__ passes nothing on from elsewhere: a name without an underscore is public"
    yield from (f"{name} is public and not in __all__" for name in sorted(defined - set(listed)))
    here = bound | imported
    yield from (f"__all__ names {name}, which is not here" for name in listed if name not in here)
    if listed != sorted(set(listed), key=_natural):
        yield "__all__ is not sorted (constants, classes, others), or repeats a name"


def _natural(name: str) -> tuple[int, list[tuple[int, str, int]]]:
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    parts = [part for part in re.split(r"(\d+)", name) if part]
    return kind, [(0, "", int(part)) if part.isdigit() else (1, part, 0) for part in parts]


def _top_level_names(tree: ast.Module) -> tuple[set[str], set[str], set[str], list[str] | None]:
    """Return the public functions and classes, every name bound at the top, those imported there, and `__all__`."""
    defined: set[str] = set()
    bound: set[str] = set()
    imported: set[str] = set()
    listed: list[str] | None = None
    for node in _top_level_statements(tree.body):
        if isinstance(node, Function | ast.ClassDef):
            bound.add(node.name)
            defined |= {node.name} if not node.name.startswith("_") else set()
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            bound |= names
            if "__all__" in names and isinstance(node.value, ast.List | ast.Tuple):
                listed = [str(one.value) for one in node.value.elts if isinstance(one, ast.Constant)]
    return defined, bound, imported, listed


def _top_level_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            yield from _top_level_statements(node.body + node.orelse)
            yield from _top_level_statements([one for handler in getattr(node, "handlers", []) for one in handler.body])
        else:
            yield node


def pure_rooms_use_the_standard_library(root: Path) -> list[str]:
    """Keep third parties out of model, ports, engine and support, also inside functions and for types."""
    allowed = sys.stdlib_module_names | {PACKAGE}
    return [
        f"{module.path}:{line}: imports {name}"
        for module in package_modules(root)
        if module.room in PURE_ROOMS
        for name, line in imported_modules(module.tree)
        if name.split(".")[0] not in allowed
    ]


def imports_are_absolute(root: Path) -> list[str]:
    """Refuse relative imports, which would pass the other rules unseen."""
    return [
        f"{module.path}:{node.lineno}: relative import"
        for module in modules(root)
        for node in nodes(module.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def nothing_is_printed(root: Path) -> list[str]:
    """Keep stdout free for the protocol."""
    return [
        f"{module.path}:{node.lineno}: prints"
        for module in package_modules(root)
        for node in nodes(module.tree)
        if isinstance(node, ast.Call) and (_is_name(node.func, "print") or _is_name(node.func, "pprint"))
    ]


def nothing_is_left_undone(root: Path) -> list[str]:
    """Refuse notes to do something later, and functions that are not implemented."""
    found: list[str] = []
    for module in package_modules(root):
        notes = list(_notes(module.text)) if _LATER.search(module.text) else []  # reading tokens takes time
        raised = [node for node in nodes(module.tree) if isinstance(node, ast.Raise) and node.exc is not None]
        undone = [
            node.lineno
            for node in raised
            if any(_is_name(one, "NotImplementedError") for one in ast.walk(node.exc or node))
        ]
        found.extend(f"{module.path}:{line}: left undone" for line in sorted(notes + undone))
    return found


_LATER = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


def _notes(text: str) -> Iterator[int]:
    """Yield the lines of comments that put something off."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and _LATER.search(token.string):
            yield token.start[0]


def mocks_are_rare(root: Path) -> list[str]:
    """Allow at most 5 mocks in 100 tests."""
    tests = mocks = 0
    for module in modules(root, "tests"):
        tests += sum(1 for _ in _tests_in(module))
        mocks += sum(1 for node in nodes(module.tree) if _is_mock(node))
    if mocks * 100 > MOST_MOCKS_IN_100_TESTS * tests:
        return [f"{mocks} mocks in {tests} tests"]
    return []


def _is_mock(node: ast.AST) -> bool:
    if isinstance(node, ast.arg):
        return node.arg == "mocker"
    return isinstance(node, ast.Call) and bool({_last_name(node.func), _first_name(node.func)} & MOCKING)


def no_test_sleeps(root: Path) -> list[str]:
    """Make tests wait for events, not for time; a sleep of 0 only lets others run."""
    found: list[str] = []
    for module in modules(root, "tests"):
        for node in nodes(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module in SLEEPERS:
                found.extend(f"{module.path}:{node.lineno}: sleep" for alias in node.names if alias.name == "sleep")
            elif isinstance(node, ast.Call) and _is_sleep(node):
                found.append(f"{module.path}:{node.lineno}: sleep")
    return found


def _is_sleep(node: ast.Call) -> bool:
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "sleep" or _first_name(function) not in SLEEPERS:
        return False
    return not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)


def names_of_tests_are_sentences(root: Path) -> list[str]:
    """Ask for at least four words in a test's name."""
    return [
        f"{module.path}:{node.lineno}: {node.name} is no sentence"
        for module in modules_of_tests(root)
        for node in _tests_in(module)
        if len([word for word in node.name.split("_")[1:] if word]) < LEAST_WORDS_OF_A_TEST_NAME
    ]


def _tests_in(module: Module) -> Iterator[Function]:
    for node in nodes(module.tree):
        if isinstance(node, Function) and node.name.startswith("test_"):
            yield node


_INSTALLS = re.compile(r"\b(?:pip|pipx|uv)(?:\s+\w+)?\s+install\b|\b(?:knowledge-mcp|clausewise)\[")
_STRANGER = re.compile(
    r"\b(?:pip|pipx|uv|uvx)\b.*\bknowledge-mcp\b(?<!--from clausewise knowledge-mcp)(?!.*clausewise)|\bknowledge-mcp\["
)


def install_hints_name_what_is_installed(root: Path) -> list[str]:
    """Let only `support/distribution.py` spell an install command; documents never install a stranger's package."""
    found = [
        f"{module.path}:{node.lineno}: spells an install command by hand"
        for module in package_modules(root)
        if not module.path.endswith("support/distribution.py")
        for node in nodes(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _INSTALLS.search(node.value)
    ]
    texts = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / f"src/{PACKAGE}/console").glob("*")]
    for text in filter(Path.is_file, texts):
        if text.suffix in {".css", ".html", ".js", ".md"} and "decisions" not in text.parts:
            lines = enumerate(text.read_text(encoding="utf-8").splitlines(), start=1)
            found.extend(
                f"{text.name}:{number}: names a stranger's package" for number, line in lines if _STRANGER.search(line)
            )
    return found


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _first_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


RULES: tuple[Rule, ...] = (
    files_are_short,
    functions_are_short,
    files_have_names,
    folders_are_small,
    a_public_class_has_a_name_of_its_own,
    modules_say_what_they_are_for,
    environment_is_read_in_settings,
    model_is_frozen,
    public_names_are_listed,
    pure_rooms_use_the_standard_library,
    imports_are_absolute,
    nothing_is_printed,
    nothing_is_left_undone,
    mocks_are_rare,
    no_test_sleeps,
    names_of_tests_are_sentences,
    install_hints_name_what_is_installed,
)
