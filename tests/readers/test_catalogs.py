"""Control catalogues: OSCAL in JSON, YAML and XML gives the same items, benchmarks give rules, hostile files an end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import Document, RequirementItem
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import OSCAL_YAML, kind_of
from knowledge_mcp.readers.data.reader import DataReader
from knowledge_mcp.readers.requirements.catalogs import recognised
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of

READER = DataReader(sandbox=InProcessSandbox())
METADATA = {"title": "Rules of the mill", "version": "2", "oscal-version": "1.1.2"}
GRIND = {
    "id": "gr-1",
    "class": "mill",
    "title": "Grinding",
    "params": [
        {"id": "gr-1_prm_1", "label": "speed"},
        {
            "id": "gr-1_prm_2",
            "select": {"how-many": "one-or-more", "choice": ["rye", "oats at {{ insert: param, x }}"]},
        },
        {"id": "x", "values": ["noon"]},
    ],
    "props": [{"name": "label", "value": "GR-01", "class": "padded"}, {"name": "label", "value": "GR-1"}],
    "links": [{"href": "#gr-1.1", "rel": "related"}, {"href": "#r1", "rel": "reference"}],
    "parts": [
        {
            "id": "gr-1_smt",
            "name": "statement",
            "prose": "The miller:",
            "parts": [
                {
                    "id": "gr-1_smt.a",
                    "name": "item",
                    "props": [{"name": "label", "value": "a."}, {"name": "hint", "value": "You must look."}],
                    "prose": "Turns the stone at {{ insert: param, gr-1_prm_1 }}; and",
                },
                {
                    "id": "gr-1_smt.b",
                    "name": "item",
                    "props": [{"name": "label", "value": "b."}],
                    "prose": "Grinds {{ insert: param, gr-1_prm_2 }}.",
                },
            ],
        },
        {"id": "gr-1_gdn", "name": "guidance", "prose": "A stone must rest at night."},
    ],
    "controls": [
        {
            "id": "gr-1.1",
            "title": "Old stones",
            "props": [{"name": "label", "value": "GR-1(1)"}, {"name": "status", "value": "withdrawn"}],
            "links": [{"href": "#gr-1_smt.a", "rel": "incorporated-into"}],
        }
    ],
}
CATALOG: dict[str, Any] = {
    "catalog": {
        "uuid": "u1",
        "metadata": METADATA,
        "groups": [{"id": "gr", "title": "Grain", "controls": [GRIND]}],
        "back-matter": {"resources": [{"uuid": "r1", "title": "The book of stones"}]},
    }
}
XML = """<catalog xmlns="http://csrc.nist.gov/ns/oscal/1.0" uuid="u1">
<metadata><title>Rules of the mill</title><version>2</version><oscal-version>1.1.2</oscal-version></metadata>
<group id="gr"><title>Grain</title>
<control id="gr-1" class="mill"><title>Grinding</title>
<param id="gr-1_prm_1"><label>speed</label></param>
<param id="gr-1_prm_2"><select how-many="one-or-more"><choice>rye</choice>
<choice>oats at <insert type="param" id-ref="x"/></choice></select></param>
<param id="x"><value>noon</value></param>
<prop name="label" value="GR-01" class="padded"/><prop name="label" value="GR-1"/>
<link href="#gr-1.1" rel="related"/><link href="#r1" rel="reference"/>
<part id="gr-1_smt" name="statement"><p>The miller:</p>
<part id="gr-1_smt.a" name="item"><prop name="label" value="a."/><prop name="hint" value="You must look."/>
<p>Turns the stone at <insert type="param" id-ref="gr-1_prm_1"/>; and</p></part>
<part id="gr-1_smt.b" name="item"><prop name="label" value="b."/>
<p>Grinds <insert type="param" id-ref="gr-1_prm_2"/>.</p></part></part>
<part id="gr-1_gdn" name="guidance"><p>A stone <em>must</em> rest
at night.</p></part>
<control id="gr-1.1"><title>Old stones</title><prop name="label" value="GR-1(1)"/>
<prop name="status" value="withdrawn"/><link href="#gr-1_smt.a" rel="incorporated-into"/></control>
</control></group>
<back-matter><resource uuid="r1"><title>The book of stones</title></resource></back-matter>
</catalog>"""


def as_yaml(value: Any, indent: int = 0) -> str:
    """Write YAML as tools do, with each value on a line."""
    pad = " " * indent
    if isinstance(value, dict):
        return "".join(
            f"{pad}{key}: {json.dumps(inner)}\n"
            if isinstance(inner, str)
            else f"{pad}{key}:\n{as_yaml(inner, indent + 2)}"
            for key, inner in cast("dict[str, Any]", value).items()
        )
    return "".join(
        f"{pad}- {json.dumps(each)}\n" if isinstance(each, str) else f"{pad}-\n{as_yaml(each, indent + 2)}"
        for each in value
    )


FILES = {
    "mill.json": json.dumps(CATALOG, indent=1),
    "mill.xml": XML,
    "mill.yaml": as_yaml(CATALOG),
}


def read(data: str, name: str) -> Document:
    item = replace(item_of(data.encode(), name), media_type=kind_of(name, data.encode()[:1024]))
    READER.check(item)
    return READER.read(item)


def of_values(values: Mapping[str, Any]) -> Document:
    return read(json.dumps(values), "made.json")


def items_by_id(document: Document) -> dict[str, RequirementItem]:
    return {each.id: each for each in document.items}


@pytest.mark.parametrize("name", FILES)
def test_a_catalogue_gives_its_controls_in_each_syntax(name: str) -> None:
    document = read(FILES[name], name)
    items = items_by_id(document)
    assert list(items) == ["GR-1", "GR-1(1)"]
    grind, old = items.values()
    assert grind.text == "The miller:\na. Turns the stone at [speed]; and\nb. Grinds [one or more: rye; oats at noon]."
    assert (grind.title, grind.kind, grind.attributes["id"]) == ("Grinding", "mill", "gr-1")
    assert [(link.target, link.kind) for link in grind.links] == [("GR-1(1)", "related")]
    assert grind.attributes["reference"] == "The book of stones"
    assert (old.informative, [(link.target, link.kind) for link in old.links]) == (
        True,
        [("GR-1", "incorporated-into")],
    )
    assert document.title == "Rules of the mill"


@pytest.mark.parametrize("name", FILES)
def test_only_the_statement_of_a_control_is_binding_and_nothing_is_lost(name: str) -> None:
    document = read(FILES[name], name)
    statements = find_statements(document)
    assert [(each.identifier, each.weak) for each in statements] == [("GR-1", True)]
    for words in ("You must look.", "A stone must rest at night.", "GR-01", "The book of stones", "oscal-version"):
        assert words in document.text


@pytest.mark.parametrize("name", FILES)
def test_a_control_is_cited_by_the_line_on_which_it_begins(name: str) -> None:
    lines = FILES[name].split("\n")
    for item in read(FILES[name], name).items:
        assert f'"{item.attributes["id"]}"' in lines[item.line - 1]


def test_a_control_with_the_label_of_another_has_its_own_id() -> None:
    label = [{"name": "label", "value": "A-1"}]
    controls = [{"id": "a-1", "props": label}, {"id": "a-2", "props": label}, {"id": "a-2"}, {"title": "Nameless"}]
    document = of_values({"catalog": {"metadata": METADATA, "controls": controls}})
    assert [each.id for each in document.items] == ["a-1", "a-2", "a-2#2", "control"]


def test_a_profile_selects_and_changes_controls() -> None:
    profile = {
        "metadata": METADATA,
        "imports": [{"href": "#u", "include-controls": [{"with-ids": ["gr-1", "gr-2", "gr-1"]}]}],
        "modify": {
            "set-parameters": [{"param-id": "gr-1_prm_1", "values": ["slow"]}],
            "alters": [
                {"control-id": "gr-1", "adds": [{"parts": [{"name": "item", "prose": "The miller shall rest."}]}]},
                {"control-id": "gr-9", "adds": [{"parts": [{"name": "guidance", "prose": "It must be fun."}]}]},
            ],
        },
    }
    document = of_values({"profile": profile})
    items = items_by_id(document)
    assert {name: [(link.target, link.kind) for link in each.links] for name, each in items.items()} == {
        "gr-1": [("gr-1", "select")],
        "gr-2": [("gr-2", "select")],
        "gr-9": [("gr-9", "alter")],
    }
    assert items["gr-1"].text == "The miller shall rest."
    assert [each.identifier for each in find_statements(document)] == ["gr-1"]
    assert "It must be fun." in document.text
    assert "slow" in document.text


def test_a_component_claims_to_implement_controls() -> None:
    claim = {
        "uuid": "c1",
        "control-id": "gr-1",
        "description": "The wheel runs at {{ insert: param, gr-1_prm_1 }}.",
        "set-parameters": [{"param-id": "gr-1_prm_1", "values": ["dusk"]}],
        "statements": [{"statement-id": "gr-1_smt.a", "uuid": "s", "description": "It brakes."}],
    }
    one = {"uuid": "w", "title": "Wheel", "control-implementations": [{"implemented-requirements": [claim, claim]}]}
    document = of_values({"component-definition": {"metadata": METADATA, "components": [one]}})
    first, second = document.items
    assert (first.id, second.id) == ("Wheel: gr-1", "Wheel: gr-1#2")
    assert first.text == "The wheel runs at dusk.\ngr-1_smt.a: It brakes."
    assert [(link.target, link.kind) for link in first.links] == [("gr-1", "implements")]


BENCHMARK = """<Benchmark xmlns="http://checklists.nist.gov/xccdf/1.2" id="xccdf_org.example_benchmark_mill">
<title>Mill benchmark</title>
<Profile id="xccdf_org.example_profile_strict"><title>Strict</title><select idref="V-1" selected="true"/>
<select idref="xccdf_org.example_rule_brake" selected="false"/></Profile>
<Value id="xccdf_org.example_value_time"><title>Time</title><value>60</value><value selector="long">90</value></Value>
<Group id="V-1"><title>SRG-1</title><Rule id="SV-1r2_rule" severity="high"><version>MILL-01-000010</version>
<title>The mill must stop at night.</title>
<description>&lt;VulnDiscussion&gt;Noise wakes people.&lt;/VulnDiscussion&gt;
&lt;Documentable&gt;&lt;/Documentable&gt;</description>
<ident system="http://cyber.mil/cci">CCI-000366</ident><fixtext>Pull:

