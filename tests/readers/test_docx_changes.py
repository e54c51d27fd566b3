"""Tracked changes and comments of Word files: the text is what it is once they are accepted; all are reported."""

from __future__ import annotations

from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.readers.docx_files import W, content_item, docx_bytes, heading, p, read_docx, relations, run, table
from tests.readers.in_process import HERE

_BY = 'w:id="1" w:author="J. Doe"'


def _came(words: str) -> str:
    return f"<w:ins {_BY}>{run(words)}</w:ins>"


def _went(words: str) -> str:
    return f'<w:del {_BY}><w:r><w:delText xml:space="preserve">{words}</w:delText></w:r></w:del>'


def _ended(words: str) -> str:
    """Write a paragraph whose end is deleted."""
    return p(words, "", f"<w:rPr><w:del {_BY}/></w:rPr>")


def _row(*cells: str, settings: str = "") -> str:
    inner = (f"<w:tc><w:tcPr>{settings if at == 1 else ''}</w:tcPr>{cell}</w:tc>" for at, cell in enumerate(cells))
    return f"<w:tr>{''.join(inner)}</w:tr>"


def _with_parts(body: str, **parts: str) -> Document:
    named = {f"word/{name}.xml": text for name, text in parts.items()}
    links = relations(*((f"r{at}", name.rstrip("1"), f"{name}.xml") for at, name in enumerate(parts)))
    return DocxReader(sandbox=HERE).read(content_item(docx_bytes(body, parts={**named, **links})))


def test_paragraphs_that_are_joined_keep_the_blank_between_them_and_need_none() -> None:
    assert read_docx(_ended("The pump shall start") + p(run(" within 5 s."))).text == "The pump shall start within 5 s."
    cells = table(_row(p("Name"), p("Limit")), _row(p("Supply"), _ended("vol") + p("tage")))
    assert "| Supply | voltage |" in read_docx(cells).text


def test_a_paragraph_before_a_table_stays_before_it_though_its_end_is_deleted() -> None:
    cells = table(_row(p("Name"), p("Limit")), _row(p("Supply"), p("24 V")))
    text = read_docx(_ended("The limits are these.") + cells + p("They hold at 23 °C.")).text
    assert text == "The limits are these.\n\n| Name | Limit |\n| --- | --- |\n| Supply | 24 V |\n\nThey hold at 23 °C."


def test_a_deleted_column_is_gone() -> None:
    deleted = f"<w:cellDel {_BY}/>"
    rows = (("Name", "Old", "New"), ("Supply", "24 V", "28 V"))
    cells = table(*(_row(p(one), p(_went(other)), p(last), settings=deleted) for one, other, last in rows))
    assert read_docx(cells).text == "| Name | New |\n| --- | --- |\n| Supply | 28 V |"


def test_changes_are_reported_with_the_clause_they_stand_in_and_what_came_and_went() -> None:
    note = f'<w:footnote w:id="2">{p(run("See ") + _went("ISO 9000"))}</w:footnote>'
    notes = f'<w:footnotes xmlns:w="{W}">{note}</w:footnotes>'
    moved = f"<w:moveFrom>{run('3')}</w:moveFrom>"
    header = f'<w:hdr xmlns:w="{W}">{p(run("Issue ") + moved + _came("4"))}</w:hdr>'
    body = heading(1, "Supply") + p(run("At most ") + _went("24 V") + _came("28 V"))
    document = _with_parts(body, footnotes=notes, header1=header)
    assert document.warnings == (
        "Tracked changes are not accepted yet (1 insertion, 2 deletions): the text was read as if they were.",
    )
    metadata = dict(document.metadata)
    assert metadata["pending_changes"] == (
        "clause 1, J. Doe, deletion “24 V” | clause 1, J. Doe, insertion “28 V” | J. Doe, deletion “ISO 9000”"
    )
    assert metadata["page_headers"] == "Issue 4"


def test_comments_are_reported_with_the_words_they_are_about_and_whether_they_are_resolved() -> None:
    names = f'xmlns:w="{W}" xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
    comments = (
        f'<w:comments {names}><w:comment w:id="0" w:author="J. Doe">'
        f'<w:p w14:paraId="0A">{run("Why 5 s?")}</w:p></w:comment>'
        f'<w:comment w:id="1"><w:p w14:paraId="0B">{run("Fine.")}</w:p></w:comment></w:comments>'
    )
    names = 'xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml"'
    states = '<w15:commentEx w15:paraId="0A" w15:done="1"/><w15:commentEx w15:paraId="0B" w15:done="0"/>'
    marked = '<w:commentRangeStart w:id="0"/>' + run("within 5 s") + '<w:commentRangeEnd w:id="0"/>'
    anchor = '<w:r><w:commentReference w:id="0"/></w:r>'
    body = heading(1, "Pump") + p(run("It starts ") + marked + anchor + run("."))
    document = _with_parts(
        body, comments=comments, commentsExtended=f"<w15:commentsEx {names}>{states}</w15:commentsEx>"
    )
    assert document.warnings == ("2 comments were omitted.",)
    assert dict(document.metadata)["comments"] == (
        "clause 1, J. Doe, resolved comment “within 5 s”: Why 5 s? | comment: Fine."
    )


def test_numbers_that_only_word_counts_and_parts_in_other_files_are_reported() -> None:
    counted = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> AUTONUMLGL </w:instrText></w:r>'
    body = p(counted + '<w:r><w:fldChar w:fldCharType="end"/></w:r>' + run("The unit shall be dry."))
    links = relations(("r1", "subDocument", "part.docx"))
    document = DocxReader(sandbox=HERE).read(content_item(docx_bytes(body, parts=links)))
    assert document.warnings == (
        "1 number that a field counts was not read (AUTONUM, LISTNUM).",
        "Sub-documents in the document are not read.",
    )
