"""Documents in XML: sections with numbers, lists, tables, notes and terms as they are printed; data stays data."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import BlockKind, Document, ReferenceKind
from knowledge_mcp.model.source import extension_of, media_type_of
from knowledge_mcp.readers.data.reader import DataReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of
from tests.readers.shown import outline, texts

READER = DataReader(sandbox=InProcessSandbox())


def read(data: str, name: str = "a.xml") -> Document:
    item = item_of(data.encode(), name)
    READER.check(item)
    return READER.read(item)


def rows(document: Document) -> list[str]:
    return [line for table in texts(document, BlockKind.TABLE) for line in table.split("\n")]


ARTICLES = """<akomaNtoso><act><meta><identification source="#x"><FRBRWork/></identification></meta><body>
<chapter><num>CHAPTER I</num><heading>General rules</heading>
<article eId="art_1"><num>Article 1</num><heading>Subject<eol/>and scope</heading>
<paragraph><num>1.</num><content><p>Keepers of bees shall register every hive that they keep.</p></content></paragraph>
<paragraph><num>2.</num><list><intro><p>The register shall hold:</p></intro>
<point><num>(a)</num><content><p>the place of the hive, with its height above the sea;</p></content></point>
<point><num>(b)</num><content><p>the name of its keeper<authorialNote marker="7"><p>Or of a firm.</p>
</authorialNote>.</p></content></point></list></paragraph></article></chapter></body></act></akomaNtoso>"""


def test_acts_have_chapters_articles_and_items_with_their_numbers() -> None:
    document = read(ARTICLES)
    assert outline(document) == [(1, "I", "General rules"), (2, "1", "Subject and scope")]
    assert texts(document, BlockKind.LIST_ITEM) == [
        "(a) the place of the hive, with its height above the sea;",
        "(b) the name of its keeper[7].",
    ]
    assert "2. The register shall hold:" in document.text
    assert texts(document, BlockKind.FOOTNOTE) == ["[7] Or of a firm."]
    assert "FRBR" not in document.text


FORMEX = """<ACT><BIB.INSTANCE><COLL>L</COLL></BIB.INSTANCE><TITLE><TI>
<P><HT TYPE="UC">Regulation</HT> 31 of the Union</P><P>on bees</P></TI></TITLE><PREAMBLE>
<GR.CONSID><GR.CONSID.INIT>Whereas:</GR.CONSID.INIT><CONSID><NP><NO.P>(1)</NO.P>
<TXT>Bees must be safe<NOTE NOTE.ID="E1"><P>OJ L 7.</P></NOTE>.</TXT></NP></CONSID></GR.CONSID></PREAMBLE>
<ENACTING.TERMS><DIVISION><TITLE><TI><P>CHAPTER I</P></TI><STI><P>Hives</P></STI></TITLE>
<ARTICLE><TI.ART>Article 1</TI.ART>
<STI.ART>Meanings</STI.ART><PARAG><NO.PARAG>1.</NO.PARAG><ALINEA>A keeper shall count bees.</ALINEA></PARAG>
<PARAG><NO.PARAG>2.</NO.PARAG><ALINEA><P>In this Regulation:</P><LIST TYPE="ALPHA"><ITEM><NP><NO.P>(a)</NO.P><TXT>
<QUOT.START CODE="2018"/>hive<QUOT.END CODE="2019"/>
means a house of H<HT TYPE="SUB">2</HT>;</TXT></NP></ITEM></LIST>
</ALINEA></PARAG></ARTICLE></DIVISION></ENACTING.TERMS></ACT>"""


def test_acts_of_the_european_union_have_chapters_articles_and_recitals() -> None:
    document = read(FORMEX)
    assert document.title == "Regulation 31 of the Union on bees"
    assert outline(document) == [(1, "I", "Hives"), (2, "1", "Meanings")]
    assert texts(document, BlockKind.LIST_ITEM) == ["(1) Bees must be safe[1].", "(a) ‘hive’ means a house of H₂;"]
    assert "1. A keeper shall count bees." in texts(document, BlockKind.PARAGRAPH)
    assert texts(document, BlockKind.FOOTNOTE) == ["[1] OJ L 7."]
    assert [each.text for each in find_statements(document)] == ["1. A keeper shall count bees."]


@pytest.mark.parametrize("code", ["", "zz", "D800", "110000"])
def test_a_damaged_code_of_a_quotation_mark_is_a_plain_mark(code: str) -> None:
    assert '"hive' in read(FORMEX.replace('CODE="2018"', f'CODE="{code}"')).text


def test_blocks_have_the_lines_of_the_file() -> None:
    document = read(ARTICLES)
    lines = {each.span.of(document.text)[:6]: each.lines for each in document.blocks}
    assert lines["Articl"] == (3, 3)
    assert lines["(a) th"] == (6, 6)


def test_british_acts_take_the_number_of_a_section_from_below_its_title_and_set_brackets() -> None:
    document = read(
        """<Legislation><Body><Pblock><Title>Hives</Title>
