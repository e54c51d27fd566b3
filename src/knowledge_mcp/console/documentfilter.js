/* The search's choice of one document: names are offered while one types, the id is what is sent. */

import { call } from "./api.js";
import { ALL, collections } from "./catalogue.js";
import { labelOf } from "./choosing.js";
import { byId, fill, h } from "./dom.js";

const PAUSE = 250;
const OFFERED = 10;
const MOST = 20; // collections that are asked for names
const known = new Map();

let chosen = "";
let timer = 0;

export function setUpDocumentFilter() {
  byId("document-filter").addEventListener("input", () => {
    const text = byId("document-filter").value.trim();
    chosen = known.get(text) ?? "";
    clearTimeout(timer);
    if (text && !chosen) timer = setTimeout(() => offer(text), PAUSE);
  });
}

async function offer(text) {
  try {
    const within = byId("search-collection").value;
    const names = within === ALL ? (await collections()).map((each) => each.name).slice(0, MOST) : [within];
    const answers = await Promise.all(
      names.map((collection) =>
        call("GET", "/documents", { query: { collection, name_contains: text, limit: OFFERED } }),
      ),
    );
    const documents = answers.flatMap((answer) => answer.documents ?? []).slice(0, OFFERED);
    for (const each of documents) known.set(nameOf(each), each.doc_id);
    fill(
      byId("document-options"),
      documents.map((each) => h("option", { value: nameOf(each) })),
    );
    chosen = known.get(byId("document-filter").value.trim()) ?? chosen;
  } catch {
    fill(byId("document-options"));
  }
}

/** Name a document so that no two are named alike. */
function nameOf(document) {
  return `${labelOf(document)} · ${document.doc_id}`;
}

/** Return the chosen id, empty for none; or a problem, where something is typed that names no document. */
export function documentFilter() {
  const text = byId("document-filter").value.trim();
  if (text === "") return { id: "", problem: "" };
  const id = chosen || (/^[0-9a-f]{16}$/.test(text) ? text : "");
  return {
    id,
    problem: id ? "" : "Choose a document from the list that opens as you type, or leave the field empty.",
  };
}

/** Choose by id, as an address does; its name is looked up, and the id shown until it is known. */
export async function chooseDocument(id) {
  const input = byId("document-filter");
  if (!id) {
    chosen = "";
    input.value = "";
    return;
  }
  if (chosen === id) return;
  chosen = id;
  input.value = id;
  byId("options").open = true;
  try {
    const document = await call("GET", `/documents/${encodeURIComponent(id)}`, { query: { limit: 1 } });
    if (chosen !== id || input.value !== id) return;
    known.set(nameOf(document), id);
    input.value = nameOf(document);
  } catch {
    // the search itself tells that there is no such document
  }
}
