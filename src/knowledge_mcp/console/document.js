/* The document view: passages in order with their pages and lines, the found one in sight with its neighbours. */

import { call, isAborted } from "./api.js";
import { announce, byId, copyButton, count, fill, h, moment, notice, number, problem, shareButton, shown } from "./dom.js";
import { changed, collections, current } from "./catalogue.js";
import { documentMayGo } from "./confirm.js";
import { marked, stemsOf } from "./highlight.js";
import { linesOf, pagesOf, passageText, sectionOf, sourceOf } from "./places.js";
import { markSection, showOutline } from "./outline.js";
import { offerPages, setUpPage, showPage } from "./page.js";
import { go, to } from "./route.js";

const BEFORE = 4;
const WINDOW = 20;
const SHORT = 0.7; // of the window's height: what is longer is shown from its beginning

let open = null;

export function setUpDocument() {
  setUpPage();
  byId("document-earlier").addEventListener("click", () => grow(-1));
  byId("document-later").addEventListener("click", () => grow(1));
  byId("document-jump").addEventListener("submit", (event) => {
    event.preventDefault();
    const target = byId("jump").valueAsNumber;
    if (!open || !Number.isInteger(target) || target < 1 || target > open.total) {
      byId("document-status").textContent = open ? `Enter a number from 1 to ${open.total}.` : "";
      return;
    }
    go(to("document", open.id, { at: target - 1, q: open.query, c: open.collection }));
  });
}

export function showDocument({ argument, parameters, list }) {
  const at = Number.parseInt(parameters.get("at") ?? "", 10);
  const back = byId("document-back");
  back.href = list;
  back.textContent = list.startsWith("#/search") ? "← Back to search" : "← Back to documents";
  open?.leaving.abort();
  if (open && open.id !== argument) scrollTo(0, 0);
  open = {
    id: argument,
    query: parameters.get("q") ?? "",
    at: Number.isInteger(at) && at >= 0 ? at : null,
    collection: parameters.get("c") ?? "",
    first: 0,
    next: 0,
    total: 0,
    leaving: new AbortController(),
  };
  open.first = open.next = Math.max(0, (open.at ?? 0) - BEFORE);
  byId("document-heading").textContent = "Document";
  fill(byId("document-facts"));
  fill(byId("document-problem"));
  fill(byId("passages"));
  byId("page-panel").hidden = true;
  byId("jump").value = open.at === null ? "" : String(open.at + 1);
  byId("document-earlier").hidden = byId("document-later").hidden = true;
  start(open);
}

async function start(mine) {
  byId("document-status").textContent = "Loading …";
  const answer = await load(mine, mine.next, WINDOW);
  if (!answer) return;
  mine.collection = answer.collection ?? mine.collection;
  current.collection = mine.collection || current.collection;
  facts(answer);
  mine.hasPages = offerPages(mine, answer);
  showOutline(mine);
  byId("passages").append(...passages(mine, answer.chunks ?? []));
  mine.next += (answer.chunks ?? []).length;
  settle(mine);
  const found = byId("passages").querySelector(".found");
  const first = found ?? byId("passages").querySelector("article[data-page]");
  if (first?.dataset.page) showPage(Number(first.dataset.page), found ? mine.at : null);
  if (found) {
    found.scrollIntoView({ block: found.offsetHeight > innerHeight * SHORT ? "start" : "center" });
    found.focus({ preventScroll: true });
  } else if (mine.at !== null) {
    fill(
      byId("document-problem"),
      notice(
        "warn",
        h("p", {}, `This document no longer has a passage ${mine.at + 1}; the document may have been replaced.`),
      ),
    );
  }
}

async function load(mine, offset, limit) {
  try {
    return await call("GET", `/documents/${encodeURIComponent(mine.id)}`, {
      query: { limit, offset },
      signal: mine.leaving.signal,
    });
  } catch (error) {
    if (isAborted(error) || mine !== open) return null;
    byId("document-status").textContent = "";
    if (mine.total === 0) byId("outline-panel").hidden = byId("document-jump").hidden = true; // they are another's
    const again = h(
      "button",
      { type: "button", onclick: () => dispatchEvent(new HashChangeEvent("hashchange")) },
      "Try again",
    );
    fill(byId("document-problem"), problem(error, again));
    return null;
  }
}

async function grow(direction) {
  const mine = open;
  const offset = direction > 0 ? mine.next : Math.max(0, mine.first - WINDOW);
  const limit = direction > 0 ? WINDOW : mine.first - offset;
  byId("document-status").textContent = "Loading …";
  const answer = await load(mine, offset, limit);
  if (!answer || mine !== open) return;
  const made = passages(mine, answer.chunks ?? []);
  if (direction > 0) {
    byId("passages").append(...made);
    mine.next += (answer.chunks ?? []).length;
  } else {
    byId("passages").prepend(...made);
    mine.first = offset;
  }
  settle(mine);
  made.find((each) => each.matches("article"))?.focus({ preventScroll: direction < 0 });
}

function settle(mine) {
  byId("document-earlier").hidden = mine.first === 0;
  byId("document-later").hidden = mine.next >= mine.total;
  byId("document-status").textContent =
    mine.total === 0
      ? "No passages."
      : `Passages ${number(mine.first + 1)}–${number(mine.next)} of ${number(mine.total)}`;
  paginate();
}

