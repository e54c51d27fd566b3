/* The documents of a collection, page by page: their names, how much of them is searchable, and away with them. */

import { call, isAborted } from "./api.js";
import { announce, busy, byId, count, fill, h, moment, number, problem, table } from "./dom.js";
import { changed, collections, current, fillChoice } from "./catalogue.js";
import { documentMayGo } from "./confirm.js";
import { go, to } from "./route.js";

const PAGE = 25;
const HEADS = ["Document", "Size", "Status", "Updated", "Actions"];

let running = null;
let state = { collection: "", name: "", page: 1, total: 0 };

export function setUpDocuments() {
  byId("documents-form").addEventListener("submit", (event) => {
    event.preventDefault();
    turn({ name: byId("name-filter").value.trim(), page: 1 });
  });
  byId("documents-collection").addEventListener("change", () =>
    turn({ collection: byId("documents-collection").value, page: 1 }),
  );
  byId("documents-previous").addEventListener("click", () => turn({ page: state.page - 1 }));
  byId("documents-next").addEventListener("click", () => turn({ page: state.page + 1 }));
}

function turn(changes) {
  const { collection, name, page } = { ...state, ...changes };
  go(to("documents", "", { c: collection, name, page: page > 1 ? page : "" }));
}

export function showDocuments({ parameters }) {
  const page = Number.parseInt(parameters.get("page") ?? "1", 10);
  state = {
    collection: parameters.get("c") ?? "",
    name: parameters.get("name") ?? "",
    page: page > 0 ? page : 1,
    total: 0,
  };
  byId("name-filter").value = state.name;
  load();
}

async function load() {
  running?.abort();
  const mine = (running = new AbortController());
  const request = state;
  byId("documents-status").textContent = "Loading …";
  byId("documents-table").setAttribute("aria-busy", "true");
  fill(byId("documents-problem"));
  try {
    request.collection = await fillChoice(byId("documents-collection"), request.collection);
    if (mine.signal.aborted) return;
    current.collection = request.collection;
    const known = await collections();
    const isFixed = known.some((each) => each.name === request.collection && each.read_only);
    const answer = await call("GET", "/documents", {
      query: {
        collection: request.collection,
        limit: PAGE,
        offset: (request.page - 1) * PAGE,
        name_contains: request.name,
      },
      signal: mine.signal,
    });
    if (!mine.signal.aborted) render(request, answer, isFixed);
  } catch (error) {
    if (isAborted(error) || mine.signal.aborted) return;
    fill(byId("documents-table"));
    byId("documents-pager").hidden = true;
    byId("documents-status").textContent = "";
    fill(byId("documents-problem"), problem(error, h("button", { type: "button", onclick: load }, "Try again")));
  } finally {
    if (running === mine) byId("documents-table").removeAttribute("aria-busy");
  }
}

function render(request, answer, isFixed) {
  const documents = answer.documents ?? [];
  state.total = answer.total ?? documents.length;
  if (documents.length === 0 && request.page > 1 && state.total > 0) {
    turn({ page: Math.ceil(state.total / PAGE) });
    return;
  }
  const condition = request.name ? ` whose name contains “${request.name}”` : "";
  byId("documents-status").textContent = `${count(state.total, "document")} in ${request.collection}${condition}`;
  const rows = documents.map((each) => row(each, isFixed));
  fill(byId("documents-table"), rows.length ? table(HEADS, rows) : none(request));
  const from = (request.page - 1) * PAGE;
  byId("documents-range").textContent =
    `${number(from + 1)}–${number(from + documents.length)} of ${number(state.total)}`;
  byId("documents-pager").hidden = state.total <= PAGE;
  byId("documents-previous").disabled = request.page <= 1;
  byId("documents-next").disabled = from + documents.length >= state.total;
}

function none(request) {
  return h(
    "div",
    { class: "notice info" },
    h(
      "p",
      {},
      request.name
        ? "No document name contains this text. Try another part of the name."
        : "This collection has no documents yet.",
    ),
    request.name
      ? null
      : h("p", {}, h("a", { class: "button", href: to("ingest", "", { c: request.collection }) }, "Add documents")),
  );
}

function row(document, isFixed) {
  const name = document.title || document.filename || document.source || document.doc_id;
  const second = [document.filename, document.source].find((each) => each && each !== name);
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("a", { href: to("document", document.doc_id, { c: document.collection }) }, name),
      second ? h("div", { class: "dim small-text" }, second) : null,
    ),
    cell(
      "Size",
      document.pages ? `${count(document.pages, "page")}, ` : "",
      count(document.chunks ?? 0, "passage"),
    ),
    cell("Status", status(document)),
    cell("Updated", moment(document.updated_at)),
    cell(
      "Actions",
      h(
        "div",
        { class: "row" },
        h(
          "a",
          {
            class: "button small",
            href: to("search", "", { doc: document.doc_id, c: document.collection }),
            "aria-label": `Search in ${name}`,
          },
          "Search in",
        ),
        h(
          "a",
          {
            class: "button small",
            href: to("compare", "", { new: document.doc_id }),
            "aria-label": `Compare ${name} with another document`,
          },
          "Compare",
        ),
        isFixed
          ? null
          : h(
              "button",
              {
                type: "button",
                class: "danger-quiet small",
                "aria-label": `Delete ${name}`,
                onclick: (event) => remove(event.currentTarget, document, name),
              },
              "Delete",
            ),
      ),
    ),
  );
}

function status(document) {
  const warnings = document.warnings ?? [];
  const partial = document.status === "partial";
  const tag = h("span", { class: partial ? "tag warn" : "tag good" }, document.status ?? "ready");
  if (warnings.length === 0) return tag;
  return h(
    "details",
    { class: "warnings" },
    h("summary", {}, tag, ` ${count(warnings.length, "warning")}`),
    h(
      "ul",
      {},
      warnings.map((each) => h("li", {}, String(each))),
    ),
  );
}

async function remove(button, document, name) {
  if (!(await documentMayGo(name, document.chunks, document.collection))) return;
  busy(button, true);
  try {
    await call("DELETE", `/documents/${encodeURIComponent(document.doc_id)}`);
    changed();
    await Promise.all([load(), fillChoice(byId("documents-collection"), state.collection)]);
    announce(`Deleted ${name}`);
    byId("documents-heading").focus();
  } catch (error) {
    busy(button, false);
    fill(byId("documents-problem"), problem(error));
  }
}