$ lever</fixtext><check><check-content>Listen.</check-content></check></Rule></Group>
<Group id="g2"><title>Brakes</title><description>About brakes.</description>
<Rule id="xccdf_org.example_rule_brake"><title>Brake</title>
<description>The brake holds for <sub idref="xccdf_org.example_value_time"/> seconds.</description></Rule>
<Rule id="xccdf_org.example_rule_still"><title>The wheel is not still.</title></Rule></Group>
</Benchmark>"""


def test_a_benchmark_gives_its_rules_and_profiles() -> None:
    document = read(BENCHMARK, "mill.xml")
    items = items_by_id(document)
    assert list(items) == ["MILL-01-000010", "brake", "still", "strict"]
    stop, brake = items["MILL-01-000010"], items["brake"]
    assert stop.text == "The mill must stop at night."
    assert stop.attributes["VulnDiscussion"] == "Noise wakes people."
    assert stop.attributes["fixtext"] == "Pull:\n\n$ lever"
    assert (stop.attributes["severity"], stop.attributes["group"], stop.attributes["rule"]) == (
        "high",
        "V-1",
        "SV-1r2_rule",
    )
    assert [(link.target, link.kind) for link in stop.links] == [("CCI-000366", "ident")]
    assert brake.text == "The brake holds for 60 seconds."
    assert [(link.target, link.kind) for link in items["strict"].links] == [("MILL-01-000010", "select")]
    assert items["strict"].attributes["unselect"] == "brake"
    assert [each.identifier for each in find_statements(document)] == ["MILL-01-000010", "brake", "still"]


@pytest.mark.parametrize(
    "values",
    [
        {"catalog": {"metadata": {"title": "Shop"}, "products": [{"id": 1, "name": "Shoe"}]}},
        {"catalog": {"metadata": ["x"], "controls": [{"id": "a-1"}]}},
        {"profile": {"metadata": {"age": 3}, "imports": [{"url": "x"}], "name": "Ada"}},
        {"catalog": {"metadata": METADATA}},
    ],
)
def test_what_only_looks_like_a_catalogue_is_read_as_data(values: dict[str, Any]) -> None:
    document = of_values(values)
    assert document.items == ()
    assert next(iter(values)) in document.text


def test_values_of_wrong_types_are_not_lost() -> None:
    control = {"id": "a-1", "title": {"of": "gold"}, "params": {"p": "silver"}, "props": "brass", "parts": ["tin", 7]}
    document = of_values({"catalog": {"metadata": METADATA, "groups": "iron", "controls": [control, "lead"]}})
    assert all(words in document.text for words in ("gold", "silver", "brass", "tin", "iron", "lead"))


def test_parameters_that_contain_each_other_end() -> None:
    choice = "{{ insert: param, p1 }} {{ insert: param, p2 }} " * 40
    params = [{"id": name, "select": {"choice": [choice]}} for name in ("p1", "p2")]
    part = {"name": "statement", "prose": "Choose {{ insert: param, p1 }}."}
    control = {"id": "a-1", "params": params, "parts": [part]}
    (item,) = of_values({"catalog": {"metadata": METADATA, "controls": [control]}}).items
    assert item.text.startswith("Choose [")
    assert len(item.text) < 5000


def test_hostile_catalogues_are_refused() -> None:
    deep: dict[str, Any] = {"id": "a"}
    for _ in range(200):
        deep = {"id": "a", "controls": [deep]}
    with pytest.raises(UnreadableDocumentError) as caught:
        of_values({"catalog": {"metadata": METADATA, "controls": [deep]}})
    assert caught.value.reason is UnreadableReason.UNSUPPORTED
    head = "catalog:\n  metadata: {title: t}\n  controls: &c\n  - id: a-1\n"
    with pytest.raises(UnreadableDocumentError) as caught:
        read(head.replace("metadata: {title: t}", "metadata:\n    title: t") + "    controls: *c\n", "loop.yaml")
    assert caught.value.reason is UnreadableReason.CORRUPTED


@pytest.mark.parametrize("place", ["    parts: *a9\n", "other: *a9\n"], ids=["inside", "beside"])
def test_aliases_that_make_much_of_little_are_refused_before_they_are_followed(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    make = recognised.YamlValues.made

    def counting(self: recognised.YamlValues, node: object) -> tuple[object, int]:
        nonlocal calls
        calls += 1
        return make(self, node)

    monkeypatch.setattr(recognised.YamlValues, "made", counting)
    bomb = "".join(f"    a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
    head = f"catalog:\n  metadata:\n    title: t\n    a0: &a0 [x]\n{bomb}  controls:\n  - id: a-1\n"
    with pytest.raises(UnreadableDocumentError) as caught:
        read(head + place, "bomb.yaml")
    assert caught.value.reason is UnreadableReason.TOO_LARGE
    assert calls < 200


def test_a_list_as_a_name_in_yaml_is_refused() -> None:
    with pytest.raises(UnreadableDocumentError) as caught:
        read("catalog:\n  metadata:\n    title: t\n    ? [a, b]\n    : c\n", "list.yaml")
    assert caught.value.reason is UnreadableReason.CORRUPTED


def test_yaml_is_a_catalogue_only_by_its_first_lines() -> None:
    head = b"# made by a tool\n---\ncatalog:\n  uuid: u\n"
    assert kind_of("mill.yaml", head) == kind_of("mill.YML", head) == OSCAL_YAML
    assert kind_of("mill.txt", head) != OSCAL_YAML
    for other in (b"catalog: 1\n", b"services:\n  catalog:\n    uuid: u\n", b"profile:\n  name: Ada\n", b""):
        assert kind_of("other.yaml", other) != OSCAL_YAML
