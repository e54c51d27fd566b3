/* What changed between two documents: clause by clause, both sides beside each other, changed words marked. */

import { call, isAborted } from "./api.js";
import { busy, byId, count, fill, h, notice, number, problem, shareButton } from "./dom.js";
import { fillDocuments } from "./choosing.js";
import { go, read, to } from "./route.js";
import { touchedPlaces } from "./touched.js";

const PAGE = 50;
const MOST = 500; // clauses that the service gives at once

/** What changed inside clauses, and what clauses became, as the service names and counts them. */
const INSIDE = {
  force: "Force: shall, should, may",
  number: "Numbers and limits",
  requirements_narrowed: "Requirements narrowed",
  requirements_widened: "Requirements widened",
  condition: "Conditions",
  definition: "Definitions",
  requirements_rewritten: "Requirements rewritten",
  requirements_added: "Requirements added",
  requirements_withdrawn: "Requirements withdrawn",
  requirements_split: "Requirements split",
  requirements_merged: "Requirements merged",
  requirements_moved: "Requirements moved",
  property: "Properties",
  reference: "References",
  words: "Words",
};
const CLAUSES = {
  edited: "Clauses edited",
  renamed: "Clauses renamed",
  renumbered: "Clauses renumbered",
  moved: "Clauses moved",
  split: "Clauses split",
  merged: "Clauses merged",
  added: "Clauses added",
  removed: "Clauses removed",
};

let running = null;
let compared = null; // the two documents whose counts are displayed
let answered = ""; // the address whose clauses are displayed, or on their way

export function setUpCompare() {
  byId("compare-form").addEventListener("submit", (event) => {
    event.preventDefault();
    answered = "";
    lead(byId("compare-old").value, byId("compare-new").value);
  });
  byId("compare-swap").addEventListener("click", () => lead(byId("compare-new").value, byId("compare-old").value));
  byId("compare-kind").addEventListener("change", () => {
    const { parameters } = read();
    lead(parameters.get("old"), parameters.get("new"));
  });
  for (const news of ["key-changed", "library-changed"]) {
    addEventListener(news, () => {
      answered = "";
      compared = null;
    });
  }
}

/** Lead to a comparison, of the kind that is chosen where one can be. */
function lead(older, newer, kinds = byId("compare-narrow").hidden ? "" : byId("compare-kind").value) {
  go(to("compare", "", { old: older, new: newer, kinds }));
}

/** Show what the address says; what is displayed already stays, with all that was loaded of it. */
export async function showCompare({ parameters }) {
  if (answered === location.hash) return;
  running?.abort();
  const mine = (running = new AbortController());
  const [older, newer, kinds] = ["old", "new", "kinds"].map((name) => parameters.get(name) ?? "");
  const isNew = compared?.[0] !== older || compared[1] !== newer;
  const pages = Number.isInteger(history.state?.pages) ? history.state.pages : 1;
  answered = older && newer ? location.hash : "";
  clear(isNew);
  byId("compare-kind").value = kinds;
  try {
    const there = await fillDocuments([byId("compare-old"), byId("compare-new")], [older, newer]);
    if (mine.signal.aborted) return;
    if (there < 2) say("Two documents are needed: add the other edition too.");
  } catch (error) {
    if (!mine.signal.aborted) fail(error, { older, newer, kinds });
    return;
  }
  if (older && newer) await compare(mine, { older, newer, kinds }, Math.max(1, pages) * PAGE);
  else if (older || newer) say("Choose the other document.");
}

/** Take away what is displayed: the clauses at once only where they are those of other documents. */
function clear(isNew) {
  fill(byId("compare-problem"));
  fill(byId("compare-more"));
  say("");
  busy(byId("compare-submit"), false);
  byId("compare-clauses").removeAttribute("aria-busy");
  if (!isNew) return;
  compared = null;
  fill(byId("compare-summary"));
  fill(byId("compare-touched"));
  fill(byId("compare-clauses"));
  byId("compare-narrow").hidden = true;
}

function say(words) {
  byId("compare-status").textContent = words;
}

function fail(error, { older, newer, kinds }) {
  answered = "";
  say("");
  fill(byId("compare-clauses"));
  fill(byId("compare-problem"), problem(error, button("Try again", again), kinds ? showAll(older, newer) : null));
}

