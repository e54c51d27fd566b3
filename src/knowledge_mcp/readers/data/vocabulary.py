"""Element names of documents in XML, grouped by function, for all vocabularies that are read in the same way.

Names are local and in lower case. They are those of RFC XML, DITA, DocBook, JATS and NISO STS, TEI, Akoma Ntoso, USLM,
the legislation of the United Kingdom, Canada and the District of Columbia, the Federal Register, and XMPP.
"""

from __future__ import annotations


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


TITLES = _names(
    "title head heading name titletext subject marginalnote bridgehead article-title ttitle stitle sidehead"
)
"""Titles of the parts that contain them."""
NUMBERS = _names("num number label pnumber sectno enum")
"""Numbers of the parts that contain them."""
PREFIXES = _names("prefix")
"""Words before a number: "TITLE" of "TITLE IX"."""
WRAPPERS = _names("info articleinfo bookinfo chapterinfo sectioninfo header front titleblock title-group article-meta")
"""Contain the title of their part, among other things."""
TITLE_ATTRIBUTES = ("title", "topic")
"""Attributes that name a part: of RFCs of version 2 and of XMPP's documents."""
FLAT_HEADINGS = _names("hd heading scheduleformheading groupheading")
"""Headings of what follows them, as in HTML; "heading" if it contains a number or a title."""
PARAGRAPHS = _names("p para simpara formalpara t fp ab l ptext shortdesc cmd")
SENTENCES = _names("li dd pd note dt pt")
"""Hold words without a paragraph; only documents have them."""
WEAK_PARAGRAPHS = _names("text")
"""Paragraphs of legislation; in data, a text can be anything."""
INLINE = _names(
    "a abbr acronym b bold citation cite code codeph command emph emphasis em eref cref bcp14 filename filepath"
    " fixed-case g hi i italic literal monospace option parmname ph q quote ref replaceable roman sc span std strong"
    " sub sup sup2 tag term tt u ulink underline uri userinput varname xref link e su date br lb def mod ins del"
    " xrefexternal xrefinternal definedtermen definedtermfr citationsubref internallink footnoteref inline-formula"
    " math affecteddocument"
)
LISTS = _names(
    "ul ol list itemizedlist orderedlist simplelist unorderedlist sl steps steps-unordered substeps choices"
    " procedure bibliolist"
)
ORDERED = _names("ol orderedlist steps procedure")
ITEMS = _names("li item listitem list-item step substep sli choice member")
ENTRIES = _names("varlistentry plentry dlentry def-item glossentry")
"""Hold terms and their definitions; a list in which these alternate is a `dl`."""
TERMS = _names("dt term pt glossterm label")
DEFINED = _names("dd listitem pd def glossdef item")
TABLES = _names("table informaltable simpletable gpotable tabular properties choicetable")
ROWS = _names("tr row strow sthead boxhd property prophead chrow chhead")
HEADS = _names("thead sthead boxhd prophead chhead")
CELLS = _names("td th entry cell stentry ched ent proptype propvalue propdesc choption chdesc")
CAPTIONED = _names("figure fig example informalexample table-wrap tablegroup image").union(TABLES)
"""Their title is a caption, not a heading."""
CODE = _names(
    "programlisting screen codeblock sourcecode artwork literallayout preformat eg pre egxml synopsis msgblock"
)
QUOTES = _names("blockquote disp-quote lq quotedstructure")
NOTES_BELOW = _names("fn footnote authorialnote ftnt")
IMAGES = _names("graphic inline-graphic imagedata mediaobject media img")
SOURCES = _names(
    "contrib pub-date reference biblioentry bibl biblstruct ref mixed-citation element-citation bibliomixed"
)
"""Cited works, authors and dates, whose parts make one line."""
DATA_ABOUT = _names(
    "meta metadata teiheader std-meta iso-meta reg-meta nat-meta journal-meta prolog recentamendments colspec col"
    " workflow std-doc-meta indexterm titlealts draft-comment std-id-group partofspeech normativeauthorization"
    " required-cleanup article-categories article-id contrib-id object-id custom-meta-group counts"
)
"""Describe the file and are not printed."""
