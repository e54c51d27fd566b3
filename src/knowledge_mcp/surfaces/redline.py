"""What changed between two editions, as people and programs read it: JSON, CSV, and a page side by side."""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from knowledge_mcp.engine.changes.kinds import WEIGHTIEST_FIRST, ChangeType, LinkKind, TextChange
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.surfaces.answers import with_escapes
from knowledge_mcp.surfaces.tables import counts_in_words, csv_text

if TYPE_CHECKING:
    from knowledge_mcp.engine.changes.clauses import Clause
    from knowledge_mcp.engine.changes.differences import ClauseChange
    from knowledge_mcp.engine.changes.sentences import Weights
    from knowledge_mcp.engine.changes.side_by_side import Marked

_COLUMNS = (
    "clause_change",
    "change",
    "requirement",
    "old",
    "new",
    "from",
    "to",
    "old_text",
    "new_text",
    "elsewhere",
    "row",
    "column",
)


def _counted(name: str) -> str:
    """Name a count: `requirements_added`, or as the change is named."""
    return name.replace("requirement ", "requirements_")


KINDS = (*map(_counted, WEIGHTIEST_FIRST), *(kind.value for kind in LinkKind if kind is not LinkKind.SAME))
"""The kinds that people choose: what changed inside clauses, what clauses became; named as `count_changes` does."""


def checked_kinds(names: Iterable[str]) -> frozenset[str]:
    """Read the names of the kinds that somebody chose.

    Raises:
        InvalidInputError: there is no such kind; names those that there are.
    """
    kinds = frozenset(each.strip().casefold() for each in names)
    if unknown := sorted(kinds - set(KINDS)):
        raise InvalidInputError(f"Unknown kind of change: '{unknown[0][:60]}'.", suggestion=f"Use {', '.join(KINDS)}.")
    return kinds


def select(changes: Sequence[ClauseChange], kinds: Collection[str] = ()) -> list[ClauseChange]:
    """Keep the clauses that changed; if kinds are chosen, those of such a kind or with such a change."""
    changed = [each for each in changes if each.link.kind is not LinkKind.SAME or each.changes]
    return [each for each in changed if not kinds or not {each.link.kind.value, *kinds_inside(each)}.isdisjoint(kinds)]


def kinds_inside(change: ClauseChange) -> list[str]:
    """List the kinds of the changes inside a clause, the most important first."""
    return list(dict.fromkeys(_counted(each.name) for each in change.changes))


def narrow(changes: Sequence[ClauseChange], kinds: Collection[str]) -> list[ClauseChange]:
    """Keep the changes of the chosen kinds in each clause; all if none is chosen, or if the clause has such a kind."""
    return [
        each
        if not kinds or each.link.kind.value in kinds
        else replace(each, changes=tuple(change for change in each.changes if _counted(change.name) in kinds))
        for each in changes
    ]


def weight_of(change: ClauseChange) -> int:
    """Rank a clause by its weightiest change, 0 first; one that did more than change inside ranks with references."""
    inside = [WEIGHTIEST_FIRST.index(each.name) for each in change.changes]
    is_whole = change.link.kind is not LinkKind.EDITED
    return min([*inside, WEIGHTIEST_FIRST.index(ChangeType.REFERENCE if is_whole else ChangeType.WORDS)])


def count_changes(changes: Sequence[ClauseChange]) -> dict[str, int]:
    """Count clauses by outcome, then changes by kind, each once; zero counts are omitted."""
    clauses = Counter(each.link.kind for each in changes)
    inside = Counter(change.name for each in changes for change in each.changes)
    return {
        **{kind.value: clauses[kind] for kind in LinkKind if clauses[kind]},
        **{_counted(name): inside[name] for name in WEIGHTIEST_FIRST if inside[name]},
    }


def changes_in_words(counts: Mapping[str, int]) -> str:
    """Format the counts of `count_changes` as sentences: first the clauses, then the changes inside them."""
    outcomes = set(LinkKind)
    clauses = {name: count for name, count in counts.items() if name in outcomes}
    inside = {name: count for name, count in counts.items() if name not in outcomes}
    named = (("Clauses", clauses), ("Changes", inside))
    return " ".join(f"{what}: {', '.join(counts_in_words(counted))}." for what, counted in named if counted)


