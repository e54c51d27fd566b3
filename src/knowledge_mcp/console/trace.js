/* Which requirements of one document belong to which of another, why, how sure that is, what has no counterpart, and what
   a person decides of it. */

import { announce, byId, count, countTags, fill, h, notice, number, shareButton } from "./dom.js";
import { decided, reviewing } from "./review.js";
import { go, to } from "./route.js";

const TONES = { declared: "good", likely: "good", uncertain: "warn" };

const SURE = new Set(["declared", "likely"]);

const VERDICTS = [
  ["", "All"],
  ["sure", "Declared or likely"],
  ["declared", "Declared"],
  ["likely", "Likely"],
  ["uncertain", "Uncertain"],
];

const view = reviewing({
  path: "/trace",
  prefix: "trace",
  names: ["from", "to"],
  work: "Every requirement is held against every other",
  missing: "Two documents are needed: what is asked for, and what answers it.",
  parts: ["summary", "links", "gaps"],
  render,
});

export const showTrace = view.show;

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

function render(answer, say) {
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
      countTags(answer.summary, TONES),
      gapTag(answer.gaps.from, answer.from),
      gapTag(answer.gaps.to, answer.to),
    ),
    h("p", { class: "row" }, shareButton("this trace")),
  );
  fill(byId("trace-problem"), answer.warning ? notice("warn", h("p", {}, answer.warning)) : null);
  fill(byId("trace-links"), links.length ? table(answer, links) : null);
  fill(
    byId("trace-gaps"),
    gaps(answer.gaps.from, answer.from),
    gaps(answer.gaps.to, answer.to),
    rejected(answer, answer.rejected ?? []),
  );
  byId("trace-narrow").hidden = links.length === 0;
  narrow();
}

function gapTag(items, document) {
  return items.length
    ? h("li", { class: "tag bad" }, `${number(items.length)} without a link in ${document.title}`)
    : null;
}

function table(answer, links) {
  const heads = ["From", "To", "Verdict", "In common", "Decision"];
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
  const verdict = h("span", { class: `tag ${TONES[each.verdict] ?? ""}` }, each.verdict);
  return h(
    "tr",
    { data: { verdict: each.verdict } },
    h("th", { scope: "row" }, item(each.from, answer.from)),
    cell("To", item(each.to, answer.to)),
    cell(
      "Verdict",
      verdict,
      " ",
      each.probability.toFixed(2),
    ),
    cell("In common", each.words.join(", ")),
    cell("Decision", deciding(answer, each, verdict)),
  );
}

/** Two buttons; the one that is pressed takes its decision back. */
function deciding(answer, each, verdict) {
  let now = each.accepted ? true : null;
  const buttons = [
    [true, "Accept", "accepted"],
    [false, "Reject", "rejected"],
  ].map(([meant, words, told]) => {
    const label = `${words} the link from ${each.from.id} to ${each.to.id}`;
    const button = h("button", { type: "button", class: "small", "aria-label": label, onclick: choose }, words);
    async function choose() {
      const wanted = now === meant ? null : meant;
      await decided(buttons, "/trace/decisions", decision(answer, each, wanted), {
        fail: view.fail,
        done() {
          now = wanted;
          press();
          announce(wanted === null ? "The decision is taken back" : `The link is ${told}`);
        },
      });
      button.focus();
    }
    button.dataset.meant = String(meant);
    return button;
  });
  function press() {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.meant === String(now)));
    const own = each.accepted ? "taken back" : each.verdict;
    const shown = now === null ? own : now ? "declared" : "rejected";
    verdict.textContent = shown;
    verdict.className = `tag ${TONES[shown] ?? ""}`;
    const row = verdict.closest("tr");
    if (row) row.dataset.verdict = shown;
  }
  press();
  return h("div", { class: "row" }, buttons);
}

function decision(answer, each, accepted) {
  return {
    from: answer.from.doc_id,
    to: answer.to.doc_id,
    source_item: each.from.id,
    target_item: each.to.id,
    accepted,
  };
}

function rejected(answer, links) {
  if (!links.length) return null;
  return h(
    "details",
    { class: "gaps" },
    h("summary", {}, `Rejected: ${count(links.length, "link")}`),
    h(
      "ul",
      {},
      links.map((each) => {
        const label = `Take back the rejection of ${each.from.id} to ${each.to.id}`;
        const back = h("button", { type: "button", class: "small", "aria-label": label, onclick: take }, "Take back");
        const line = h("li", {}, item(each.from, answer.from), " → ", item(each.to, answer.to), back);
        function take() {
          return decided([back], "/trace/decisions", decision(answer, each, null), {
            fail: view.fail,
            done() {
              fill(line, `${each.from.id} → ${each.to.id}: taken back; the next trace proposes it where it is likely.`);
              announce("The decision is taken back");
            },
          });
        }
        return line;
      }),
    ),
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
    const isWanted = verdict === "" || (verdict === "sure" ? SURE.has(each.dataset.verdict) : each.dataset.verdict === verdict);
    each.hidden = !isWanted || !each.textContent.toLowerCase().includes(words);
  }
}