<P1group><Title>Duty to register</Title><P1><Pnumber>1</Pnumber><P1para>
<P2><Pnumber>1</Pnumber><P2para><Text>A keeper must register every hive in a month.</Text>
<P3><Pnumber>a</Pnumber><P3para><Text>unless the hive has stood empty for a year.</Text></P3para></P3>
</P2para></P2></P1para></P1></P1group>
<P1group><Title>Fees</Title><P1><Pnumber>2</Pnumber><P1para>
<Text>The register may charge a fee for every hive.</Text></P1para></P1></P1group>
</Pblock></Body></Legislation>"""
    )
    assert outline(document) == [(1, None, "Hives"), (2, "1", "Duty to register"), (2, "2", "Fees")]
    assert "(1) A keeper must register every hive in a month." in document.text
    assert "(a) unless the hive has stood empty for a year." in document.text


def test_marginal_notes_are_titles_and_headings_of_a_level_stand_above_what_follows() -> None:
    document = read(
        """<Statute><Body><Heading level="1"><Label>PART 1</Label><TitleText>Keeping of bees</TitleText></Heading>
<Section><MarginalNote>Definitions</MarginalNote><Label>2</Label><Subsection><Label>(1)</Label>
<Text>The definitions in this section apply to all Parts.</Text></Subsection></Section>
<Section><MarginalNote>Permit</MarginalNote><Label>2.1</Label><Text>No person shall keep bees without a permit.</Text>
<Paragraph><Label>(a)</Label><Text>A permit is valid for three years at most.</Text></Paragraph></Section>
<Heading level="1"><Label>PART 2</Label><TitleText>Fees</TitleText></Heading>
<Section><MarginalNote>Fee</MarginalNote><Label>3</Label><Text>The fee is set by the Board each year.</Text></Section>
</Body></Statute>"""
    )
    assert outline(document) == [
        (1, "1", "Keeping of bees"),
        (2, "2", "Definitions"),
        (2, "2.1", "Permit"),
        (1, "2", "Fees"),
        (2, "3", "Fee"),
    ]


def test_numbers_of_four_digits_count_where_the_file_marks_them() -> None:
    document = read(
        """<document><container><prefix>TITLE</prefix><num>IX</num><heading>HIVES</heading>
<section><num>1001</num><heading>Short title.</heading><text>This title may be cited as the Hive Act.</text>
<para><num>(a)</num><text>It applies to all hives of the District.</text></para></section>
<section><num>1002</num><heading>Fees.</heading><text>The Mayor shall set the fees for all hives.</text></section>
</container></document>"""
    )
    assert outline(document)[1:] == [(2, "1001", "Short title."), (2, "1002", "Fees.")]
    assert outline(document)[0][2].endswith("HIVES")


STANDARD = """<standard xml:lang="en"><front><std-meta><title-wrap xml:lang="de"><full>Bienen</full></title-wrap>
<title-wrap xml:lang="en"><full>Bees — Hives</full></title-wrap></std-meta></front><body>
<sec id="s3"><label>3</label><title>Terms and definitions</title>
<term-sec><label>3.1</label><tbx:termEntry xmlns:tbx="urn:t"><tbx:langSet><tbx:definition>box in which bees live
</tbx:definition><tbx:note>NOTE 1 A skep is one too, where bees live in it.</tbx:note>
<tbx:tig><tbx:term>hive</tbx:term></tbx:tig></tbx:langSet></tbx:termEntry></term-sec></sec>
<sec><label>4</label><title>Requirements</title><sec><label>4.1</label>
<p>A hive shall have a lid that keeps out the rain, see <xref rid="t1">Table 1</xref>.</p></sec>
<sec><label>4.2</label><p>The lid shall be fixed so that no storm lifts it.</p>
<list list-type="alpha"><list-item><label>a)</label><p>with two hooks, or with a strap of hemp;</p></list-item></list>
<table-wrap id="t1"><label>Table 1</label><caption><title>Lids</title></caption>
<table><thead><tr><th>Kind</th><th>Mass</th></tr></thead><tbody><tr><td>Pine</td><td>2 kg</td></tr></tbody></table>
</table-wrap></sec></sec></body></standard>"""


def test_standards_have_clauses_without_titles_terms_tables_and_references() -> None:
    document = read(STANDARD)
    assert document.title == "Bees — Hives"
    assert outline(document) == [
        (1, "3", "Terms and definitions"),
        (2, "3.1", "hive"),
        (1, "4", "Requirements"),
        (2, "4.1", ""),
        (2, "4.2", ""),
    ]
    assert texts(document, BlockKind.CAPTION) == ["Table 1 – Lids"]
    assert rows(document) == ["| Kind | Mass |", "| --- | --- |", "| Pine | 2 kg |"]
    assert "a) with two hooks, or with a strap of hemp;" in texts(document, BlockKind.LIST_ITEM)
    assert [(each.kind, each.target) for each in document.references] == [(ReferenceKind.TABLE, "Table 1")]


def test_topics_have_terms_with_what_is_said_of_them_and_no_index_entries() -> None:
    document = read(
        """<reference id="r"><title>Parameters</title><titlealts><navtitle>Short</navtitle></titlealts>