def cite_clause(clause: Clause | None) -> str:
    """Cite a clause: file, page or line, number and heading; empty for none."""
    if clause is None:
        return ""
    place = f", p. {clause.page}" if clause.page is not None else f":{clause.line}" if clause.line is not None else ""
    name = f"{clause.number} {clause.heading}".strip()
    return f"{clause.file}{place}" + (f", {name}" if name else "")


def as_values(
    old: str, new: str, changes: Sequence[ClauseChange], shown: Sequence[ClauseChange] | None = None
) -> dict[str, Any]:
    """Turn it into plain values; `alignment` has one entry a link, of those shown where not all are."""
    return {
        "old": old,
        "new": new,
        "summary": count_changes(changes),
        "alignment": [
            {
                "kind": each.link.kind.value,
                "old": _place(each.link.old),
                "new": _place(each.link.new),
                "changes": [_change(change) for change in each.changes],
            }
            for each in (changes if shown is None else shown)
        ],
    }


def _place(clause: Clause | None) -> dict[str, Any] | None:
    if clause is None:
        return None
    place: dict[str, Any] = {
        "file": clause.file,
        "line": clause.line,
        "clause": clause.number or None,
        "heading": clause.heading,
    }
    if clause.page is not None:
        place["page"] = clause.page
    return place | {"citation": cite_clause(clause)}


def _change(change: TextChange) -> dict[str, Any]:
    values: dict[str, Any] = {"kind": change.kind.value, "from": change.before, "to": change.after}
    values |= {"old_text": change.old_text, "new_text": change.new_text}
    more = {
        "requirement": change.requirement,
        "elsewhere": change.elsewhere,
        "row": change.row,
        "column": change.column,
    }
    return values | {name: value for name, value in more.items() if value}


def as_csv(changes: Sequence[ClauseChange]) -> str:
    """Write one row a change; a clause without changes inside has one row."""
    rows: list[Sequence[str]] = [_COLUMNS]
    for each in changes:
        if each.link.kind is LinkKind.SAME and not each.changes:
            continue
        head = (each.link.kind.value,)
        places = (cite_clause(each.link.old), cite_clause(each.link.new))
        for change in each.changes or (None,):
            inside = ("", "", *places, *[""] * 7)
            if change is not None:
                words = (change.before, change.after, change.old_text, change.new_text, change.elsewhere)
                cell = (change.row, change.column)
                inside = (change.kind.value, change.requirement, *places, *words, *cell)
            rows.append(head + inside)
    return csv_text(rows)


# ---- the page


Pictures = Mapping[tuple[str, int], bytes]
"""Pages drawn as PNG, by file and number from 1."""


def as_html(old: str, new: str, changes: Sequence[ClauseChange], pages: tuple[Pictures, Pictures] | None = None) -> str:
    """Write a page that needs nothing else: both editions side by side, folded by clause, changes to step through.

    Pages of the two editions are shown where a reader asks for them.
    """
    title = f"{html.escape(old)} → {html.escape(new)}"
    counted = count_changes(changes)
    counts = "".join(map(_count, counted, counts_in_words(counted)))
    sides = pages or ({}, {})
    drawn = {
        f"{name} {file} {page}": base64.b64encode(picture).decode()
        for name, side in zip(("old", "new"), sides, strict=True)
        for (file, page), picture in side.items()
    }
    values = {
        "title": title,
        "counts": counts,
        "pages": json.dumps({with_escapes(key): picture for key, picture in drawn.items()}).replace("<", "\\u003c"),
        "body": "".join(_fold_clauses(changes, drawn)),
    }
    return with_escapes(re.sub(r"\{\{(\w+)\}\}", lambda name: values[name[1]], _PAGE))


def _count(name: str, words: str) -> str:
    """Write how many there are; all but what is the same can be stepped through."""
    if name == LinkKind.SAME:
        return f'<span class="count">{words}</span>'
    return f'<button type="button" class="count" data-kind="{name}" title="Step through these clauses">{words}</button>'


def _fold_clauses(changes: Sequence[ClauseChange], drawn: Collection[str]) -> Iterator[str]:
    """Yield clauses with those below them nested inside; clauses with a change are open."""
    from knowledge_mcp.engine.changes.sentences import word_weights

    levels = [_level(each) for each in changes]
    is_changed = [each.link.kind is not LinkKind.SAME or bool(each.changes) for each in changes]
    above: list[int] = []
    for place, level in enumerate(levels):
        while above and levels[above[-1]] >= level:
            above.pop()
        for each in above if is_changed[place] else ():
            is_changed[each] = True
        above.append(place)
    weights = word_weights(each.link for each in changes)
    open_ones: list[int] = []
    for each, level, changed in zip(changes, levels, is_changed, strict=True):
        while open_ones and open_ones[-1] >= level:
            open_ones.pop()
            yield "</details>"
        open_ones.append(level)
        yield _clause(each, drawn, weights, is_open=changed)
    yield "</details>" * len(open_ones)


