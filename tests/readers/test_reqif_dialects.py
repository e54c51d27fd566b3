"""ReqIF of several tools: what each of them does is read, and all of it is still there when more is put in."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.cli.knowledge.inspect import file_item
from knowledge_mcp.engine.tracing.links import Evidence, Trace, TraceItem, TraceLink, Verdict
from knowledge_mcp.model.document import DeclaredLink, HiddenReason, RequirementItem
from knowledge_mcp.model.source import MEDIA_TYPES
from knowledge_mcp.readers.requirements.reader import RequirementFileReader, RequirementReader
from knowledge_mcp.surfaces.interchange import as_needs, as_reqif
from tests.readers.in_process import InProcessSandbox
from tests.readers.reqif_dialects import DOORS, POLARION, PTC, STRICTDOC
from tests.readers.requirement_files import REQIF, zipped

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NOTHING = Evidence("", "", ())


@pytest.fixture(scope="module")
def reader() -> Iterator[RequirementReader]:
    """Yield a reader; it is closed."""
    made = RequirementReader()
    yield made
    made.close()


def read(reader: RequirementReader, path: Path, content: str | bytes) -> tuple[RequirementItem, ...]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return reader.read(file_item(path)).items


def trace_item(found: RequirementItem) -> TraceItem:
    links = tuple(link.target for link in found.links)
    return TraceItem(found.id, found.title, found.text, "a", links, found.attributes)


def parts(text: str) -> list[str]:
    return [part.replace("/>", ">") for part in re.findall("<[^>]+>|[^<>]+", text) if part.strip()]


def in_order(old: list[str], new: list[str]) -> bool:
    rest = iter(new)
    return all(any(part == other for other in rest) for part in old)


def test_doors_has_objects_within_objects_names_twice_and_relations_to_other_modules(
    reader: RequirementReader, tmp_path: Path
) -> None:
    chapter, second = read(reader, tmp_path / "a.reqif", DOORS)
    assert (chapter.title, chapter.level, second.level) == ("Gate", "1", "1.1")
    assert (chapter.informative, second.informative) == (True, False)
    assert chapter.links == (DeclaredLink("_away", "satisfies (from)"),)
    assert second.links == (DeclaredLink("_elsewhere", "satisfies"),)
    assert second.text == "Shown in [files/gate.png] below."
    assert (second.attributes["Rationale"], second.attributes["Rationale (_q)"]) == ("as built", "as sold")
    assert (second.attributes["ALTERNATIVE-ID"], second.attributes["DESC"]) == ("GATE-2", "a note")


def test_polarion_has_tables_and_several_values_of_an_enumeration(reader: RequirementReader, tmp_path: Path) -> None:
    (found,) = read(reader, tmp_path / "a.reqif", POLARION)
    assert (found.id, found.title, found.level) == ("WI-7", "Drive", "1")
    assert found.text == "Torque 5 Nm\nTime 2 s"
    assert found.attributes["Severity"] == "Must have, Safety"


def test_ptc_has_defaults_that_objects_do_not_repeat_and_values_that_were_simplified(
    reader: RequirementReader, tmp_path: Path
) -> None:
    first, second = read(reader, tmp_path / "a.reqif", PTC)
    assert first.text == "The gate shall close.\n\nAt once."
    assert [each.attributes["State"] for each in (first, second)] == ["Proposed", "Agreed"]
    assert (first.attributes["Shared"], second.attributes["Additional"]) == ("true", "short and long")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "dialect", [DOORS, POLARION, PTC, STRICTDOC, REQIF], ids=["doors", "polarion", "ptc", "sdoc", "plain"]
)
def test_all_of_a_file_is_kept_when_more_is_put_in(
    reader: RequirementReader, tmp_path: Path, dialect: str, encoding: str
) -> None:
    mark = "" if encoding == "utf-8" else "\ufeff"
    base = (mark + dialect.replace("UTF-8", "UTF-16" if mark else "UTF-8")).encode(encoding)
    before = read(reader, tmp_path / "a.reqif", base)
    sources, added = [trace_item(each) for each in before], TraceItem("t", "", "The test shall pass.", "")
    found = Trace((TraceLink(sources[0], added, Verdict.DECLARED, 1.0, NOTHING),), (), (), 1.0)
    more = as_reqif((("a", sources), ("b", [added])), found, (0, base), NOW)
    assert in_order(parts(base.decode(encoding)), parts(more.decode(encoding)))
    groups = re.compile("<[^<>]*RELATION-GROUP .*</[^<>]*RELATION-GROUP>", re.DOTALL)
    assert groups.findall(more.decode(encoding)) == groups.findall(base.decode(encoding))
    after = {each.id: each for each in read(reader, tmp_path / "b.reqif", more)}
    assert after.pop("t").text == "The test shall pass."  # though the file has a type of that name
    for each in before:
        kept = after.pop(each.id)
        assert (kept.text, kept.attributes, kept.level) == (each.text, each.attributes, each.level)
        assert set(each.links) <= set(kept.links)
    assert after == {}


def test_an_item_of_the_other_set_with_the_id_of_an_object_is_put_in_once_beside_it(
    reader: RequirementReader, tmp_path: Path
) -> None:
    base = REQIF.encode()
    sources = [trace_item(each) for each in read(reader, tmp_path / "a.reqif", base)]
    other = TraceItem("o1", "", "The test stops the pump.", "")
    found = Trace((TraceLink(sources[0], other, Verdict.DECLARED, 1.0, NOTHING),), (), (), 1.0)
    for _ in range(2):
        base = as_reqif((("a", sources), ("b", [other])), found, (0, base), NOW)
    texts = [each.text for each in read(reader, tmp_path / "b.reqif", base)]
    assert texts.count("The test stops the pump.") == 1
    assert texts.count("The pump shall stop\nwhen the tank is full.") == 1


def test_archives_of_several_files_are_added_to_once_and_keep_what_is_attached(
    reader: RequirementReader, tmp_path: Path
) -> None:
    path = zipped(tmp_path / "a.reqifz", one__xml=DOORS, two__reqif=PTC, picture__png=b"\x89PNG")
    before = reader.read(file_item(path)).items
    sources, added = [trace_item(each) for each in before], TraceItem("T-1", "", "The test shall pass.", "")
    found = Trace((TraceLink(sources[-1], added, Verdict.DECLARED, 1.0, NOTHING),), (), (), 1.0)
    more = tmp_path / "b.reqifz"
    more.write_bytes(as_reqif((("a", sources), ("b", [added])), found, (0, path.read_bytes()), NOW))
    assert [each.id for each in reader.read(file_item(more)).items] == ["_1", "_2", "T-1", "q1", "q2"]
    with zipfile.ZipFile(more) as archive:
        assert archive.namelist() == ["one.xml", "two.reqif", "picture.png"]
        assert (archive.read("two.reqif").decode(), archive.read("picture.png")) == (PTC, b"\x89PNG")


def test_links_within_a_set_are_written_too(reader: RequirementReader, tmp_path: Path) -> None:
    one, two = TraceItem("ONE_1", "", "It shall stop.", "", ("TWO_2", "ELSEWHERE")), TraceItem("TWO_2", "", "Stop.", "")
    other, nothing = TraceItem("THREE", "", "It runs.", ""), Trace((), (), (), 1.0)
    content = as_reqif((("a", [one, two]), ("b", [other])), nothing, None, NOW)
    found = {each.id: each.links for each in read(reader, tmp_path / "a.reqif", content)}
    assert [link.target for link in found["ONE_1"]] == ["TWO_2"]
    needs = read(reader, tmp_path / "needs.json", as_needs([one, two], [other], nothing))
    assert [[link.target for link in each.links] for each in needs] == [["TWO_2", "ELSEWHERE"], [], []]


@pytest.mark.parametrize(
    "struck", ["<xhtml:del>24 V</xhtml:del>", "<xhtml:span style='text-decoration: line-through'>24 V</xhtml:span>"]
)
def test_what_is_struck_out_is_no_text_and_files_that_are_not_read_are_reported(struck: str, tmp_path: Path) -> None:
    words = f"stop <xhtml:b>at</xhtml:b> {struck} 28 V, as <xhtml:object data='fig.png'/> shows"
    path = tmp_path / "a.reqif"
    path.write_text(REQIF.replace("stop<", f"{words}<"))
    with contextlib.closing(RequirementFileReader(sandbox=InProcessSandbox())) as made:
        document = made.read(dataclasses.replace(file_item(path), media_type=MEDIA_TYPES[".reqif"]))
    assert "The pump shall stop at 28 V, as [fig.png] shows" in document.text
    assert document.hidden == ((HiddenReason.STRUCK.value, 3),)
    assert "1 image or embedded file is not read." in document.warnings
