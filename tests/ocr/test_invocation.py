"""The program as a child: missing, hanging, crashing, lying; what it is given and what it is kept from."""

from __future__ import annotations

import functools
import os
import struct
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from knowledge_mcp.model.errors import ConfigError, InternalError, InvalidInputError, TimedOutError
from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.invocation import in_sure_lines, run_program, words_of
from knowledge_mcp.ocr.tesseract import TesseractEngine
from knowledge_mcp.support.checkpoints import watch_for_stop
from tests.ocr.engines import program
from tests.ocr.pages import drawn, png

HEADER = "level\\tpage_num\\tblock_num\\tpar_num\\tline_num\\tword_num\\tleft\\ttop\\twidth\\theight\\tconf\\ttext\\n"
WORDS = f'cat > /dev/null; printf "{HEADER}5\\t1\\t1\\t1\\t1\\t1\\t10\\t10\\t60\\t20\\t96\\tharbour\\n"'
IMAGE = png(drawn(("harbour",), width=400))
BLANK = png(Image.new("L", (400, 100), 255))
"""Without print that the program could leave unread: it runs once."""


def header_of(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def engine_of(folder: Path, script: str, **options: float) -> TesseractEngine:
    return TesseractEngine(program=program(folder, script), seconds=options.get("seconds", 20.0), workers=2)


@pytest.mark.requirement("document-store-api:FR-005")
def test_a_missing_program_is_named_with_the_lines_that_install_it() -> None:
    engine = TesseractEngine(program="no-such-tesseract")
    with pytest.raises(ConfigError) as caught:
        engine.read(IMAGE)
    assert "apt-get install tesseract-ocr" in caught.value.suggestion
    assert "brew install tesseract" in caught.value.suggestion
    assert engine.version == ""


def test_a_program_that_is_there_is_part_of_the_version(tmp_path: Path) -> None:
    assert engine_of(tmp_path, WORDS).version == "tesseract-5"


def test_words_come_back_from_the_program(tmp_path: Path) -> None:
    page = engine_of(tmp_path, WORDS).read(IMAGE)
    assert [(word.text, word.confidence, word.box) for word in page.words] == [("harbour", 96.0, (10, 10, 70, 30))]


@pytest.mark.slow
def test_a_program_that_hangs_is_stopped_with_all_it_started(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    engine = engine_of(tmp_path, f"sleep 600 & echo $! > {noted}; wait", seconds=8.0)
    started = time.monotonic()
    with pytest.raises(TimedOutError, match="stopped"):
        engine.read(IMAGE)
    assert time.monotonic() - started < 30
    left = int(noted.read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _runs(left):
        threading.Event().wait(0.02)
    assert not _runs(left)


@pytest.mark.slow
def test_an_attempt_that_hangs_leaves_time_for_another(tmp_path: Path) -> None:
    called = tmp_path / "called"
    script = f"if [ ! -e {called} ]; then touch {called}; sleep 600; fi; {WORDS}"
    assert [word.text for word in engine_of(tmp_path, script, seconds=8.0).read(IMAGE).words] == ["harbour"]


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param("kill -SEGV $$", "SIGSEGV", id="crash"),
        pytest.param("echo the data is broken >&2; exit 1", "exit code 1", id="failure"),
    ],
)
def test_a_program_that_fails_is_an_error_with_its_last_words(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(InternalError) as caught:
        engine_of(tmp_path, script).read(IMAGE)
    assert said in caught.value.message
    if "echo" in script:
        assert "the data is broken" in caught.value.details


def test_a_program_without_memory_says_that_the_page_is_too_large(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="memory"):
        engine_of(tmp_path, "echo 'std::bad_alloc' >&2; exit 1").read(IMAGE)


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tesseract"
    path.write_bytes(b"\x00\x01 no program")
    path.chmod(0o755)
    with pytest.raises(InternalError, match="could not be started"):
        TesseractEngine(program=str(path)).languages()


def test_the_program_sees_one_thread_and_nothing_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    noted = tmp_path / "environment"
    engine_of(tmp_path, f"env > {noted}; {WORDS}").read(IMAGE)
    seen = noted.read_text()
    assert "OMP_THREAD_LIMIT=1" in seen
    assert "sk-secret" not in seen


def test_the_program_is_told_the_name_of_the_image_and_the_file_is_gone_afterwards(tmp_path: Path) -> None:
    result = tmp_path / "told"
    page = engine_of(tmp_path, f'read path; echo "$path" > {result}; cp "$path" {tmp_path}/copy.png; {WORDS}').read(
        BLANK
    )
    assert page.words
    path = Path(result.read_text().strip())
    assert path.is_absolute()
    assert not path.exists()
    assert (tmp_path / "copy.png").read_bytes() == BLANK


def test_the_image_is_gone_where_the_program_fails_too(tmp_path: Path) -> None:
    result = tmp_path / "told"
    with pytest.raises(InternalError):
        engine_of(tmp_path, f'read path; echo "$path" > {result}; exit 1').read(IMAGE)
    assert not Path(result.read_text().strip()).exists()


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="only Linux limits another process's memory")
def test_the_program_runs_under_a_memory_limit(tmp_path: Path) -> None:
    noted = tmp_path / "limit"
    engine_of(tmp_path, f"{WORDS}; ulimit -v > {noted}").read(IMAGE)
    assert int(noted.read_text()) == 512 * 1024


def test_no_more_programs_run_than_there_are_workers(tmp_path: Path) -> None:
    count = f'n=$(ls {tmp_path}/run.* 2>/dev/null | wc -l); echo "$n" >> {tmp_path}/counts'
    script = f"touch {tmp_path}/run.$$; {count}; sleep 0.1; {WORDS}; rm {tmp_path}/run.$$"
    engine = engine_of(tmp_path, script)
    images = [png(Image.new("L", (400 + number, 100), 255)) for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert all(page.words for page in pool.map(engine.read, images))
    seen = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(seen) == 6
    assert 1 <= max(seen) <= 2


@pytest.mark.parametrize("data", [b"", b"/etc/passwd\n", b"\x89PNG\r\n\x1a\n" + b"x" * 40, b"\xff\xd8\xff" + b"x" * 40])
def test_bytes_that_are_no_png_never_reach_the_program(tmp_path: Path, data: bytes) -> None:
    noted = tmp_path / "reached"
    with pytest.raises(InvalidInputError, match="not a PNG"):
        engine_of(tmp_path, f"touch {noted}; {WORDS}").read(data)
    assert not noted.exists()


def test_an_image_of_too_many_pixels_never_reaches_the_program(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="60000 x 60000"):
        engine_of(tmp_path, WORDS).read(header_of(60_000, 60_000))


def test_without_orientation_data_each_turn_is_tried(tmp_path: Path) -> None:
    """The second page that the program is given reads well, whichever turn it has."""
    path = tmp_path / "tesseract"
    good = "".join(f"5\\t1\\t1\\t1\\t1\\t{n}\\t{10 + 90 * n}\\t10\\t80\\t20\\t96\\tharbour\\n" for n in range(5))
    bad = "5\\t1\\t1\\t1\\t1\\t1\\t10\\t10\\t60\\t20\\t31\\tjnoqJeq\\n"
    path.write_text(
        f"""#!/bin/sh
case "$*" in *--list-langs*) printf "List of available languages (1):\\neng\\n"; exit 0;; esac
cat > /dev/null
if [ -e {tmp_path}/once ]; then printf "{HEADER}{good}"; else touch {tmp_path}/once; printf "{HEADER}{bad}"; fi
"""
    )
    path.chmod(0o755)
    engine = TesseractEngine(program=str(path))
    page = engine.read(IMAGE)
    engine.close()
    assert page.rotation == 90
    assert page.text.startswith("harbour harbour")


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="only Linux confines programs")
def test_a_program_reads_its_image_and_nothing_else_of_ours(tmp_path: Path) -> None:
    image, other = tmp_path / "page.png", tmp_path / "secret"
    image.write_text("the page")
    other.write_text("a secret")
    run = functools.partial(run_program, readable=(str(image),), seconds=20.0, memory=512 << 20)
    assert run(["/bin/cat", str(image)]) == ("the page", "")
    for place in (str(other), "/etc/passwd", f"/proc/{os.getpid()}/environ"):
        with pytest.raises(InternalError) as caught:
            run(["/bin/cat", place])
        assert "denied" in caught.value.details


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="only Linux confines programs")
@pytest.mark.parametrize("line", ["exec /bin/cat {}", "/bin/cat {}; exit 3", "echo x > {}-2"])
def test_a_program_starts_no_other_and_writes_nothing(tmp_path: Path, line: str) -> None:
    image = tmp_path / "page.png"
    image.write_text("the page")
    command = ["/bin/sh", "-c", line.format(image)]
    with pytest.raises(InternalError) as caught:
        run_program(command, readable=(str(tmp_path),), seconds=20.0, memory=512 << 20)
    assert "the page" not in caught.value.details
    assert [each.name for each in tmp_path.iterdir()] == ["page.png"]


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="only Linux confines programs")
def test_a_program_that_cannot_be_loaded_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "tesseract"
    path.write_bytes(b"\x7fELF but no program")
    path.chmod(0o755)
    with pytest.raises(InternalError, match="could not be started"):
        run_program([str(path)], seconds=20.0, memory=512 << 20)