def _level(each: ClauseChange) -> int:
    clause = each.link.new or each.link.old
    return max(clause.level if clause else 1, 1)


def _clause(each: ClauseChange, drawn: Collection[str], weights: Weights, *, is_open: bool) -> str:
    """Write a clause up to the start of its subclauses."""
    from knowledge_mcp.engine.changes.side_by_side import side_by_side

    old, new = each.link.old, each.link.new
    names = {change.name for change in each.changes}
    kinds = "".join(f' <span class="kind {_counted(name)}">{name}</span>' for name in WEIGHTIEST_FIRST if name in names)
    rows = "".join(_row(*pair) for pair in side_by_side(each, weights))
    places = "".join(f"<span>{html.escape(cite_clause(side))}</span>" for side in (old, new))
    return (
        f'<details class="clause {each.link.kind.value}{"" if is_open else " quiet"}"{" open" if is_open else ""}>'
        f'<summary><span class="became">{each.link.kind.value}</span> {_heading(old, new)}{kinds}</summary>'
        f'<div class="places">{places}</div>'
        f"{_button(each, drawn)}"
        f'<div class="sides">{rows}</div>'
    )


def _button(each: ClauseChange, drawn: Collection[str]) -> str:
    """Offer the pages of a clause, as far as they were drawn."""
    sides = (("old", each.link.old), ("new", each.link.new))
    keys = [f"{name} {clause.file} {clause.page}" for name, clause in sides if clause is not None]
    pages = "\n".join(html.escape(key) for key in keys if key in drawn)
    if not pages:
        return ""
    label = html.escape(next(clause.label for _, clause in reversed(sides) if clause is not None))
    return (
        f'<button type="button" class="look" data-pages="{pages}" aria-expanded="false" '
        f'aria-label="Show pages of {label}">Show pages</button>'
    )


def _heading(old: Clause | None, new: Clause | None) -> str:
    only = new if old is None else old
    if old is None or new is None or old.label == new.label:
        return html.escape(only.label) if only is not None else ""
    return f"<del>{html.escape(old.label)}</del> <ins>{html.escape(new.label)}</ins>"


def _row(old: Marked, new: Marked) -> str:
    is_change = any(marked for _, marked in (*old, *new))
    return (
        f'<div class="row{" change" if is_change else ""}"><p>{"".join(_mark_words(old, "del"))}</p>'
        f"<p>{''.join(_mark_words(new, 'ins'))}</p></div>"
    )