<refbody><section><title>Common</title><parml>
<plentry><pt><parmname>--hive</parmname></pt><pd conref="x.dita"/><pd>Names the hive that is weighed.<indexterm>hive
</indexterm></pd></plentry></parml>
<p>Use <codeph>--all</codeph> to weigh every hive of the yard.</p>
<ol><li>Put the scales on level ground.</li><li>Set them to zero before use.</li></ol></section></refbody>
<reference id="s"><title>Rare</title><refbody><p>These are for old scales only, and may go.</p></refbody></reference>
</reference>""",
        "p.dita",
    )
    assert outline(document) == [(1, None, "Parameters"), (2, None, "Common"), (2, None, "Rare")]
    assert "--hive: Names the hive that is weighed." in document.text
    assert texts(document, BlockKind.LIST_ITEM) == [
        "1. Put the scales on level ground.",
        "2. Set them to zero before use.",
    ]
    assert "navtitle" not in document.text
    assert "Short" not in document.text


def test_books_keep_titles_of_figures_as_captions_and_spans_of_their_tables() -> None:
    document = read(
        """<article><info><title>Weighing</title><author><personname>A. Keeper</personname></author></info>
<section xml:id="how"><title>How to weigh</title><para>Weigh each hive at dusk:
<itemizedlist><listitem><para>when all bees are home,</para></listitem></itemizedlist> and write it down.</para>
<para>A hive that has lost more than a kilogram is fed.</para><para>Weigh no hive in the rain, for wood drinks.</para>
<table><title>Masses</title><tgroup cols="3"><colspec colname="a"/><colspec colname="b"/><colspec colname="c"/>
<thead><row><entry>Hive</entry><entry namest="b" nameend="c">Mass</entry></row></thead>
<tbody><row><entry morerows="1">One</entry><entry>May</entry><entry>31 kg</entry></row>
<row><entry>June</entry><entry>40 kg</entry></row></tbody></tgroup></table>
<programlisting>if mass &gt; 40:
    harvest()</programlisting></section></article>"""
    )
    assert outline(document) == [(1, None, "Weighing"), (2, None, "How to weigh")]
    assert texts(document, BlockKind.CAPTION) == ["Masses"]
    assert rows(document)[-1] == "| One | June | 40 kg |"
    assert texts(document, BlockKind.CODE) == ["if mass > 40:\n    harvest()"]
    assert "and write it down." in texts(document, BlockKind.PARAGRAPH)


def test_parts_may_be_named_by_attributes_and_a_document_by_its_head() -> None:
    document = read(
        """<xep><header><title>Hive Protocol</title><abstract>How hives talk.</abstract></header>
<section1 topic="Introduction" anchor="intro"><p>Hives MUST answer when they are asked how they are.</p>
<section2 topic="Words"><p>The words of this document are those of the trade.</p>
<example caption="A question"><p>How are you today, dear hive of mine?</p></example></section2></section1></xep>"""
    )
    assert outline(document) == [(1, None, "Hive Protocol"), (2, None, "Introduction"), (3, None, "Words")]
    assert document.title == "Hive Protocol"
    assert texts(document, BlockKind.CAPTION) == ["A question"]


def test_headings_of_the_register_name_what_follows_them() -> None:
    document = read(
        """<RULE><PREAMB><AGENCY>BOARD OF BEES</AGENCY><SUBJECT>Hives in Towns</SUBJECT></PREAMB><SUPLINF>
