/* Requirements that may contradict or double each other, and terms that are defined in two ways: both places and why. */

import { WHOLE } from "./choosing.js";
import { byId, count, countTags, fill, folded, h, number, shareButton, table } from "./dom.js";
import { place, reviewing } from "./review.js";

const TONES = { contradiction: "bad", limit: "bad", force: "warn", definition: "warn" };
const HEADS = ["Conflict", "One", "Other"];
const KINDS = [
  ["", "All"],
  ["contradiction", "Contradictions"],
  ["limit", "Limits"],
  ["force", "Force: shall, should, may"],
  ["duplicate", "Duplicates"],
  ["definition", "Definitions"],
];

const view = reviewing({
  prefix: "conflicts",
  title: "Find conflicts",
  lead: "See requirements that may contradict or duplicate each other, and terms that are defined in two ways.",
  action: "Find conflicts",
  choices: { of: "Of", with: "And" },
  offer: { first: ["Choose documents", "Nothing else"], whole: 0 },
  fewest: 1,
  work: "Comparing every requirement with every other",
  missing: "There are no documents yet.",
  parts: ["summary"],
  rows: "pairs",
  filter: "Show",
  verdicts: KINDS,
  paged: true,
  isEnough: (values) => Boolean(values.of),
  toRequest: (values) =>
    values.of.startsWith(WHOLE)
      ? { collection: values.of.slice(WHOLE.length) }
      : { document: [values.of, values.with].filter(Boolean) },
  render,
});

export const setUpConflicts = view.setUp;
export const showConflicts = view.show;

function render(answer, say, offset) {
  const pairs = answer.conflicts ?? [];
  const displayed = offset + pairs.length;
  say(
    `${count(answer.total, "pair")}, ${number(displayed)} shown, among ${count(answer.compared, "sentence")} with force of ` +
      `${count(answer.documents, "document")}. A person must decide. Conflicts between differently worded sentences are not found. ${answer.omitted ?? ""}`.trim(),
  );
  const lines = pairs.map(row);
  if (offset > 0) {
    byId("conflicts-pairs").querySelector("tbody").append(...lines);
    return displayed;
  }
  fill(
    byId("conflicts-summary"),
    h("ul", { class: "counts" }, countTags(answer.summary, TONES)),
    h("p", { class: "row" }, shareButton("these conflicts")),
  );
  fill(byId("conflicts-pairs"), lines.length ? table(HEADS, lines, "conflicts") : null);
  return displayed;
}

function row(each) {
  return h(
    "tr",
    { data: { verdict: each.kind } },
    h(
      "th",
      { scope: "row" },
      h("span", { class: `tag ${TONES[each.kind] ?? ""}` }, each.kind),
      h("div", { class: "small-text item-words" }, each.why),
    ),
    side("One", each.one),
    side("Other", each.other, each.also_in),
  );
}

function side(label, item, more = []) {
  const lines = more.map((other) => h("li", {}, cited(other)));
  return h(
    "td",
    { data: { label } },
    h(
      "div",
      {},
      h("div", { class: "item-words" }, item.text),
      h("div", { class: "small-text" }, cited(item)),
      folded(`Also in ${count(lines.length, "other place")}`, lines),
    ),
  );
}

function cited(item) {
  return place(item, item, item.citation);
}