def test_a_line_with_a_longer_word_that_is_sure_is_kept_and_a_single_sign_can_be_a_word() -> None:
    box = (0, 0, 9, 9)
    words = (
        OcrWord("Drawing", 91.0, box, 0),
        OcrWord("7|", 31.0, box, 0),
        OcrWord("NN", 88.0, box, 1),
        OcrWord("trees", 45.0, box, 2),
        OcrWord("\u56f3", 90.0, box, 3),
    )
    assert [word.text for word in in_sure_lines(words)] == ["Drawing", "7|", "\u56f3"]


def row(text: str, left: int, top: int, width: int, height: int, line: int = 1, confidence: float = 90.0) -> str:
    """Print a word as the program does: level, page, block, paragraph, line, word, box, confidence, text."""
    return f"5\t1\t1\t1\t{line}\t1\t{left}\t{top}\t{width}\t{height}\t{confidence}\t{text}"


def test_letters_that_leaders_were_taken_for_are_no_words() -> None:
    rows = [row("Scope", 100, 100, 120, 32), row("oes", 240, 127, 300, 5, confidence=24), row("12", 700, 100, 40, 32)]
    assert [word.text for word in words_of("\n".join(rows))] == ["Scope", "12"]
    dots = [row("Scope", 100, 100, 120, 32), row(".....", 240, 127, 300, 5), row("12", 700, 100, 40, 32)]
    assert [word.text for word in words_of("\n".join(dots))] == ["Scope", ".....", "12"]


@pytest.mark.parametrize(
    ("text", "width", "height", "is_read_as"),
    [("Vv", 30, 32, "V"), ("Xx", 26, 23, "x"), ("Xx", 62, 32, "Xx"), ("Oo", 31, 32, "O"), ("Go", 31, 32, "Go")],
)
def test_a_letter_that_stands_alone_is_read_once(text: str, width: int, height: int, is_read_as: str) -> None:
    rows = [row("UNIT", 100, 100, 110, 32), row(text, 400, 200, width, height, line=2)]
    assert words_of("\n".join(rows))[1].text == is_read_as


def test_a_program_whose_page_nobody_wants_any_more_is_stopped(tmp_path: Path) -> None:
    class UnwantedError(Exception):
        pass

    def stop() -> None:
        raise UnwantedError

    with pytest.raises(UnwantedError), watch_for_stop(stop):
        run_program([program(tmp_path, "sleep 600")], seconds=20.0, memory=1 << 30)
