/* What a new edition touches: places of other documents that refer to what changed; asked for where somebody looks. */

import { call } from "./api.js";
import { count, fill, h, number, problem } from "./dom.js";
import { place } from "./review.js";

const MOST = 500; // places that the service gives at once

/** Make the part of a comparison that lists these places once it is opened. */
export function touchedPlaces(older, newer) {
  const status = h("p", { class: "live", role: "status", "aria-live": "polite" });
  const list = h("div", {});
  const part = h("details", { class: "gaps", ontoggle: open }, h("summary", {}, "What it affects"), status, list);
  let isAsked = false;

  async function open() {
    if (!part.open || isAsked) return;
    isAsked = true;
    status.textContent = "Searching the other documents …";
    fill(list);
    try {
      const query = { old: older, new: newer, limit: MOST };
      render(await call("GET", "/impact", { query, seconds: 300 }));
    } catch (error) {
      isAsked = false;
      status.textContent = "";
      fill(list, problem(error, h("button", { type: "button", onclick: open }, "Try again")));
    }
  }

  function render({ places, total, untouched, degraded }) {
    const also = untouched ? ` ${count(untouched, "reference")} to unchanged clauses.` : "";
    const shown = places.length < total ? `, ${number(places.length)} shown` : "";
    status.textContent = total
      ? `${count(total, "reference")} in other documents${shown}.${also}`
      : `No other document refers to what changed.${also}`;
    fill(
      list,
      h("ul", {}, degraded.map((each) => h("li", { class: "small-text" }, each)), places.map(line)),
    );
  }

  return part;
}

function line(each) {
  const clause = each.clause ? `clause ${each.clause}` : "";
  const became = [each.became, ...each.kinds].map((kind) => kind.replace("_", " ")).filter(Boolean);
  return h(
    "li",
    {},
    h("div", { class: "item-words" }, each.text),
    h(
      "div",
      { class: "small-text" },
      place(each, each, each.citation),
      ` refers to ${each.reference}, `,
      each.dated ? `the edition ${each.dated}` : "the current edition",
      became.length ? `; ${clause || "the document"}: ${became.join(", ")}` : "",
    ),
  );
}