def _mark_words(words: Marked, tag: str) -> Iterator[str]:
    for text, is_changed in words:
        yield f"<{tag}>{html.escape(text)}</{tag}> " if is_changed else f"{html.escape(text)} "


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{{title}}</title><style>
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--quiet:light-dark(#595959,#b0b0b0);
--del:light-dark(#a93226,#f1948a);--ins:light-dark(#196f3d,#7dcea0)}
body{background:Canvas;color:CanvasText;font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:100rem;
padding:0 1rem 4rem}
header{padding:.6rem 0 0}.tools{position:sticky;top:0;background:Canvas;border-bottom:1px solid var(--line);
padding:.5rem 0;z-index:1}
h1{font-size:1.2rem;margin:0}.count,.kind,.became{font-size:.8rem;border:1px solid var(--line);border-radius:1rem;
padding:.05rem .5rem;margin:.15rem .3rem .15rem 0;display:inline-block;white-space:nowrap}
.tools{display:flex;gap:.5rem;flex-wrap:wrap;align-items:center}button{font:inherit;cursor:pointer}
.tools button,.look{padding:.2rem .7rem}button.count{background:none;color:inherit;font-size:.8rem}
details{border-bottom:1px solid var(--line)}details details{margin-left:1rem}
summary{cursor:pointer;padding:.35rem 0;font-weight:600;overflow-wrap:anywhere}
summary .became,summary .kind{font-weight:400;margin-left:.4rem}
.force,.number{border-color:var(--del);color:var(--del)}.same>summary{font-weight:400;color:var(--quiet)}
.places,.row{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem}.places{font-size:.8rem;color:var(--quiet);
overflow-wrap:anywhere}
.sides{content-visibility:auto;contain-intrinsic-size:auto 6rem}
.row p{margin:.2rem 0;overflow-wrap:anywhere}.row.change{background:var(--soft)}
.here{outline:2px solid light-dark(#0b57d0,#a8c7fa)}del{color:var(--del);text-decoration:line-through}
ins{color:var(--ins);text-decoration:underline}body.only .quiet,body.only .row:not(.change){display:none}
.drawn{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem}.drawn img{width:100%;border:1px solid var(--line)}
@media screen and (max-width:50rem){details details{margin-left:.4rem}.tools{font-size:.85rem;gap:.3rem}
.places,.row{grid-template-columns:1fr;gap:0}
.row:not(.change)>p:first-child:not(:has(+p:empty)){display:none}}
@media print{button,.tools{display:none}.sides{content-visibility:visible}
.row{break-inside:avoid}.row.change{print-color-adjust:exact}.here{outline:none}}
</style></head><body><header><h1>{{title}}</h1>
<div>{{counts}}</div></header><nav class="tools" aria-label="Changes">
<button type="button" id="back" title="p">← Previous change</button>
<button type="button" id="on" title="n">Next change →</button>
<button type="button" id="fold">Fold all</button><button type="button" id="open">Open all</button>
<label><input type="checkbox" id="only"> Only changes</label><span id="at" aria-live="polite"></span></nav>
<main>{{body}}</main><script type="application/json" id="pages">{{pages}}</script><script>
const pages=JSON.parse(document.getElementById('pages').textContent);
addEventListener('click',e=>{const look=e.target.closest('.look');if(!look)return;
const there=look.nextElementSibling,shut=there.className==='drawn';look.ariaExpanded=!shut;
if(shut){there.remove();return}
const drawn=document.createElement('div');drawn.className='drawn';for(const key of look.dataset.pages.split('\\n')){
const page=new Image();page.src='data:image/png;base64,'+pages[key];
page.alt=key.replace(/^\\w+ (.*) (\\d+)$/,'$1, page $2');drawn.append(page)}look.after(drawn)});
const steps=[...document.querySelectorAll('.clause:not(.same,.edited)>summary,'+
'.clause:not(.added,.removed)>.sides>:is(.row:not(.change)+.row.change,.row.change:first-child)')];let at=-1;
let now=null;function go(step){if(!steps.length)return;
at=at<0&&step<0?steps.length-1:(at+step+steps.length)%steps.length;
show(steps[at],(at+1)+' of '+steps.length)}
function show(here,words){if(now)now.classList.remove('here');now=here;
for(let each=here.closest('details');each;each=each.parentElement.closest('details'))each.open=true;
here.classList.add('here');here.tabIndex=here.tagName==='SUMMARY'?0:-1;here.focus({preventScroll:true});
here.scrollIntoView({block:'center'});document.getElementById('at').textContent=words}
for(const count of document.querySelectorAll('button.count'))count.onclick=()=>{const kind=count.dataset.kind;
const marked=[...document.querySelectorAll('.clause.'+kind+'>summary,summary:has(>.kind.'+kind+')')];
const next=Math.max(0,marked.findIndex(each=>now&&now.compareDocumentPosition(each)&4));
if(!marked.length)return;at=steps.findLastIndex(each=>!(each.compareDocumentPosition(marked[next])&2));
show(marked[next],'clause '+(next+1)+' of '+marked.length+': '+kind)};
const clauses=[...document.querySelectorAll('details')];let before=[];
function openAll(is){for(const each of clauses)each.open=is(each)}
document.getElementById('fold').onclick=()=>openAll(()=>false);document.getElementById('open').onclick=()=>openAll(()=>true);
addEventListener('beforeprint',()=>{before=clauses.map(each=>each.open);
openAll(each=>each.open||!each.classList.contains('quiet'))});
addEventListener('afterprint',()=>clauses.forEach((each,place)=>{each.open=before[place]}));
document.getElementById('on').onclick=()=>go(1);document.getElementById('back').onclick=()=>go(-1);
document.getElementById('only').onchange=e=>document.body.classList.toggle('only',e.target.checked);
addEventListener('keydown',e=>{if(e.ctrlKey||e.metaKey||e.altKey||e.target.tagName==='INPUT')return;
if(e.key==='n')go(1);if(e.key==='p')go(-1)});
</script></body></html>
"""
