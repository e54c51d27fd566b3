"""The files of a repository: which are looked at, in which order, and what is left out with its reason."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.ingest import LeftOut, SkippedFile
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.code.outline import language_of
from knowledge_mcp.sources.scan.files import (
    DEFAULT_EXCLUDES,
    DEFAULT_EXTENSIONS,
    DEFAULT_NAMES,
    SOURCE_MEDIA_TYPES,
    SPECIFIED_EXTENSIONS,
    RepositoryScan,
    media_type_of,
)
from knowledge_mcp.support.files import printable_path
from tests.machine import examples, needs
from tests.servers.git_server import MadeRepository

CODE = "value = 1\n"


def make(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def found(scan: RepositoryScan) -> list[str]:
    return [item.name for item in scan.items() if isinstance(item, SourceItem)]


def skipped(scan: RepositoryScan) -> dict[str, str]:
    return {item.source.rpartition(":")[2]: item.message for item in scan.items() if isinstance(item, SkippedFile)}


@pytest.mark.requirement("C-6.5-walk")
@pytest.mark.requirement("C-6.5-extensions")
def test_source_files_are_found_to_the_bottom_in_a_stable_order(tmp_path: Path) -> None:
    names = ["b.py", "a.ts", "deep/er/est/x.go", "deep/y.rs", "readme.MD", "Dockerfile", "picture.png", "no_extension"]
    make(tmp_path, dict.fromkeys(names, CODE))
    scan = RepositoryScan(tmp_path)
    assert found(scan) == ["Dockerfile", "a.ts", "b.py", "readme.MD", "deep/y.rs", "deep/er/est/x.go"]
    assert found(scan) == found(scan)
    assert scan.left_out == {"extension": 2}
    (others,) = scan.not_looked_at()
    assert others == LeftOut("files of other extensions (no extension 1, .png 1)", 2, ("no_extension",))


@pytest.mark.requirement("C-6.5-file_info")
def test_an_item_has_its_path_in_the_repository_its_size_hash_and_type(tmp_path: Path) -> None:
    make(tmp_path, {"src/auth/middleware.ts": CODE})
    (item,) = RepositoryScan(tmp_path, repository="my-api").items()
    assert isinstance(item, SourceItem)
    assert (item.uri, item.name) == ("my-api:src/auth/middleware.ts", "src/auth/middleware.ts")
    assert (item.size, item.media_type) == (len(CODE), "text/x-typescript")
    assert item.sha256 == hashlib.sha256(CODE.encode()).hexdigest()
    assert item.path == tmp_path / "src/auth/middleware.ts"
    with item.open() as stream:
        assert stream.read() == CODE.encode()
    (plain,) = RepositoryScan(tmp_path).items()
    assert isinstance(plain, SourceItem)
    assert plain.uri == str(tmp_path / "src/auth/middleware.ts")


@pytest.mark.requirement("C-6.5-extensions")
def test_the_default_extensions_are_the_specified_ones_and_more() -> None:
    expected = ".js .ts .jsx .tsx .cs .py .java .go .rs .cpp .c .h .md .txt .rst .json .yaml .yml .toml"
    assert list(SPECIFIED_EXTENSIONS) == expected.split()
    assert set(SPECIFIED_EXTENSIONS) < set(DEFAULT_EXTENSIONS)
    assert len(DEFAULT_EXTENSIONS) == len(set(DEFAULT_EXTENSIONS))


@pytest.mark.requirement("C-4.4-options")
def test_chosen_extensions_take_the_place_of_the_default_ones(tmp_path: Path) -> None:
    make(tmp_path, dict.fromkeys(["a.py", "b.xyz", "c.TS", "Makefile"], CODE))
    assert found(RepositoryScan(tmp_path, include_extensions=[".xyz", "ts"])) == ["b.xyz", "c.TS"]
    assert found(RepositoryScan(tmp_path, include_extensions=["Makefile"])) == ["Makefile"]
    with pytest.raises(InvalidInputError):
        RepositoryScan(tmp_path, include_extensions=["."])


@pytest.mark.requirement("C-6.5-excludes")
def test_default_and_further_patterns_leave_out(tmp_path: Path) -> None:
    left_out = [
        "node_modules/x/i.js", "web/node_modules/i.js", ".git/config.py", "dist/a.js", "build/a.js", "bin/a.cs",
        "obj/a.cs", "lib/a.min.js", "a.min.css", "package-lock.json", "yarn.lock", "pkg/__pycache__/a.py",
    ]  # fmt: skip
    kept = ["src/build/a.js", "src/a.js"]
    make(tmp_path, dict.fromkeys([*left_out, *kept], CODE))
    assert found(RepositoryScan(tmp_path)) == ["src/a.js", "src/build/a.js"]
    assert found(RepositoryScan(tmp_path, exclude_patterns=["src/build/**"])) == ["src/a.js"]
    assert found(RepositoryScan(tmp_path, exclude_patterns=["*.js"])) == []
    assert "node_modules/**" in DEFAULT_EXCLUDES


@pytest.mark.requirement("C-6.5-gitignore")
def test_ignore_files_hold_for_their_folder_and_below_and_the_innermost_decides(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".gitignore": "*.log.py\n/only_here.py\nout/\n!kept.log.py\n\\#odd.py\nspace.py  \n[bad\n",
            "a.log.py": CODE, "kept.log.py": CODE, "only_here.py": CODE, "#odd.py": CODE, "space.py": CODE,
            "deep/only_here.py": CODE, "deep/b.log.py": CODE, "out/x.py": CODE, "deep/out/x.py": CODE,
            "deep/.gitignore": "!b.log.py\nsecret.py\n", "deep/secret.py": CODE, "deep/er/secret.py": CODE,
            "secret.py": CODE,
        },
    )  # fmt: skip
    assert found(RepositoryScan(tmp_path)) == ["kept.log.py", "secret.py", "deep/b.log.py", "deep/only_here.py"]
    assert "out/x.py" in found(RepositoryScan(tmp_path, gitignore=False))


def test_a_folder_of_a_repository_keeps_to_the_ignore_files_above_it(tmp_path: Path) -> None:
    files = {
        ".gitignore": "gen/\n/app/only.py\n*.tmp.py\n",
        "app/.gitignore": "!kept.tmp.py\n",
        "app/src/.gitignore": "/x.py",
    }
    paths = ("a.py", "gen/b.py", "only.py", "c.tmp.py", "kept.tmp.py", "src/x.py", "src/y.py", "src/only.py")
    make(tmp_path, {".git/HEAD": "", **files, **dict.fromkeys((f"app/{path}" for path in paths), CODE)})
    kept = ["a.py", "kept.tmp.py", "src/only.py", "src/y.py"]
    assert found(RepositoryScan(tmp_path)) == [f"app/{path}" for path in kept]
    assert found(RepositoryScan(tmp_path / "app")) == kept
    make(tmp_path, {".gitignore": "/app\n"})
    assert len(found(RepositoryScan(tmp_path / "app"))) == len(paths) - 1, "a folder asked for by name is not ignored"


NAMES = st.sampled_from(["a", "b", "ab", "x.py", "y.py", "build", "b.py"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
BODIES = (
    "a b *.py x.* a/b a/** **/build ?.py [xy].py a/*/b.py build ** a**b *b* [!a] [^a-b]* [[:alpha:]].py []x].py [b-a] "
    "a/**/b *** a/***/b \\!x \\a \\[a] [a- a[/]b a\\/**"
)
PATTERNS = st.tuples(
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.sampled_from(BODIES.split()),
    st.sampled_from(["", "", "/", "/**"]),
).map("".join)


@pytest.mark.requirement("C-6.5-gitignore")
@settings(max_examples=examples(25))
@given(
    paths=st.lists(PATHS.map(lambda path: f"{path}.py"), min_size=1, max_size=8, unique=True),
    root=st.lists(PATTERNS, max_size=4),
    inner=st.lists(PATTERNS, max_size=3),
)
def test_the_same_files_are_ignored_as_git_ignores(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[str],
    root: list[str],
    inner: list[str],
) -> None:
    git = needs("git")
    folder = tmp_path_factory.mktemp("tree")
    for path in paths:
        if not any((folder / path).is_relative_to(folder / other) for other in paths if other != path):
            make(folder, {path: CODE})
    make(folder, {".gitignore": "\n".join(root)})
    if (folder / "a").is_dir():
        make(folder, {"a/.gitignore": "\n".join(inner)})
    environment = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.defpath}
    subprocess.run([git, "init", "-q"], cwd=folder, env=environment, check=True)
    listed = subprocess.run(
        [git, "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=folder, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    expected = {name for name in listed.stdout.decode().split("\0") if name.endswith(".py")}
    scan = RepositoryScan(folder)
    assert set(found(scan)) == {name for name in expected if not name.startswith("build/")}
    shutil.rmtree(folder)


def test_links_are_not_followed_and_git_is_never_entered(tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", {"secret.py": CODE})
    root = make(
        tmp_path / "root", {"a.py": CODE, "sub/.git/b.py": CODE, "worktree/.git": "gitdir: x", ".GIT/c.py": CODE}
    )
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "folder").symlink_to(outside, target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    (root / ".gitignore").symlink_to(outside / "secret.py")
    scan = RepositoryScan(root)
    assert found(scan) == ["a.py"]
    assert "symbolic link" in skipped(RepositoryScan(root, repository="r"))["link.py"]


def test_a_file_replaced_by_a_link_after_the_scan_is_not_opened(tmp_path: Path) -> None:
    outside = make(tmp_path / "outside", {"secret.py": CODE})
    root = make(tmp_path / "root", {"a.py": CODE})
    (item,) = RepositoryScan(root).items()
    assert isinstance(item, SourceItem)
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(outside / "secret.py")
    with pytest.raises(OSError, match="symbolic links"):
        item.open()


def test_a_file_changed_after_the_scan_is_not_read_under_its_former_hash(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.py": CODE})
    (item,) = RepositoryScan(root).items()
    assert isinstance(item, SourceItem)
    with item.open() as stream:
        assert hashlib.sha256(stream.read()).hexdigest() == item.sha256
    make(root, {"a.py": CODE + CODE})
    with pytest.raises(OSError, match="replaced or changed"):
        item.open()


def test_a_folder_replaced_by_a_link_during_the_scan_is_not_read(tmp_path: Path) -> None:
    make(tmp_path / "outside", {"deep/secret.py": CODE})
    root = make(tmp_path / "root", {"a.py": CODE, "sub/deep/first.py": CODE, "sub/deep/secret.py": CODE})
    scan = RepositoryScan(root)
    paths = scan.items()
    assert [next(paths) for _ in "12"]
    (root / "sub").rename(root / "was")
    (root / "sub").symlink_to(tmp_path / "outside", target_is_directory=True)
    (refused,) = paths
    assert isinstance(refused, SkippedFile)
    assert "sub/deep/secret.py: The file cannot be read" in refused.message


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("pdf.md", b"%PDF-1.7 text", "binary"),
        ("zeros.py", b"x = 1\n\x00\x00\x00 more", "binary"),
        ("controls.txt", bytes(range(32)) * 20, "binary"),
        ("image.json", b"\x89PNG\r\n\x1a\n", "binary"),
        ("big.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "Git LFS"),
        ("bundle.js", b"var a=1;" * 400, "minified"),
        ("data.json", b'{"a":[' + b"1," * 2000 + b"1]}", "minified"),
        ("style.css", b"a{b:c}" * 500, "minified"),
        ("x.go", b"// Code generated by stringer. DO NOT EDIT.\n\npackage x\n", "generated"),
        ("x.cs", b"// <auto-generated>\nclass X {}\n", "generated"),
        (
            "x_pb2.py",
            b"# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\n",
            "generated",
        ),
        ("x.js", b"/**\n * @generated by hand\n */\nx();\n", "generated"),
        ("x.h", b"/* This file was automatically generated from x.y */\nint x;\n", "generated"),
    ],
)
def test_binary_minified_and_generated_files_are_left_out_with_the_reason(
    tmp_path: Path, name: str, data: bytes, words: str
) -> None:
    make(tmp_path, {name: data, "sound.py": CODE})
    scan = RepositoryScan(tmp_path, repository="r")
    assert found(scan) == ["sound.py"]
    assert words in skipped(scan)[name]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("generator.py", b'TEXT = "# Code generated by x. DO NOT EDIT."\n'),
        ("prose.md", b"A long paragraph of prose in one line. " * 100),
        ("wide.py", "größe = 'ß'\n".encode("utf-16")),
        ("bare.py", "value = 1\n".encode("utf-16-le")),
        ("old.py", "größe = 'ß'\n".encode("latin-1")),
        ("form.c", b"int a;\n\x0c\nint b;\n"),
        ("long.js", b"function f() {\n  return 1;\n}\n" * 100 + b"var t = '" + b"x" * 900 + b"';\n"),
    ],
)
def test_what_only_resembles_such_files_is_kept(tmp_path: Path, name: str, data: bytes) -> None:
    make(tmp_path, {name: data})
    assert found(RepositoryScan(tmp_path)) == [name]


def test_empty_files_are_passed_over_and_counted(tmp_path: Path) -> None:
    make(tmp_path, {"pkg/__init__.py": "", "pkg/blank.py": "\n \n", "pkg/a.py": CODE})
    scan = RepositoryScan(tmp_path)
    assert found(scan) == ["pkg/a.py"]
    assert scan.left_out["empty"] == 2


@pytest.mark.requirement("C-11.4-maxFileSize")
def test_a_file_above_one_megabyte_is_left_out_and_a_huge_one_is_not_even_read(tmp_path: Path) -> None:
    make(tmp_path, {"fits.txt": b"x\n" * (512 * 1024), "large.txt": b"x\n" * (512 * 1024) + b"y"})
    with (tmp_path / "huge.txt").open("wb") as stream:
        stream.truncate(1 << 30)
    tracemalloc.start()
    scan = RepositoryScan(tmp_path, repository="r")
    messages = skipped(scan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sorted(messages) == ["huge.txt", "large.txt"]
    assert "1,048,577 bytes" in messages["large.txt"]
    assert peak < 16 << 20


def test_hostile_names_are_found_and_written_so_that_no_terminal_obeys_them(tmp_path: Path) -> None:
    names = ["-x.py", "..py.py", "a\nb.py", "\x1b[31mred.py", "back\\slash.py", "rtl\u202e.py", "sp ace.py", "ü.py"]
    make(tmp_path, dict.fromkeys(names, CODE))
    items = [item for item in RepositoryScan(tmp_path, repository="r").items() if isinstance(item, SourceItem)]
    assert len(items) == len(names)
    assert len({item.uri for item in items}) == len(names)
    for item in items:
        assert item.uri.isprintable()
        with item.open() as stream:
            assert stream.read() == CODE.encode()
    assert {"a\\nb.py", "\\x1b[31mred.py", "back\\\\slash.py", "rtl\\u202e.py", "sp ace.py", "ü.py"} <= {
        item.name for item in items
    }


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems take only names that are UTF-8")
def test_a_name_that_is_no_text_is_written_as_bytes(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/gr\xfc\xdfe.py", "wb") as stream:  # noqa: PTH123 - pathlib has no names of bytes
        stream.write(CODE.encode())
    assert found(RepositoryScan(tmp_path)) == [r"gr\xfc\xdfe.py"]


@given(st.text(max_size=20), st.text(max_size=20))
def test_different_names_are_shown_differently(one: str, other: str) -> None:
    try:
        os.fsencode(one + other)
    except UnicodeEncodeError:
        return
    assert (printable_path(one) == printable_path(other)) == (one == other)


def test_a_pipe_and_a_file_that_may_not_be_read_end_nothing(tmp_path: Path) -> None:
    make(tmp_path, {"a.py": CODE})
    os.mkfifo(tmp_path / "pipe.py")
    assert "regular" in skipped(RepositoryScan(tmp_path, repository="r"))["pipe.py"]


MEASURED = """
import sys, tracemalloc
from pathlib import Path
from knowledge_mcp.sources.scan.files import RepositoryScan
folder = Path(sys.argv[1])
next(iter(RepositoryScan(folder).items()))  # what is imported once is not measured
tracemalloc.start()
print(sum(1 for _ in RepositoryScan(folder).items()), tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.slow
def test_a_folder_of_very_many_files_is_read_with_bounded_memory(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"f{number:05d}.py").write_bytes(b"x = %d\n" % number)
    # in a process of its own: here other tests' threads count as well
    done = subprocess.run([sys.executable, "-c", MEASURED, tmp_path], capture_output=True, text=True, check=True)
    count, peak = map(int, done.stdout.split())
    assert count == 3000
    assert peak < 8 << 20


def test_a_working_tree_is_scanned_with_its_uncommitted_files(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "tree")
    made.commit({"a.py": CODE, ".gitignore": "ignored.py\n"})
    made.write({"new.py": CODE, "ignored.py": CODE, ".git/info/exclude": "private.py\n", "private.py": CODE})
    assert found(RepositoryScan(made.folder)) == ["a.py", "new.py"]


def test_a_missing_root_and_a_root_that_is_a_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        RepositoryScan(tmp_path / "nowhere")
    make(tmp_path, {"a.py": CODE})
    with pytest.raises(InvalidInputError):
        RepositoryScan(tmp_path / "a.py")


def test_every_media_type_that_a_name_can_mean_has_a_language() -> None:
    names = [f"x{extension}" for extension in DEFAULT_EXTENSIONS] + list(DEFAULT_NAMES)
    assert {media_type_of(name) for name in names} == {*SOURCE_MEDIA_TYPES}
    languages = {language_of(each) for each in SOURCE_MEDIA_TYPES}
    assert len(languages) == len(SOURCE_MEDIA_TYPES)
    assert {"python", "cpp", "csharp", "bash", "objective-c", "terraform", "markdown", "yaml", "text"} <= languages
