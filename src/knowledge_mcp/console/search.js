/* The search view: the question and its options go into the address, results with their evidence come out. */

import { call, isAborted } from "./api.js";
import { ALL, collections, current, fillChoice } from "./catalogue.js";
import { busy, byId, count, fill, h, notice, problem, shareButton, shown } from "./dom.js";
import { chooseDocument, documentFilter, setUpDocumentFilter } from "./documentfilter.js";
import { result } from "./results.js";
import { go, to } from "./route.js";

const DEFAULTS = { mode: "hybrid", k: "10", min: "0", clause: "", type: "", normative: "" };
const CONTROLS = {
  mode: "mode",
  k: "top-k",
  min: "min-score",
  clause: "clause",
  type: "document-type",
  normative: "normative",
};

let running = null;
let answered = "";
let turn = 0;

export function setUpSearch() {
  setUpDocumentFilter();
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("options-reset").addEventListener("click", () => {
    for (const [name, id] of Object.entries(CONTROLS)) byId(id).value = DEFAULTS[name];
    chooseDocument(null);
    summarise();
  });
  byId("options").addEventListener("change", summarise);
  byId("search-collection").addEventListener("change", () => {
    remember(byId("search-collection").value);
    chooseDocument(null);
    summarise();
  });
  for (const news of ["key-changed", "library-changed"]) {
    addEventListener(news, () => {
      answered = "";
    });
  }
}

function remember(collection) {
  if (collection !== ALL) current.collection = collection;
}

function submit() {
  const invalid = Object.values(CONTROLS)
    .map(byId)
    .find((control) => !control.checkValidity());
  const document = documentFilter();
  if (byId("q").value.trim() === "") return complain(byId("q"), "Enter a question or a few words first.");
  if (invalid) return complain(invalid, `${byId(invalid.id).labels[0].textContent}: ${invalid.validationMessage}`);
  if (document.problem) return complain(byId("document-filter"), document.problem);
  answered = "";
  return go(addressOf());
}

function complain(control, words) {
  byId("options").open ||= byId("options").contains(control);
  control.setAttribute("aria-invalid", "true");
  control.addEventListener("input", () => control.removeAttribute("aria-invalid"), { once: true });
  byId("search-status").textContent = words;
  control.focus();
}

function addressOf(changes = {}) {
  const values = { q: byId("q").value.trim(), c: byId("search-collection").value };
  for (const [name, id] of Object.entries(CONTROLS)) {
    const value = byId(id).value.trim();
    if (value !== DEFAULTS[name]) values[name] = value;
  }
  values.doc = documentFilter().id;
  return to("search", "", { ...values, ...changes });
}

export async function showSearch({ parameters }) {
  turn += 1;
  const mine = turn;
  if (answered === "") byId("q").focus({ preventScroll: true }); // before the key is asked for: the dialog gives it back
  const isBare = !parameters.get("q") && !parameters.get("doc");
  if (!isBare) readControls(parameters);
  let chosen;
  try {
    chosen = await fillChoice(byId("search-collection"), parameters.get("c") ?? "", { all: true });
  } catch (error) {
    if (mine === turn) fill(byId("search-notices"), problem(error, again()));
    return;
  }
  if (mine !== turn) return;
  if (isBare) {
    if (answered === "" || parameters.get("c")) introduce(chosen);
    return;
  }
  chooseDocument(parameters.get("doc"));
  summarise();
  if (!parameters.get("q")) introduce(chosen);
  else if (answered !== location.hash) ask(parameters.get("q"), chosen);
}

function readControls(parameters) {
  byId("q").value = parameters.get("q") ?? "";
  for (const [name, id] of Object.entries(CONTROLS)) {
    const value = parameters.get(name) ?? "";
    const isFit = value !== "" && (byId(id).type !== "number" || Number.isFinite(Number(value)));
    byId(id).value = isFit ? value : DEFAULTS[name];
    if (byId(id).value === "") byId(id).value = DEFAULTS[name]; // a choice that there is not
  }
}

/** Before the first question: what there is to be searched. */
async function introduce(collection) {
  answered = "";
  running?.abort();
  byId("search-heading").textContent = "Search";
  fill(byId("results"));
  fill(byId("search-notices"));
  fill(byId("search-share"));
  byId("search-status").textContent = "";
  byId("q").focus({ preventScroll: true });
  const known = await collections().catch(() => []);
  const selected = known.filter((each) => collection === ALL || each.name === collection);
  if (selected.length === 0 || answered !== "" || running) return;
  const totals = { doc_count: selected.reduce((sum, each) => sum + (each.doc_count ?? 0), 0) };
  byId("search-status").textContent = totals.doc_count
    ? `${count(totals.doc_count, "document")} in ${nameOf(collection, selected.length)}. Results are passages with location and citation.`
    : "";
  if (!totals.doc_count) {
    fill(
      byId("search-notices"),
      notice(
        "info",
        h("p", {}, `${collection} has no documents yet.`),
        h("p", {}, h("a", { class: "button", href: to("ingest", "", { c: collection }) }, "Add documents")),
      ),
    );
  }
}

function nameOf(collection, number) {
  return collection === ALL ? (number ? count(number, "collection") : "all collections") : collection;
}

function again() {
  return h(
    "button",
    {
      type: "button",
      onclick: () => {
        answered = "";
        dispatchEvent(new HashChangeEvent("hashchange"));
      },
    },
    "Try again",
  );
}

