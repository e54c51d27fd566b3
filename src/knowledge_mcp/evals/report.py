"""The report of an evaluation: one self-contained HTML file with plots and, on request, a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from knowledge_mcp.evals.comparing import QuestionChange, RunComparison
from knowledge_mcp.evals.measures import ANSWERED_SHARE, COLUMNS, MEANINGS, SIGNALS, reliability
from knowledge_mcp.evals.plots import (
    STYLE,
    Bar,
    Point,
    Whisker,
    bars,
    curves,
    histogram,
    reliability_diagram,
    steps,
    whiskers,
)
from knowledge_mcp.evals.results import QuestionResult, Run, SetResult

_LISTED = 15
_TOGETHER = 6
_LONGEST_TEXT = 240
_AS_USERS_ASK = 10


def report_html(run: Run, *, before: Run | None = None, comparisons: Sequence[RunComparison] = ()) -> str:
    """Return the report of a run as HTML, with its comparison to an earlier run if given."""
    title = f"Evaluation: {run.name}" if before is None else f"Evaluation: {before.name} → {run.name}"
    body = [
        f"<h1>{escape(title)}</h1>",
        *_about(run, before),
        *(_comparisons(comparisons) if comparisons else ()),
        *_overview(run.results),
        *(part for result in run.results for part in _set(result)),
        *_legend(),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _about(run: Run, before: Run | None) -> Iterator[str]:
    rows = [("Measured", run.created_at[:19].replace("T", " ") + " UTC"), ("Version", _build(run))]
    if before is not None:
        rows.append(("Compared with", f"{before.name}, {_build(before)}, {before.created_at[:10]}"))
    rows += [(name, value) for name, value in run.configuration.items() if value]
    yield _table(("", ""), rows, plain=True)


def _build(run: Run) -> str:
    return f"{run.version}, commit {run.commit}" if run.commit else run.version


# ---- comparison


def _comparisons(comparisons: Sequence[RunComparison]) -> Iterator[str]:
    yield "<h2>What changed</h2>"
    for each in comparisons:
        yield f"<h3>{escape(each.label)}</h3>"
        excluded = each.only_before + each.only_after
        other = f" {excluded} questions stand in one run only and are left out." if excluded else ""
        yield (
            f"<p>{each.questions} questions in both.{other} Median search {each.latency[0]:.1f} → "
            f"{each.latency[1]:.1f} ms.</p>"
        )
        rows = [
            (
                change.measure,
                f"{change.before:.4f}",
                f"{change.after:.4f}",
                f"{change.change.mean:+.4f}",
                f"{change.change.low:+.4f} … {change.change.high:+.4f}",
                f"{change.adjusted:.4f}",
                f"{change.change.wins} / {change.change.losses} / {change.change.ties}",
                change.verdict or "no clear difference",
            )
            for change in each.changes
        ]
        yield _table(("Measure", "Before", "After", "Change", "95 % interval", "p", "Better / worse / same", ""), rows)
        span = max([abs(edge) for c in each.changes for edge in (c.change.low, c.change.high)] + [0.01]) * 1.1
        dots = [
            Whisker(
                c.measure, c.change.mean, c.change.low, c.change.high, 1 if c.significant and c.change.mean < 0 else 0
            )
            for c in each.changes
        ]
        yield whiskers(dots, low=-span, high=span, caption="Mean change of each measure with its 95 % interval.")
        moved = [change for change in each.each if change.change]
        if moved:
            changed = [Bar(c.change, f"{c.question}: {c.change:+.3f} {c.text[:80]}") for c in moved]
            same = each.questions - len(moved)
            caption = f"Change of nDCG@10 by question; {same} questions that did not change are left out."
            yield bars(changed, across="questions, worst first", up="change", low=-1, high=1, caption=caption)
        yield from _changes("Questions lost", each.losses)
        yield from _changes("Questions won", each.wins)


def _changes(title: str, changes: Sequence[QuestionChange]) -> Iterator[str]:
    if not changes:
        return
    yield f"<details><summary>{title}: {len(changes)}</summary>"
    yield _table(
        ("Question", "", "Before", "After", "First right before", "after"),
        [
            (
                c.question,
                _short(c.text),
                f"{c.before:.3f}",
                f"{c.after:.3f}",
                _rank(c.first_before),
                _rank(c.first_after),
            )
            for c in changes[: 4 * _LISTED]
        ],
    )
    yield "</details>"


# ---- results


def _overview(results: Sequence[SetResult]) -> Iterator[str]:
    if len(results) < 2:
        return
    yield "<h2>All sets</h2>"
    measured = [each for each in results if each.measures]
    rows = [
        (
            each.set,
            each.mode,
            f"{each.questions}",
            *(f"{each.measures[name].mean:.4f}" for name in COLUMNS),
            f"{each.latency.p50:.1f}",
        )
        for each in measured
    ]
    for mode in dict.fromkeys(each.mode for each in measured):
        of_mode = [each for each in measured if each.mode == mode]
        if len(of_mode) > 1:
            means = [sum(each.measures[name].mean for each in of_mode) / len(of_mode) for name in COLUMNS]
            rows.append(("mean of the sets", mode, "", *(f"{value:.4f}" for value in means), ""))
    yield _table(("Set", "Mode", "Questions", *COLUMNS, "ms"), rows)
    modes = list(dict.fromkeys(each.mode for each in measured))
    dots = [
        Whisker(each.label, m.mean, m.low, m.high, modes.index(each.mode))
        for each in measured
        for m in (each.measures["nDCG@10"],)
    ]
    if dots:
        yield whiskers(dots, caption="nDCG@10 of each set with its 95 % interval.")
    first = results[:_TOGETHER]
    some = "" if len(first) == len(results) else f" The first {_TOGETHER} of {len(results)}."
    if curved := {each.label: each.curve for each in first if each.curve}:
        yield curves(curved, f"Recall by depth.{some}")
    if times := _times(first):
        yield steps(times, across="milliseconds a search", caption=f"How long searches take.{some}")


def _set(result: SetResult) -> Iterator[str]:
    yield f"<h2>{escape(result.label)}</h2>"
    time = "" if result.ingest_seconds is None else f", ingested in {result.ingest_seconds:.0f} s"
    yield (
        f"<p>{result.questions} questions ({result.unanswerable} without an answer) over {result.documents:,} "
        f"documents in {result.chunks:,} passages{time}. Search: median {result.latency.p50:.1f} ms, 95th percentile "
        f"{result.latency.p95:.1f} ms.</p>"
    )
    yield from (f'<p class="note">{escape(note)}</p>' for note in result.notes)
    if result.measures:
        dots = [Whisker(name, each.mean, each.low, each.high) for name, each in result.measures.items()]
        yield whiskers(dots, caption="Means over the questions with their 95 % bootstrap intervals.")
    if result.curve:
        yield curves({result.label: result.curve}, "Recall by depth.")
    answered = [(query, row) for query, row in result.rows.items() if row.values]
    if answered:
        yield _distribution(answered)
    if times := _times([result]):
        marks = {
            f"median {result.latency.p50:.1f}": result.latency.p50,
            f"95 % {result.latency.p95:.1f}": result.latency.p95,
        }
        top = 2.5 * result.latency.p95
        clipped = {name: [min(value, top) for value in values] for name, values in times.items()}
        yield histogram(clipped, across="milliseconds a search", marks=marks, caption="How long searches take.")
    yield from _citations(result)
    yield from _abstention(result)
    yield from _reliability(result)
    yield from _worst(answered)


def _distribution(answered: Sequence[tuple[str, QuestionResult]]) -> str:
    ordered = sorted(answered, key=lambda pair: -pair[1].values[0])
    none = sum(row.values[0] == 0 for _, row in ordered)
    columns = [Bar(row.values[0], f"{query}: {row.values[0]:.3f} {row.text[:80]}") for query, row in ordered]
    caption = f"nDCG@10 of each question, best first; {none} of {len(ordered)} have nothing right among the first ten."
    return bars(columns, across="questions", up="nDCG@10", caption=caption)


def _times(results: Sequence[SetResult]) -> dict[str, list[float]]:
    found = {each.label: [row.ms for row in each.rows.values() if row.ms is not None] for each in results}
    return {label: times for label, times in found.items() if times}


def _citations(result: SetResult) -> Iterator[str]:
    meanings = {
        "text": "the text at its place is what the hit says",
        "page": "it names the pages that its text stands on",
        "clause": "it lies in the clause that it names",
        "expected": "it names the page and clause that the question expects of its quote",
    }
    rows = [
        (meanings[name], f"{each.value:.4f}", f"{each.right:,} of {each.checked:,}")
        for name, each in result.citations.items()
        if each.value is not None and name in meanings
    ]
    if rows:
        yield "<h3>Citations</h3>"
        yield _table(("A hit's citation is true", "Share", ""), rows)


def _abstention(result: SetResult) -> Iterator[str]:
    if not result.abstentions:
        return
    yield "<h3>Questions without an answer</h3>"
    share = f"{ANSWERED_SHARE:.0%}"
    rows = [
        (
            SIGNALS.get(each.signal, each.signal),
            f"{each.area:.3f}",
            f"{each.threshold:.3f}",
            f"{each.declined:.1%}",
            f"{each.answered:.1%}",
        )
        for each in result.abstentions
    ]
    yield _table(
        ("Signal", "Area under ROC", f"Threshold for {share}", "Unanswerable declined", "Answerable answered"), rows
    )
    best = max(result.abstentions, key=lambda each: each.area)
    right = [row.signals[best.signal] for row in result.rows.values() if row.values and best.signal in row.signals]
    wrong = [row.signals[best.signal] for row in result.rows.values() if not row.values and best.signal in row.signals]
    if right and wrong:
        yield histogram(
            {"answerable": right, "unanswerable": wrong},
            across=SIGNALS.get(best.signal, best.signal),
            marks={"threshold": best.threshold},
            caption="The signal that parts them best, for each kind of question.",
        )


def _reliability(result: SetResult) -> Iterator[str]:
    """Show whether the answerability ratings are right: one of the first ten passages should be right."""
    pairs = [
        (row.signals["answerability"], row.first is not None and row.first <= _AS_USERS_ASK)
        for row in result.rows.values()
        if "answerability" in row.signals
    ]
    if not pairs:
        return
    yield "<h3>What answers say of themselves</h3>"
    found = reliability([estimate for estimate, _ in pairs], [outcome for _, outcome in pairs])
    points = [Point(each.estimated, each.happened, each.low, each.high, each.count) for each in found.bins]
    yield reliability_diagram(
        {result.label: points},
        across="answerability",
        up="one of the first ten is right",
        caption=f"What {found.count} answers say of themselves: mean distance from the truth {found.error:.3f}, Brier "
        f"score {found.brier:.3f} (always saying the mean: {found.base_brier:.3f}).",
    )


def _worst(answered: Sequence[tuple[str, QuestionResult]]) -> Iterator[str]:
    bad = sorted((pair for pair in answered if pair[1].values[0] < 1), key=lambda pair: (pair[1].values[0], pair[0]))
    if bad and any(row.text for _, row in bad):
        yield f"<details><summary>Hardest questions ({min(len(bad), _LISTED)} of {len(bad)} not perfect)</summary>"
        rows = [(query, _short(row.text), f"{row.values[0]:.3f}", _rank(row.first)) for query, row in bad[:_LISTED]]
        yield _table(("Question", "", "nDCG@10", "First right at"), rows)
        yield "</details>"


def _legend() -> Iterator[str]:
    yield "<h2>What the measures say</h2>"
    yield _table(("Measure", "Meaning"), [(name, MEANINGS[name]) for name in COLUMNS])
    yield (
        "<p>Intervals are percentile bootstraps over the questions. A difference is tested by random signs of the "
        "questions' differences, adjusted for all measures of a set looked at together (Holm).</p>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, plain: bool = False) -> str:
    top = "" if plain else "<thead><tr>" + "".join(f"<th>{escape(each)}</th>" for each in head) + "</tr></thead>"
    lines = "".join("<tr>" + "".join(_cell(each) for each in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table>{top}<tbody>{lines}</tbody></table></div>'


def _cell(text: str) -> str:
    number = text[:1].isdigit() or text[:2].strip("+-−.").isdigit()
    return f"<td{' class=number' if number else ''}>{escape(text)}</td>"


def _rank(rank: int | None) -> str:
    return "–" if rank is None else str(rank)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