<HD SOURCE="HD1">I. Background</HD><P>Hives in towns have become many in the last years.<SU>1</SU><FTREF/></P>
<FTNT><P><SU>1</SU> See the report of the Board.</P></FTNT><HD SOURCE="HD2">A. Towns</HD>
<P>Towns are places with more than a thousand people.</P></SUPLINF>
<SECTION><SECTNO>§ 226.1</SECTNO><SUBJECT>Purpose.</SUBJECT><P>This part tells where hives may stand.</P>
</SECTION></RULE>"""
    )
    assert outline(document) == [(1, "I", "Background"), (2, "A", "Towns"), (1, "226.1", "Purpose.")]
    assert document.title == "Hives in Towns"


@pytest.mark.parametrize(
    "data",
    [
        "<list>" + "<item><id>1</id><text>Buy honey and wax for the whole of next week.</text></item>" * 4 + "</list>",
        "<hives>" + '<hive name="a"><p>12</p><place>by the long wall of the yard</place></hive>' * 5 + "</hives>",
    ],
)
def test_records_of_data_are_read_as_tables_and_not_as_a_document(data: str) -> None:
    assert any(each.kind is BlockKind.TABLE for each in read(data).blocks)
    assert read(data).metadata


def test_data_whose_attributes_say_what_its_paragraphs_are_about_keeps_them() -> None:
    limits = "".join(
        f'<set-limit hive-id="h-{number}"><p>Keepers shall look at it once in {number} weeks.</p></set-limit>'
        '<prop name="label" value="Long wall"/>'
        for number in range(2, 9)
    )
    document = read(f"<profile>{limits}</profile>")
    assert "h-7" in document.text
    assert "Long wall" in document.text


def test_names_that_are_no_names_do_not_damage_a_file() -> None:
    document = read(ARTICLES.replace('eId="art_1"', 'xml:id="1"'))
    assert "Subject and scope" in document.text


def test_entities_that_are_not_known_are_kept_as_they_are_written() -> None:
    document = read(
        '<!DOCTYPE a SYSTEM "a.dtd"><article><title>A</title><para>See &hive; for what a keeper has to do.</para>'
        "<para>It is a long list of many things to do.</para><para>Nobody has ever done all of them.</para></article>"
    )
    assert "See &hive; for what a keeper has to do." in document.text


@pytest.mark.parametrize("name", ["a.dita", "a.dbk", "a.nxml", "a.xml"])
def test_files_of_xml_are_recognised_by_their_extensions(name: str) -> None:
    assert media_type_of(name) == "application/xml"
    assert extension_of("application/xml") == ".xml"


PAPER = """<article><front><article-meta><article-id>10.1/pumps</article-id><article-categories><subj-group>
<subject>Engines</subject><subj-group><subject>Seals</subject></subj-group></subj-group></article-categories>
<title-group><article-title>Seals of old pumps</article-title></title-group><contrib-group><contrib><name>
<surname>Roe</surname><given-names>Jane</given-names></name><xref rid="a1">1</xref></contrib></contrib-group>
<pub-date><day>4</day><year>2020</year></pub-date></article-meta></front><body>
<sec><title>Results<fn><p>All of them.</p></fn></title><p>Every pump that we opened had lost its seal by then.</p>
<fig><object-id>10.1/pumps.g1</object-id><label>Figure 1</label><caption><title>An old seal.</title><p>%s</p></caption>
</fig><p>The loss follows <inline-formula><inline-graphic href="pumps.e1"/></inline-formula> in all cases.</p></sec>
<sec><title>Causes</title><p>Rubber hardens with the years, and then it no longer closes the gap.</p></sec></body>
</article>""" % ("What the seal looks like after thirty years of use in cold water. " * 8)


def test_authors_subjects_and_titles_of_figures_are_no_sections_of_an_article() -> None:
    document = read(PAPER)
    assert [section.title for section in document.sections] == ["Seals of old pumps", "Results", "Causes"]
    assert texts(document, BlockKind.PARAGRAPH)[:2] == ["Roe Jane 1", "4 2020"]
    assert texts(document, BlockKind.CAPTION) == ["Figure 1 – An old seal."]
    for missing in ("Engines", "10.1/", "pumps.e1"):
        assert missing not in document.text


def test_a_note_to_a_title_follows_it() -> None:
    assert texts(read(PAPER), BlockKind.FOOTNOTE) == ["[1] All of them."]
