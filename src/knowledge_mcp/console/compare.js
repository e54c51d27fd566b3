/* What changed between two documents: clause by clause, both sides beside each other, changed words marked. */

import { call, isAborted } from "./api.js";
import { byId, busy, count, fill, h, number, problem, shareButton } from "./dom.js";
import { fillDocuments } from "./choosing.js";
import { go, to } from "./route.js";

const PAGE = 50;

let running = null;

const KINDS = [
  ["", "All changes"],
  ["force", "Force: shall, should, may"],
  ["number", "Numbers and limits"],
  ["definition", "Definitions"],
  ["reference", "References"],
  ["words", "Words"],
  ["added", "Clauses added"],
  ["removed", "Clauses removed"],
  ["moved", "Clauses moved"],
];

export function setUpCompare() {
  fill(
    byId("compare-kind"),
    KINDS.map(([value, words]) => h("option", { value }, words)),
  );
  byId("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    go(to("compare", "", { old: byId("compare-old").value, new: byId("compare-new").value }));
  });
  byId("compare-swap").addEventListener("click", () => {
    go(to("compare", "", { old: byId("compare-new").value, new: byId("compare-old").value }));
  });
  byId("compare-kind").addEventListener("change", narrow);
}

export async function showCompare({ parameters }) {
  running?.abort();
  const mine = (running = new AbortController());
  const pair = [parameters.get("old") ?? "", parameters.get("new") ?? ""];
  clear();
  try {
    const there = await fillDocuments([byId("compare-old"), byId("compare-new")], pair);
    if (mine.signal.aborted) return;
    if (there < 2) say("Two documents are needed: add the older edition beside the newer one.");
  } catch (error) {
    if (!mine.signal.aborted) fill(byId("compare-problem"), problem(error, again()));
    return;
  }
  if (pair.every(Boolean)) await compare(mine, pair, 0);
  else if (pair.some(Boolean)) say("Choose the other document.");
}

function clear() {
  fill(byId("compare-problem"));
  fill(byId("compare-summary"));
  fill(byId("compare-clauses"));
  fill(byId("compare-more"));
  byId("compare-narrow").hidden = true;
  say("");
}

function say(words) {
  byId("compare-status").textContent = words;
}

function again() {
  return h(
    "button",
    { type: "button", onclick: () => dispatchEvent(new HashChangeEvent("hashchange")) },
    "Try again",
  );
}

async function compare(mine, [older, newer], offset) {
  say("Comparing …");
  busy(byId("compare-submit"), true);
  try {
    const query = { old: older, new: newer, limit: PAGE, offset };
    const answer = await call("GET", "/changes", { query, signal: mine.signal, seconds: 300 });
    if (mine.signal.aborted) return;
    render(mine, answer, [older, newer], offset);
  } catch (error) {
    if (isAborted(error) || mine.signal.aborted) return;
    say("");
    fill(byId("compare-problem"), problem(error, again()));
  } finally {
    busy(byId("compare-submit"), false);
  }
}

const WORDS = {
  same: ["the same"],
  number: ["number", "numbers"],
  definition: ["definition", "definitions"],
  reference: ["reference", "references"],
  requirements_added: ["requirement added", "requirements added"],
  requirements_withdrawn: ["requirement withdrawn", "requirements withdrawn"],
};

function counted(name, amount) {
  const words = WORDS[name] ?? [name];
  return `${number(amount)} ${amount === 1 ? words[0] : words.at(-1)}`;
}

function render(mine, answer, pair, offset) {
  const clauses = answer.clauses ?? [];
  if (offset === 0) {
    fill(
      byId("compare-summary"),
      h(
        "ul",
        { class: "counts" },
        Object.entries(answer.summary ?? {}).map(([name, amount]) =>
          h("li", { class: "tag", data: { kind: name } }, counted(name, amount)),
        ),
      ),
      h("p", { class: "row" }, shareButton("this comparison")),
    );
  }
  byId("compare-clauses").append(...clauses.map((each) => clause(each, answer)));
  const displayed = offset + clauses.length;
  say(
    answer.total
      ? `${count(answer.total, "clause")} changed; ${number(displayed)} shown.`
      : "Nothing changed: all clauses are the same.",
  );
  byId("compare-narrow").hidden = answer.total === 0;
  fill(
    byId("compare-more"),
    displayed < answer.total
      ? h("button", { type: "button", onclick: () => compare(mine, pair, displayed) }, "Show more changed clauses")
      : null,
  );
  narrow();
}

function clause(each, answer) {
  const name = heading(each.old, each.new);
  const kinds = [each.became, ...each.kinds, ...each.obligations.map((obligation) => `requirement ${obligation}`)];
  return h(
    "details",
    { class: "clause", open: true, data: { kinds: kinds.join(" ") } },
    h(
      "summary",
      {},
      h("span", { class: "clause-name" }, name),
      kinds.map((kind) => h("span", { class: "tag", data: { kind } }, kind)),
    ),
    h(
      "div",
      { class: "sides" },
      side("Before", each.old, answer.old, each.rows, 0, "del"),
      side("After", each.new, answer.new, each.rows, 1, "ins"),
    ),
  );
}

function heading(older, newer) {
  if (older && newer && older.label !== newer.label)
    return [h("del", {}, older.label), " ", h("ins", {}, newer.label)];
  return (newer ?? older)?.label ?? "";
}

function side(title, place, document, rows, at, tag) {
  const words = rows.map((row) => row[at]).filter((pieces) => pieces.some(([text]) => text));
  return h(
    "div",
    { class: "side-text" },
    h(
      "p",
      { class: "places" },
      h("strong", {}, title),
      place && Number.isInteger(place.passage)
        ? h(
            "a",
            { href: to("document", document.doc_id, { at: place.passage, c: document.collection }) },
            place.citation,
          )
        : h("span", {}, place ? place.citation : at === 0 ? "not there yet" : "not there any more"),
    ),
    words.map((pieces) => h("p", {}, pieces.map(([text, isChanged]) => [isChanged ? h(tag, {}, text) : text, " "]))),
  );
}

/** Show only the clauses with a kind of change. */
function narrow() {
  const selected = byId("compare-kind").value;
  for (const each of byId("compare-clauses").children) {
    each.hidden = selected !== "" && !each.dataset.kinds.split(" ").includes(selected);
  }
}
