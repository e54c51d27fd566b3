/* One result: what was found, how well, where it stands, and how to cite and to check it. */

import { copyButton, h } from "./dom.js";
import { marked, stemsOf } from "./highlight.js";
import { linesOf, pagesOf, passageText, sectionOf, sourceOf } from "./places.js";
import { to } from "./route.js";

const LONG = 1100;

/** Make the article of one result. */
export function result(found, rank, query, everywhere = false) {
  const about = found.metadata ?? {};
  const text = String(found.text ?? "");
  const name = about.title || about.filename || about.source || "Document";
  const address = to("document", about.doc_id, { at: about.chunk_index, q: query, c: about.collection });
  const cutFrom = about.cut_from ? String(about.cut_from).split("\n") : [];
  const body = h("div", { class: "passage-text" }, passageText(text, stemsOf(query), cutFrom));
  return h(
    "article",
    { class: "result" },
    h(
      "header",
      {},
      h(
        "h2",
        {},
        h("span", { class: "rank" }, `${rank}.`),
        " ",
        h("a", { href: address }, ...marked(name, stemsOf(query))),
      ),
      score(found.score),
    ),
    places(about, everywhere),
    body,
    text.length > LONG ? fold(body) : null,
    alsoIn(found.also_in ?? []),
    h(
      "div",
      { class: "row result-actions" },
      citation(about),
      details(about),
      h(
        "a",
        { class: "button small", href: address, "aria-label": `Show in document: ${name}, result ${rank}` },
        "Show in document",
      ),
    ),
  );
}

function score(value) {
  const known = Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0;
  return h(
    "span",
    { class: "score" },
    h("meter", { min: 0, max: 1, value: known, "aria-label": `Score ${known.toFixed(2)} of 1` }),
    h("span", { "aria-hidden": "true" }, known.toFixed(2)),
  );
}

function places(about, everywhere) {
  const section = sectionOf(about);
  const parts = [
    everywhere ? h("span", { class: "tag" }, about.collection ?? "") : null,
    about.filename ? h("span", { class: "file" }, about.filename) : null,
    pagesOf(about) ? h("span", {}, pagesOf(about)) : null,
    linesOf(about) ? h("span", {}, linesOf(about)) : null,
    about.clause_number ? h("span", {}, `clause ${about.clause_number}`) : null,
    section ? h("span", { class: "section" }, section) : null,
  ];
  return h("p", { class: "places" }, parts);
}

function fold(body) {
  body.classList.add("folded");
  const button = h(
    "button",
    { type: "button", class: "quiet small", "aria-expanded": "false", onclick: turn },
    "Show full passage",
  );
  function turn() {
    const folded = body.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!folded));
    button.textContent = folded ? "Show full passage" : "Show less";
  }
  return h("p", { class: "unfold" }, button);
}

/** Where else the same is said. */
function alsoIn(citations) {
  if (!citations.length) return null;
  return h("p", { class: "places" }, `Also in: ${citations.map(String).join("; ")}`);
}

function citation(about) {
  if (!about.citation) return null;
  return h("p", { class: "citation" }, h("q", {}, about.citation), " ", copyButton(String(about.citation), "citation"));
}

function details(about) {
  const own = Object.entries(about.document_metadata ?? {});
  const rows = [
    ["Source", sourceOf(about.source)],
    ["Document id", h("code", {}, about.doc_id ?? "")],
    ["Passage", passageNumber(about)],
    ["Collection", about.collection ?? ""],
    ...own.map(([name, value]) => [name, String(value)]),
  ];
  return h(
    "details",
    { class: "facts" },
    h("summary", {}, "Source and metadata"),
    h(
      "dl",
      {},
      rows.filter(([, value]) => value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
  );
}

function passageNumber(about) {
  return Number.isInteger(about.chunk_index) ? `${about.chunk_index + 1}` : "";
}
