/* What a document says of each obligation of a standard: the best evidence, quoted, what is missing, and a person's marks. */

import { announce, byId, count, countTags, fill, folded, h, number, shareButton, table } from "./dom.js";
import { decided, place, reviewing } from "./review.js";

const TONES = { "evidence found": "good", partial: "warn", "none found": "bad" };
const HEADS = ["Requirement", "Verdict", "Evidence", "Checks", "Mark"];
const MARKS = [
  ["", "As detected"],
  ["applicable", "Applicable"],
  ["not-applicable", "Not applicable"],
  ["conditional", "Conditional"],
  ["informative", "Informative"],
];

const view = reviewing({
  prefix: "check",
  title: "Check a document",
  lead: "See what a document says about each obligation of a standard, word for word, and what is missing.",
  action: "Check",
  choices: { document: "Document", standard: "Against" },
  work: "Comparing every sentence with every obligation",
  missing: "Two documents are needed: the document to check, and the standard to check it against.",
  parts: ["summary", "editions"],
  rows: "rows",
  filter: "Rows",
  verdicts: [["", "All"], ...Object.keys(TONES).map((each) => [each, each])],
  isOne: (selected, verdict) => verdict === selected,
  render,
});

export const setUpCheck = view.setUp;
export const showCheck = view.show;

function render(answer, say) {
  const rows = answer.rows ?? [];
  say(`${count(rows.length, "row")}. A person must decide whether the evidence is enough.`);
  fill(
    byId("check-summary"),
    h(
      "ul",
      { class: "counts" },
      countTags(answer.summary, TONES),
    ),
    h("p", { class: "row" }, shareButton("this check")),
  );
  const editions = (answer.editions ?? []).map((each) => h("li", {}, each));
  fill(byId("check-editions"), folded(`Editions that are not current: ${number(editions.length)}`, editions));
  const lines = rows.map((each) => row(answer, each));
  fill(byId("check-rows"), lines.length ? table(HEADS, lines, "check-table") : null);
}

function row(answer, each) {
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  const kind = h("span", { class: "tag" }, each.kind);
  return h(
    "tr",
    { data: { verdict: each.verdict, kind: each.kind } },
    h(
      "th",
      { scope: "row" },
      place(each, answer.standard, each.row),
      " ",
      kind,
      h("div", { class: "small-text item-words" }, each.requirement),
    ),
    cell("Verdict", h("span", { class: `tag ${TONES[each.verdict] ?? ""}` }, each.verdict)),
    cell(
      "Evidence",
      each.quotes.map((quoted) =>
        h(
          "blockquote",
          {},
          quoted.quote,
          h("div", { class: "small-text" }, place(quoted, answer.document, quoted.citation)),
        ),
      ),
    ),
    cell(
      "Checks",
      each.checks.map((text) => h("div", {}, text)),
    ),
    cell("Mark", marking(answer, each, kind)),
  );
}

/** A choice and a note, each kept as soon as it is changed. */
function marking(answer, each, kind) {
  const choice = h(
    "select",
    { "aria-label": `Mark of ${each.row}`, onchange: keep },
    MARKS.map(([value, words]) => h("option", { value }, words)),
  );
  const note = h("input", { type: "text", value: each.note, "aria-label": `Note on ${each.row}`, onchange: keep });
  note.maxLength = 2000;
  note.placeholder = "Note";
  choice.value = each.mark;
  const own = each.mark ? null : each.kind;
  async function keep() {
    const body = {
      document: answer.document.doc_id,
      standard: answer.standard.doc_id,
      row: each.row,
      requirement: each.requirement,
      mark: choice.value,
      note: note.value,
    };
    await decided([choice, note], "/check/marks", body, {
      fail(error) {
        choice.value = each.mark;
        note.value = each.note;
        view.fail(error);
      },
      done() {
        each.mark = choice.value;
        each.note = note.value;
        const now = each.mark === "applicable" ? "obligation" : each.mark || own;
        kind.textContent = now ?? "as detected";
        kind.closest("tr").dataset.kind = now ?? "";
        announce(`${each.row} is saved as ${choice.selectedOptions[0].textContent}`);
      },
    });
  }
  return h("div", { class: "marking" }, choice, note);
}
