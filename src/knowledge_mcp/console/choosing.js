/* Choices of one document out of all collections, for the views that need two. */

import { call } from "./api.js";
import { collections } from "./catalogue.js";
import { fill, h } from "./dom.js";

const MOST = 1000;

let loading = null;

for (const news of ["key-changed", "library-changed"]) {
  addEventListener(news, () => {
    loading = null;
  });
}

function load() {
  loading ??= loadAll().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function loadAll() {
  const filled = (await collections()).filter((each) => each.doc_count > 0);
  return Promise.all(
    filled.map(async ({ name }) => {
      const answer = await call("GET", "/documents", { query: { collection: name, limit: MOST } });
      return { name, documents: answer.documents ?? [], total: answer.total ?? 0 };
    }),
  );
}

/** Name a document, with its edition, where its title has no such year, and its file, where that is not its name. */
export function labelOf(document) {
  const { edition, filename } = document;
  const name = document.title || filename || document.source || document.doc_id;
  const isSaid = !edition || (/\d{4}/.test(edition) && name.includes(edition));
  const more = [isSaid ? "" : `edition ${edition}`, filename === name ? "" : filename].filter(Boolean);
  return more.length ? `${name} (${more.join(", ")})` : name;
}

/** How a choice names all documents of a collection. */
export const WHOLE = "all:";

/**
 * Fill choices with all documents, a group for each collection; an id that is not there stays as it is. `first` says what
 * stands for no choice in each, and `whole` in which of them all of a collection can be chosen.
 */
export async function fillDocuments(selects, ids, { first = [], whole = -1 } = {}) {
  const groups = await load();
  selects.forEach((select, at) => {
    const id = ids[at] ?? "";
    const known = groups.some(
      (group) => id === `${WHOLE}${group.name}` || group.documents.some((each) => each.doc_id === id),
    );
    fill(
      select,
      h("option", { value: "" }, first[at] ?? "Choose a document"),
      id && !known ? h("option", { value: id }, id) : null,
      groups.map((group) =>
        h(
          "optgroup",
          { label: group.total > MOST ? `${group.name} (the first ${MOST} of ${group.total})` : group.name },
          at === whole ? h("option", { value: `${WHOLE}${group.name}` }, `All documents of ${group.name}`) : null,
          group.documents.map((each) => h("option", { value: each.doc_id }, labelOf(each))),
        ),
      ),
    );
    select.value = id;
  });
  return groups.reduce((sum, group) => sum + group.documents.length, 0);
}
