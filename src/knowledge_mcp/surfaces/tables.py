"""Tables for people and other programs: CSV that spreadsheets read as it is written, and a page to sort and filter."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from knowledge_mcp.surfaces.answers import with_escapes

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Write RFC 4180; a cell that a spreadsheet would take for a formula gets an apostrophe before it."""
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([_harmless(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


_NOUNS = frozenset(
    "condition contradiction definition document duplicate item limit number obligation reference requirement".split()
)
"""Names of what is counted that have a plural; the others say how something is ("2 likely")."""
_PART = re.compile(r"\{\{(\w+)\}\}")


def counts_in_words(counts: Mapping[str, int]) -> list[str]:
    """Write counts by name as people say them: "1 obligation", "2 obligations", "2 partial"."""
    words: list[str] = []
    for name, count in counts.items():
        noun = name.replace("_", " ")
        if count == 1:
            noun = re.sub("^requirements ", "requirement ", noun)
        words.append(f"{count} {noun}{'s' if noun in _NOUNS and count != 1 else ''}")
    return words


def table_page(
    *,
    title: str,
    counts: str,
    lead: str,
    columns: Sequence[str],
    unsorted: Sequence[str],
    rows: str,
    style: str,
    choice: str = "",
) -> str:
    """Write the page; every part is HTML already.

    Args:
        title: of the page.
        counts: line below it.
        lead: text before the table.
        columns: heads of the columns that can be sorted, which come first.
        unsorted: heads of the others.
        rows: the table's rows.
        style: CSS beyond what all such pages have.
        choice: a `select` with the number of its column as `data-column`, which narrows the rows; empty for none.
    """
    head = "".join(f"<th><button>{name}</button></th>" for name in columns)
    parts = {
        "title": title,
        "counts": counts,
        "lead": lead,
        "head": head + "".join(f"<th>{name}</th>" for name in unsorted),
        "rows": rows,
        "style": style,
        "choice": choice,
    }
    return with_escapes(_PART.sub(lambda found: parts[found[1]], _PAGE))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{{title}}</title><style>
:root{color-scheme:light dark;--line:#8884}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;padding:0 1rem 4rem}
h1{font-size:1.2rem}.count{font-size:.85rem;border:1px solid var(--line);border-radius:1rem;padding:.05rem .6rem;
margin-right:.4rem}table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid var(--line);padding:.3rem;
text-align:left;vertical-align:top;overflow-wrap:anywhere}th button{font:inherit;font-weight:600;border:0;
background:none;cursor:pointer;padding:0;color:inherit}input,select{font:inherit;padding:.2rem .5rem}
@media print{th button{border:0}input,select{display:none}tr{break-inside:avoid}}
{{style}}</style></head><body><h1>{{title}}</h1><p>{{counts}}</p>{{lead}}
<p><label>Show rows with <input id="filter" type="search"></label>{{choice}}</p>
<table><thead><tr>{{head}}</tr></thead><tbody>{{rows}}</tbody></table><script>
const body=document.querySelector('tbody'),rows=[...body.rows],words=document.getElementById('filter'),
choice=document.querySelector('select');
const show=()=>rows.forEach(row=>row.hidden=!row.textContent.toLowerCase().includes(words.value.toLowerCase())||
(choice&&choice.value.trim()&&row.cells[choice.dataset.column].textContent!==choice.value));
words.oninput=show;if(choice)choice.oninput=show;
document.querySelectorAll('th button').forEach((button,column)=>{let up=false;button.onclick=()=>{up=!up;
rows.sort((a,b)=>(up?1:-1)*a.cells[column].textContent.localeCompare(b.cells[column].textContent,undefined,
{numeric:true}));body.append(...rows)}});
</script></body></html>
"""
