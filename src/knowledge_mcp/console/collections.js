/* All collections with their counts; deleting one takes its name. */

import { call } from "./api.js";
import { announce, busy, byId, count, fill, h, moment, number, problem } from "./dom.js";
import { changed, collections, current, forget } from "./catalogue.js";
import { confirmed } from "./confirm.js";
import { to } from "./route.js";

export function setUpCollections() {}

export async function showCollections() {
  forget();
  byId("collections-status").textContent = "Loading …";
  fill(byId("collections-problem"));
  try {
    render(await collections());
  } catch (error) {
    byId("collections-status").textContent = "";
    fill(byId("collections-table"));
    fill(
      byId("collections-problem"),
      problem(error, h("button", { type: "button", onclick: showCollections }, "Try again")),
    );
  }
}

function render(known) {
  const documents = known.reduce((sum, each) => sum + (each.doc_count ?? 0), 0);
  byId("collections-status").textContent = `${count(known.length, "collection")}, ${count(documents, "document")}`;
  const heads = [
    ["Collection", ""],
    ["Documents", "right"],
    ["Passages", "right"],
    ["Tokens", "right"],
    ["Embedding model", ""],
    ["Created", ""],
    ["Actions", ""],
  ];
  fill(
    byId("collections-table"),
    known.length === 0
      ? h(
          "div",
          { class: "notice info" },
          h("p", {}, "This key has no access to any collection: use another key, or ask the administrator for access."),
        )
      : h(
          "table",
          { class: "list" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              heads.map(([name, side]) => h("th", { scope: "col", class: side, data: { label: name } }, name)),
            ),
          ),
          h("tbody", {}, known.map(row)),
        ),
  );
}

function row(collection) {
  const name = String(collection.name);
  const cell = (label, side, ...children) => h("td", { data: { label }, class: side }, ...children);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: to("documents", "", { c: name }) }, name)),
    cell("Documents", "right", number(collection.doc_count)),
    cell("Passages", "right", number(collection.chunk_count)),
    cell("Tokens", "right", number(collection.token_count)),
    cell("Embedding model", "", collection.embedding_model || "none yet"),
    cell("Created", "", moment(collection.created_at) || "–"),
    cell(
      "Actions",
      "",
      h(
        "div",
        { class: "row" },
        h(
          "a",
          { class: "button small", href: to("search", "", { c: name }), "aria-label": `Search in ${name}` },
          "Search in",
        ),
        collection.read_only
          ? h("span", { class: "dim small-text" }, "filled by knowledge-ingest")
          : [
              h(
                "a",
                { class: "button small", href: to("ingest", "", { c: name }), "aria-label": `Add to ${name}` },
                "Add",
              ),
              h(
                "button",
                {
                  type: "button",
                  class: "danger-quiet small",
                  "aria-label": `Delete ${name}`,
                  onclick: (event) => remove(event.currentTarget, collection, name),
                },
                "Delete",
              ),
            ],
      ),
    ),
  );
}

async function remove(button, collection, name) {
  const contents = `${count(collection.doc_count ?? 0, "document")}, ${count(collection.chunk_count ?? 0, "passage")}`;
  const rest = name === "default" ? " The collection itself is kept, empty." : "";
  const text = `All of ${name} will be deleted: ${contents}.${rest} This cannot be undone.`;
  const sure = await confirmed({ title: "Delete this collection?", typed: name, action: "Delete collection", text });
  if (!sure) return;
  busy(button, true);
  try {
    const answer = await call("DELETE", `/collections/${encodeURIComponent(name)}`, { seconds: 300 });
    if (current.collection === name) current.collection = "";
    changed();
    await showCollections();
    announce(`Deleted ${name} with ${count(answer.documents ?? 0, "document")}`);
    byId("collections-heading").focus();
  } catch (error) {
    busy(button, false);
    fill(byId("collections-problem"), problem(error));
  }
}