function again() {
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** A button that leads to all changes, and the focus to the choice of kinds: the button goes away. */
function showAll(older, newer) {
  return button("Show all changes", () => {
    byId(byId("compare-narrow").hidden ? "compare-heading" : "compare-kind").focus();
    lead(older, newer, "");
  });
}

function button(words, onclick) {
  return h("button", { type: "button", onclick }, words);
}

/** Ask for clauses until there are so many of them, or no more. */
async function compare(mine, request, least) {
  say("Comparing …");
  busy(byId("compare-submit"), true);
  byId("compare-clauses").setAttribute("aria-busy", "true");
  try {
    let answer;
    let displayed = 0;
    do {
      answer = await load(mine, request, displayed, least);
      if (displayed === 0) begin(request, answer);
      displayed = add(mine, request, answer, displayed);
    } while (answer.clauses.length && displayed < Math.min(least, answer.total));
  } catch (error) {
    if (!isAborted(error) && !mine.signal.aborted) fail(error, request);
  } finally {
    if (running === mine) {
      busy(byId("compare-submit"), false);
      byId("compare-clauses").removeAttribute("aria-busy");
    }
  }
}

async function load(mine, { older, newer, kinds }, offset, least) {
  const query = { old: older, new: newer, kinds, limit: Math.min(least - offset, MOST), offset };
  const answer = await call("GET", "/changes", { query, signal: mine.signal, seconds: 300 });
  mine.signal.throwIfAborted();
  return answer;
}

/** Put the next page of clauses below the others, and lead to the first of them. */
async function more(mine, request, displayed) {
  const next = byId("compare-more").querySelector("button");
  busy(next, true);
  say("Loading …");
  try {
    const least = displayed + PAGE;
    const answer = await load(mine, request, displayed, least);
    if (answered === location.hash) history.replaceState({ pages: Math.ceil(least / PAGE) }, "");
    add(mine, request, answer, displayed);
    byId("compare-clauses").children[displayed]?.querySelector("summary").focus();
  } catch (error) {
    if (isAborted(error) || mine.signal.aborted) return;
    say("");
    const repeat = button("Try again", () => more(mine, request, displayed));
    fill(byId("compare-more"), problem(error, repeat));
  }
}

const WORDS = {
  same: ["the same"],
  number: ["number", "numbers"],
  condition: ["condition", "conditions"],
  definition: ["definition", "definitions"],
  property: ["property", "properties"],
  reference: ["reference", "references"],
  requirements_rewritten: ["requirement rewritten", "requirements rewritten"],
  requirements_added: ["requirement added", "requirements added"],
  requirements_withdrawn: ["requirement withdrawn", "requirements withdrawn"],
  requirements_narrowed: ["requirement narrowed", "requirements narrowed"],
  requirements_widened: ["requirement widened", "requirements widened"],
  requirements_split: ["requirement split", "requirements split"],
  requirements_merged: ["requirement merged", "requirements merged"],
  requirements_moved: ["requirement moved", "requirements moved"],
};

function counted(name, amount) {
  const words = WORDS[name] ?? [name];
  return `${number(amount)} ${amount === 1 ? words[0] : words.at(-1)}`;
}

/** Show the counts of a comparison, and what can be chosen of it. */
function begin({ older, newer, kinds }, { summary }) {
  compared = [older, newer];
  const changed = changedIn(summary);
  const touched = byId("compare-touched");
  if (changed && touched.childElementCount === 0) fill(touched, touchedPlaces(older, newer));
  const tags = Object.entries(summary).map(([name, amount]) =>
    h("li", { class: "tag", data: { kind: name } }, counted(name, amount)),
  );
  fill(
    byId("compare-summary"),
    h("ul", { class: "counts" }, tags),
    h("p", { class: "row" }, shareButton("this comparison")),
  );
  fill(
    byId("compare-kind"),
    h("option", { value: "" }, `All changes (${count(changed, "clause")})`),
    choices("What changed", INSIDE, summary, kinds),
    choices("What happened to clauses", CLAUSES, summary, kinds),
  );
  byId("compare-kind").value = kinds;
  byId("compare-narrow").hidden = changed === 0;
  fill(byId("compare-clauses"));
}

function changedIn(summary) {
  return Object.keys(CLAUSES).reduce((sum, name) => sum + (summary[name] ?? 0), 0);
}

/** Offer the kinds that there are, with how many of each; the one that is chosen also where there is none of it. */
function choices(label, names, summary, chosen) {
  const options = Object.entries(names)
    .filter(([name]) => summary[name] || name === chosen)
    .map(([name, words]) => h("option", { value: name }, `${words} (${number(summary[name])})`));
  return options.length ? h("optgroup", { label }, options) : null;
}

/** Put clauses below those that are displayed; returns how many there are then. */
function add(mine, request, answer, displayed) {
  byId("compare-clauses").append(...answer.clauses.map((each) => clause(each, answer)));
  const after = displayed + answer.clauses.length;
  const changed = changedIn(answer.summary);
  const name = INSIDE[request.kinds] ?? CLAUSES[request.kinds] ?? request.kinds;
  if (changed === 0) say("Nothing changed: all clauses are the same.");
  else if (answer.total === 0) none(request, name, changed);
  else {
    const what = name
      ? `${name}: ${number(answer.total)} of ${count(changed, "changed clause")}`
      : `${count(changed, "clause")} changed`;
    say(`${what}; ${number(after)} shown.`);
  }
  const isMore = after < answer.total;
  fill(byId("compare-more"), isMore ? button("Show more changed clauses", () => more(mine, request, after)) : null);
  return after;
}

function none({ older, newer }, name, changed) {
  say(`${name}: none of ${count(changed, "changed clause")}.`);
  const words = "There are no changes of this kind between these two documents.";
  fill(byId("compare-clauses"), notice("info", h("p", {}, words), h("p", {}, showAll(older, newer))));
}

function clause(each, answer) {
  const name = heading(each.old, each.new);
  const kinds = [each.became, ...each.kinds, ...each.obligations.map((obligation) => `requirement ${obligation}`)];
  return h(
    "details",
    { class: "clause", open: true },
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

/** Cite a place without the title and the file, which stand above all clauses; the title alone where nothing else is said. */
function within({ citation }, { title, edition }) {
  const start = [`${title}, `, `${title} (${edition}), `].find((each) => citation.startsWith(each));
  return start ? citation.slice(start.length).replace(/ \[[^[\]]*\]$/, "") : citation;
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
      h("strong", {}, document.edition ? `${title}, edition ${document.edition}` : title),
      place && Number.isInteger(place.passage)
        ? h(
            "a",
            { href: to("document", document.doc_id, { at: place.passage, c: document.collection }) },
            within(place, document),
          )
        : h("span", {}, place ? within(place, document) : at === 0 ? "not in this edition" : "no longer in this edition"),
    ),
    words.map((pieces) => h("p", {}, pieces.map(([text, isChanged]) => [isChanged ? h(tag, {}, text) : text, " "]))),
  );
}