/** Put a line before each passage on whose first page nothing earlier stood. */
function paginate() {
  let page = "";
  for (const each of byId("passages").querySelectorAll("article")) {
    const begins = each.dataset.page ?? "";
    each.previousElementSibling?.matches(".page-line") && each.previousElementSibling.remove();
    if (begins && begins !== page) each.before(h("h2", { class: "page-line" }, `Page ${begins}`));
    if (begins) page = each.dataset.lastPage ?? begins;
  }
}

function facts(answer) {
  const name = answer.title || answer.filename || answer.source || "Document";
  open.total = answer.chunk_count ?? (answer.chunks ?? []).length;
  byId("document-heading").textContent = shown(name);
  byId("jump").max = String(open.total);
  byId("document-jump").hidden = false;
  document.title = `${shown(name)} · Knowledge console`;
  const own = Object.entries(answer.metadata ?? {}).filter(([key]) => key !== "filename");
  const rows = [
    ["File", answer.filename ?? ""],
    ["Source", answer.source === answer.filename ? "" : sourceOf(answer.source)],
    ["Collection", answer.collection ?? ""],
    ["Size", `${answer.pages ? `${count(answer.pages, "page")}, ` : ""}${count(open.total, "passage")}`],
    [
      "Status",
      answer.status ? h("span", { class: answer.status === "partial" ? "tag warn" : "tag good" }, answer.status) : "",
    ],
    ["Updated", moment(answer.updated_at)],
    [
      "Document id",
      [h("code", {}, answer.doc_id ?? open.id), " ", copyButton(answer.doc_id ?? open.id, "document id")],
    ],
    ...own.map(([key, value]) => [labelOf(key), String(value)]),
  ];
  fill(
    byId("document-facts"),
    h(
      "dl",
      { class: "facts-list" },
      rows
        .filter(([, value]) => value !== "" && value !== null)
        .map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))),
    ),
    warnings(answer.warnings ?? []),
    h(
      "p",
      { class: "row" },
      h(
        "a",
        { class: "button", href: to("search", "", { doc: answer.doc_id, c: answer.collection }) },
        "Search in this document",
      ),
      h("a", { class: "button", href: to("compare", "", { new: answer.doc_id }) }, "Compare"),
      h("a", { class: "button", href: to("trace", "", { from: answer.doc_id }) }, "Trace"),
      h("a", { class: "button", href: to("check", "", { document: answer.doc_id }) }, "Check"),
      shareButton("this document", () => linkTo(open)),
      h(
        "button",
        { type: "button", class: "danger-quiet", id: "document-delete", onclick: () => remove(answer, name) },
        "Delete document",
      ),
    ),
  );
  collections().then(
    (known) => {
      const isFixed = known.some((each) => each.name === answer.collection && each.read_only);
      if (isFixed) document.getElementById("document-delete")?.remove();
    },
    () => {},
  );
}

/** Write a key of a document's metadata as a label. */
function labelOf(key) {
  const words = key === "running_lines" ? "headers and footers" : key.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function linkTo(mine, at = mine.at) {
  return `${location.origin}${location.pathname}${to("document", mine.id, { at, q: mine.query, c: mine.collection })}`;
}

function warnings(messages) {
  if (messages.length === 0) return null;
  return notice(
    "warn",
    h("p", {}, h("strong", {}, "Parts of this document could not be read:")),
    h(
      "ul",
      {},
      messages.map((each) => h("li", {}, String(each))),
    ),
  );
}

async function remove(answer, name) {
  if (!(await documentMayGo(name, answer.chunk_count, answer.collection))) return;
  try {
    await call("DELETE", `/documents/${encodeURIComponent(answer.doc_id)}`);
    changed();
    announce(`Deleted ${name}`);
    go(to("documents", "", { c: answer.collection }));
  } catch (error) {
    fill(byId("document-problem"), problem(error));
  }
}

function passages(mine, chunks) {
  const stems = stemsOf(mine.query);
  return chunks.map((chunk, order) => {
    const about = chunk.metadata ?? {};
    const index = Number.isInteger(about.chunk_index) ? about.chunk_index : mine.next + order;
    const isFound = index === mine.at;
    const section = sectionOf(about);
    const pages = Array.isArray(about.pages) && about.pages.length ? about.pages : about.page ? [about.page] : [];
    const where = [pagesOf(about), linesOf(about), about.clause_number ? `clause ${about.clause_number}` : ""]
      .filter(Boolean)
      .join(", ");
    return h(
      "article",
      {
        class: isFound ? "passage found" : "passage",
        tabIndex: -1,
        "aria-current": isFound ? "true" : null,
        "aria-label": `Passage ${index + 1}${isFound ? ", found" : ""}`,
        data: pages.length ? { page: String(pages[0]), lastPage: String(pages.at(-1)) } : {},
      },
      h(
        "p",
        { class: "places" },
        h("span", { class: "rank" }, `${index + 1}`),
        isFound ? h("span", { class: "tag good" }, "found") : null,
        where ? h("span", {}, where) : null,
        section ? h("span", { class: "section" }, ...marked(section, stems)) : null,
      ),
      h("div", { class: "passage-text" }, passageText(chunk.text ?? "", stems)),
        h(
          "p",
          { class: "passage-actions row" },
          mine.hasPages && pages.length
            ? h(
                "button",
                {
                  type: "button",
                  class: "quiet small",
                  "aria-label": `Show on page: passage ${index + 1}, page ${pages[0]}`,
                  onclick: () => {
                    showPage(pages[0], index, { isRequested: true });
                    markSection(index);
                  },
                },
                "Show on page",
              )
            : null,
          copyButton(() => linkTo(mine, index), `link to passage ${index + 1}`, "Copy link"),
        ),
    );
  });
}
