/* Which requirements of one document belong to which of another, why, how sure that is, what has no counterpart, and what
   a person decides of it. */

import { announce, byId, count, countTags, fill, folded, h, number, shareButton, table } from "./dom.js";
import { decided, place, reviewing } from "./review.js";

const TONES = { declared: "good", likely: "good", uncertain: "warn", mentioned: "warn" };

const HEADS = ["From", "To", "Verdict", "In common", "Decision"];

const SURE = new Set(["declared", "likely"]);

const VERDICTS = [
  ["", "All"],
  ["sure", "Declared or likely"],
  ["declared", "Declared"],
  ["likely", "Likely"],
  ["uncertain", "Uncertain"],
  ["mentioned", "Mentioned"],
];

const view = reviewing({
  prefix: "trace",
  title: "Trace requirements",
  lead: "See which requirements of one document belong to which of another, and which have no counterpart.",
  action: "Trace",
  choices: { from: "From", to: "To" },
  work: "Comparing every requirement with every other",
  missing: "Two documents are needed: the requirements, and what meets them.",
  parts: ["summary", "gaps"],
  rows: "links",
  filter: "Links",
  verdicts: VERDICTS,
  isOne: (selected, verdict) => (selected === "sure" ? SURE.has(verdict) : verdict === selected),
  render,
});

export const setUpTrace = view.setUp;
export const showTrace = view.show;

function render(answer, say) {
  const links = answer.links ?? [];
  const sure = links.filter((each) => SURE.has(each.verdict)).length;
  say(
    `${count(links.length, "link")}, ${number(sure)} of them declared or likely, between ` +
      `${count(answer.from.items, "requirement")} and ${count(answer.to.items, "requirement")}. ` +
      `A link is likely at ${answer.threshold.toFixed(2)} or above.`,
  );
  fill(
    byId("trace-summary"),
    h(
      "ul",
      { class: "counts" },
      countTags(answer.summary, TONES),
      gapTag("From", answer.gaps.from),
      gapTag("To", answer.gaps.to),
    ),
    h("p", { class: "row" }, shareButton("this trace")),
  );
  const lines = links.map((each) => row(answer, each));
  fill(byId("trace-links"), lines.length ? table(HEADS, lines, "trace") : null);
  fill(
    byId("trace-gaps"),
    gaps(answer.gaps.from, answer.from),
    gaps(answer.gaps.to, answer.to),
    rejected(answer, answer.rejected ?? []),
  );
}

function gapTag(side, items) {
  return items.length ? h("li", { class: "tag bad" }, `${side}: ${number(items.length)} without a link`) : null;
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
  ].map(([value, words, outcome]) => {
    const label = `${words} the link from ${each.from.id} to ${each.to.id}`;
    const button = h("button", { type: "button", class: "small", "aria-label": label, onclick: choose }, words);
    async function choose() {
      const next = now === value ? null : value;
      await decided(buttons, "/trace/decisions", decision(answer, each, next), {
        fail: view.fail,
        done() {
          now = next;
          press();
          announce(next === null ? "The decision was undone" : `The link is ${outcome}`);
        },
      });
      button.focus();
    }
    button.dataset.meant = String(value);
    return button;
  });
  function press() {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.meant === String(now)));
    const own = each.accepted ? "undone" : each.verdict;
    const label = now === null ? own : now ? "declared" : "rejected";
    verdict.textContent = label;
    verdict.className = `tag ${TONES[label] ?? ""}`;
    const row = verdict.closest("tr");
    if (row) row.dataset.verdict = label;
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
  return folded(
    `Rejected: ${count(links.length, "link")}`,
    links.map((each) => {
      const label = `Undo the rejection of ${each.from.id} to ${each.to.id}`;
      const back = h("button", { type: "button", class: "small", "aria-label": label, onclick: take }, "Undo");
      const line = h("li", {}, item(each.from, answer.from), " → ", item(each.to, answer.to), back);
      function take() {
        return decided([back], "/trace/decisions", decision(answer, each, null), {
          fail: view.fail,
          done() {
            fill(line, `${each.from.id} → ${each.to.id}: undone; the next trace proposes this link again if it is likely.`);
            announce("The decision was undone");
          },
        });
      }
      return line;
    }),
  );
}

function item(traced, document) {
  return [
    place(traced, document, traced.id),
    h("div", { class: "small-text item-words" }, traced.text || traced.title),
  ];
}

function gaps(items, document) {
  return folded(
    `Without a link in ${document.title}: ${number(items.length)} of ${number(document.items)}`,
    items.map((each) => h("li", {}, item(each, document))),
  );
}
