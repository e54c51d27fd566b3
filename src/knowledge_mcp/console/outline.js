/* A document's sections as links: each leads to the passage that it begins in. */

import { call } from "./api.js";
import { byId, count, fill, h } from "./dom.js";
import { to } from "./route.js";

const DEEPEST = 5;

/** Show the outline of a document; nothing is shown of one that has no sections. */
export async function showOutline(mine) {
  const panel = byId("outline-panel");
  panel.hidden = true;
  fill(byId("outline"));
  let answer;
  try {
    answer = await call("GET", `/documents/${encodeURIComponent(mine.id)}/outline`, { signal: mine.leaving.signal });
  } catch {
    return; // what keeps the document from being shown is reported where its passages would stand
  }
  if (mine.leaving.signal.aborted) return;
  const sections = (answer.sections ?? []).filter((each) => Number.isInteger(each.passage));
  if (sections.length < 2) return;
  const top = Math.min(...sections.map((each) => each.level));
  fill(
    byId("outline"),
    sections.map((each) => {
      const level = String(Math.min(each.level - top + 1, DEEPEST));
      return h("li", { data: { level, passage: String(each.passage) } }, link(mine, each));
    }),
  );
  byId("outline-count").textContent = count(sections.length, "section");
  byId("outline-details").open = matchMedia("(min-width: 60rem)").matches;
  panel.hidden = false;
  markSection(mine.at ?? 0);
}

function link(mine, section) {
  const isNumber = /^\S+ \S+$/.test(section.title) && section.title.endsWith(` ${section.number}`); // "Annex A"
  const name = [isNumber ? "" : section.number, section.title || section.words].filter(Boolean).join(" ") || "Untitled";
  return h(
    "a",
    { href: to("document", mine.id, { at: section.passage, q: mine.query, c: mine.collection }) },
    h("span", {}, name),
    section.page ? h("span", { class: "dim outline-page" }, h("span", { class: "sr" }, "page "), `${section.page}`) : null,
  );
}

/** Mark the section that a passage lies in. */
export function markSection(passage) {
  let found = null;
  for (const each of byId("outline").children) {
    each.firstElementChild.removeAttribute("aria-current");
    if (Number(each.dataset.passage) <= passage) found = each.firstElementChild;
  }
  found?.setAttribute("aria-current", "true");
  const list = byId("outline").parentElement;
  if (found && list.scrollHeight > list.clientHeight) list.scrollTop = found.offsetTop - list.clientHeight / 2;
}
