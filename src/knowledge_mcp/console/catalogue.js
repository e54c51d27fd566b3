/* The collections, loaded once and again after whatever may change them; and the one that was used last. */

import { call } from "./api.js";
import { byId, fill, h } from "./dom.js";

const PAGE = 100;
const MOST = 2000;

export const current = { collection: "default" };

let loading = null;

/** Forget what was loaded. */
export function forget() {
  loading = null;
}

/** Tell all views that something was added or deleted: what they show of it may be old. */
export function changed() {
  forget();
  dispatchEvent(new Event("library-changed"));
}

/** Return all collections that the key may read. */
export function collections() {
  loading ??= load().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function load() {
  const found = [];
  for (;;) {
    const answer = await call("GET", "/collections", { query: { limit: PAGE, offset: found.length } });
    const page = answer.collections ?? [];
    found.push(...page);
    if (page.length === 0 || found.length >= Math.min(answer.total ?? 0, MOST)) return found;
  }
}

/** Fill a choice of collections; one that is asked for and not there stays, so that an old link says what it wanted. */
export async function fillChoice(select, wanted = current.collection) {
  const known = await collections();
  const names = known.map((each) => each.name);
  const options = known.map((each) => h("option", { value: each.name }, `${each.name} (${each.doc_count ?? 0})`));
  if (!names.includes(wanted)) options.unshift(h("option", { value: wanted }, `${wanted} (not there)`));
  fill(select, options);
  select.value = wanted;
  fill(
    byId("collection-options"),
    known.map((each) => h("option", { value: each.name })),
  );
}