function summarise() {
  const options = [];
  const control = (name) => byId(CONTROLS[name]);
  if (control("mode").value !== DEFAULTS.mode) options.push(control("mode").value);
  if (control("min").value !== DEFAULTS.min) options.push(`minimum score ${control("min").value}`);
  if (control("clause").value) options.push(`clause ${control("clause").value}`);
  if (control("type").value) options.push(control("type").value);
  if (control("normative").value) options.push(control("normative").value === "true" ? "normative" : "informative");
  if (byId("document-filter").value) options.push("one document");
  byId("options-summary").textContent = options.length ? options.join(", ") : "";
}

function questionOf(query, collection) {
  const filters = {};
  const document = documentFilter().id;
  if (document) filters.document_id = document;
  if (byId("document-type").value) filters.document_type = byId("document-type").value;
  if (byId("normative").value) filters.normative = byId("normative").value === "true";
  if (byId("clause").value.trim()) filters.clause_number = byId("clause").value.trim();
  const request = {
    query,
    ...(collection === ALL ? { everywhere: true } : { collection }),
    mode: byId("mode").value,
    top_k: Number(byId("top-k").value),
    min_score: Number(byId("min-score").value),
  };
  return Object.keys(filters).length ? { ...request, filters } : request;
}

async function ask(query, collection) {
  running?.abort();
  const mine = (running = new AbortController());
  const hash = location.hash;
  const began = performance.now();
  const question = questionOf(query, collection);
  byId("search-status").textContent = "Searching …";
  byId("results").setAttribute("aria-busy", "true");
  fill(byId("search-notices"));
  busy(byId("search-submit"), true);
  try {
    const answer = await call("POST", "/search", { body: question, signal: mine.signal });
    if (mine.signal.aborted) return;
    answered = hash;
    render(answer, question, performance.now() - began);
  } catch (error) {
    if (isAborted(error) || mine.signal.aborted) return;
    answered = "";
    fill(byId("results"));
    byId("search-heading").textContent = `Search: ${shown(query)}`;
    byId("search-status").textContent = "The search failed.";
    fill(byId("search-notices"), problem(error, again()));
  } finally {
    if (running === mine) {
      running = null;
      byId("results").removeAttribute("aria-busy");
      busy(byId("search-submit"), false);
    }
  }
}

function render(answer, question, took) {
  const found = answer.results ?? [];
  const mode = answer.mode ?? question.mode;
  const seconds = took < 1000 ? `${Math.round(took)} ms` : `${(took / 1000).toFixed(1)} s`;
  const place = question.everywhere ? nameOf(ALL) : (answer.collection ?? question.collection);
  const what = found.length ? count(found.length, "passage") : "Nothing found";
  byId("search-heading").textContent = `Search: ${shown(question.query)}`;
  byId("search-status").textContent = `${what} in ${place}, ${mode}, ${seconds}`;
  fill(byId("search-share"), shareButton("this search"));
  fill(byId("search-notices"), notices(answer, question, found.length));
  const terms = [question.query, ...(answer.also_asked ?? [])].join(" ");
  fill(
    byId("results"),
    found.map((each, index) => h("li", {}, result(each, index + 1, terms, Boolean(question.everywhere)))),
  );
}

function notices(answer, question, found) {
  const entries = [];
  const degraded = answer.degraded ?? [];
  if (degraded.length) {
    entries.push(
      notice(
        "warn",
        h("p", {}, h("strong", {}, "Part of the search failed"), "; the results may be incomplete:"),
        h(
          "ul",
          {},
          degraded.map((each) => h("li", {}, String(each))),
        ),
        h("p", {}, "Try again in a moment; the status at the top right shows what is down."),
      ),
    );
  }
  if (answer.note) entries.push(notice("info", h("p", {}, String(answer.note))));
  if (found && answer.answerability !== undefined) {
    entries.push(answerability(answer.answerability));
  }
  const others = answer.also_asked ?? [];
  if (others.length) {
    entries.push(notice("info", h("p", {}, h("strong", {}, "Also searched for"), `: ${others.join("; ")}.`)));
  }
  if (answer.below_min_score > 0) {
    entries.push(
      notice(
        "info",
        h(
          "p",
          { class: "row" },
          h(
            "span",
            {},
            `Hidden, with a score below ${question.min_score}: ${count(answer.below_min_score, "passage")}.`,
          ),
          h("button", { type: "button", class: "small", onclick: () => go(addressOf({ min: "" })) }, "Show them"),
        ),
      ),
    );
  }
  if (found === 0) entries.push(nothing(question));
  return entries;
}

const LIKELIHOODS = [
  ["warn", "Answer unlikely", "These are the closest passages found; perhaps none of them answers the question."],
  ["", "Answer uncertain", "One of these passages may answer the question: check it before you rely on it."],
  ["good", "Answer likely", "One of these passages probably answers the question."],
];

/** The third of 0 to 1 that an estimate lies in, in the words of the assistants' answers. */
function answerability(estimate) {
  const third = estimate < 1 / 3 ? 0 : estimate > 2 / 3 ? 2 : 1;
  const [tone, title, words] = LIKELIHOODS[third];
  return h("p", { class: "answerability" }, h("span", { class: `tag ${tone}` }, title), " ", words);
}

function nothing(question) {
  const advice = [];
  if (question.filters) advice.push("Reset the filters: they narrow the search.");
  if (question.min_score > 0) advice.push("Lower the minimum score.");
  if (question.mode === "keyword") advice.push("Use hybrid mode, which also searches by meaning.");
  advice.push("Check that the document is in this collection, or choose another collection.", "Use other words, or fewer words.");
  return notice(
    "info",
    h("p", {}, h("strong", {}, "Nothing was found.")),
    h(
      "ul",
      {},
      advice.map((each) => h("li", {}, each)),
    ),
  );
}
