/* Which requirements of one document belong to which of another, why, how sure that is, and what has no counterpart. */

import { call, isAborted } from "./api.js";
import { byId, busy, count, fill, h, notice, number, problem, shareButton } from "./dom.js";
import { fillDocuments } from "./choosing.js";
import { go, to } from "./route.js";

const TONES = { declared: "good", likely: "good", uncertain: "warn" };

let running = null;

const VERDICTS = [
  ["", "All"],
  ["sure", "Declared or likely"],
  ["declared", "Declared"],
  ["likely", "Likely"],
  ["uncertain", "Uncertain"],
];

export function setUpTrace() {
  fill(
    byId("trace-verdict"),
    VERDICTS.map(([value, words]) => h("option", { value }, words)),
  );
  byId("trace-form").addEventListener("submit", (event) => {
    event.preventDefault();
    go(to("trace", "", { from: byId("trace-from").value, to: byId("trace-to").value }));
  });
  byId("trace-verdict").addEventListener("change", narrow);
  byId("trace-words").addEventListener("input", narrow);
}

export async function showTrace({ parameters }) {
  running?.abort();
  const mine = (running = new AbortController());
  const pair = [parameters.get("from") ?? "", parameters.get("to") ?? ""];
  for (const id of ["trace-problem", "trace-summary", "trace-links", "trace-gaps"]) fill(byId(id));
  byId("trace-narrow").hidden = true;
  say("");
  try {
    const there = await fillDocuments([byId("trace-from"), byId("trace-to")], pair);
    if (mine.signal.aborted) return;
    if (there < 2) say("Two documents are needed: what is asked for, and what answers it.");
  } catch (error) {
    if (!mine.signal.aborted) fill(byId("trace-problem"), problem(error, again()));
    return;
  }
  if (pair.every(Boolean)) await trace(mine, pair);
  else if (pair.some(Boolean)) say("Choose the other document.");
}

function say(words) {
  byId("trace-status").textContent = words;
}

function again() {
  return h(
    "button",
    { type: "button", onclick: () => dispatchEvent(new HashChangeEvent("hashchange")) },
    "Try again",
  );
}

async function trace(mine, [from, towards]) {
  say("Tracing … every requirement is held against every other.");
  busy(byId("trace-submit"), true);
  try {
    const answer = await call("GET", "/trace", { query: { from, to: towards }, signal: mine.signal, seconds: 600 });
    if (!mine.signal.aborted) render(answer);
  } catch (error) {
    if (isAborted(error) || mine.signal.aborted) return;
    say("");
    fill(byId("trace-problem"), problem(error, again()));
  } finally {
    busy(byId("trace-submit"), false);
  }
}

function render(answer) {
  const links = answer.links ?? [];
  const sure = links.filter((each) => each.verdict !== "uncertain").length;
  say(
    `${count(links.length, "link")}, ${number(sure)} of them declared or likely, between ` +
      `${count(answer.from.items, "requirement")} and ${count(answer.to.items, "requirement")}. ` +
      `A link is likely from ${answer.threshold.toFixed(2)} on.`,
  );
  fill(
    byId("trace-summary"),
    h(
      "ul",
      { class: "counts" },
      Object.entries(answer.summary ?? {}).map(([name, held]) =>
        h("li", { class: `tag ${TONES[name] ?? ""}` }, `${number(held)} ${name}`),
      ),
      gapTag(answer.gaps.from, answer.from),
      gapTag(answer.gaps.to, answer.to),
    ),
    h("p", { class: "row" }, shareButton("this trace")),
  );
  fill(byId("trace-problem"), answer.warning ? notice("warn", h("p", {}, answer.warning)) : null);
  fill(byId("trace-links"), links.length ? table(answer, links) : null);
  fill(byId("trace-gaps"), gaps(answer.gaps.from, answer.from), gaps(answer.gaps.to, answer.to));
  byId("trace-narrow").hidden = links.length === 0;
  narrow();
}

function gapTag(items, document) {
  return items.length
    ? h("li", { class: "tag bad" }, `${number(items.length)} without a link in ${document.title}`)
    : null;
}

function table(answer, links) {
  const heads = ["From", "To", "Verdict", "In common"];
  return h(
    "table",
    { class: "list trace" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((each) => h("th", { scope: "col" }, each)),
      ),
    ),
    h(
      "tbody",
      {},
      links.map((each) => row(answer, each)),
    ),
  );
}

function row(answer, each) {
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  return h(
    "tr",
    { data: { verdict: each.verdict } },
    h("th", { scope: "row" }, item(each.from, answer.from)),
    cell("To", item(each.to, answer.to)),
    cell(
      "Verdict",
      h("span", { class: `tag ${TONES[each.verdict] ?? ""}` }, each.verdict),
      " ",
      each.probability.toFixed(2),
    ),
    cell("In common", each.words.join(", ")),
  );
}

function item(held, document) {
  return [
    Number.isInteger(held.passage)
      ? h("a", { href: to("document", document.doc_id, { at: held.passage, c: document.collection }) }, held.id)
      : held.id,
    h("div", { class: "small-text item-words" }, held.text || held.title),
  ];
}

function gaps(items, document) {
  if (!items.length) return null;
  return h(
    "details",
    { class: "gaps" },
    h("summary", {}, `Without a link in ${document.title}: ${number(items.length)} of ${number(document.items)}`),
    h(
      "ul",
      {},
      items.map((each) => h("li", {}, item(each, document))),
    ),
  );
}

/** Show only the links of one verdict, and with some words. */
function narrow() {
  const verdict = byId("trace-verdict").value;
  const words = byId("trace-words").value.trim().toLowerCase();
  for (const each of byId("trace-links").querySelectorAll("tbody tr")) {
    const isWanted = verdict === "" || (verdict === "sure" ? each.dataset.verdict !== "uncertain" : each.dataset.verdict === verdict);
    each.hidden = !isWanted || !each.textContent.toLowerCase().includes(words);
  }
}
