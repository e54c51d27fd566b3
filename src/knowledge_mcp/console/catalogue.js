/* The collections, loaded once and again after whatever may change them; and the one that was used last. */

import { call } from "./api.js";
import { byId, fill, h } from "./dom.js";

const PAGE = 100;
const MOST = 2000;

/** Stands for all collections at once, in the search only. */
export const ALL = "*";

/** The collection that was used last; empty until one was. */
export const current = { collection: "" };

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

/** Choose where nobody said: the one that was used last, else the fullest one; all of several where that may be. */
export function preferred(known, { all = false } = {}) {
  const filled = known.filter((each) => each.doc_count > 0);
  if (all && filled.length > 1) return ALL;
  if (known.some((each) => each.name === current.collection)) return current.collection;
  const fullest = filled.reduce((best, each) => (best && best.doc_count >= each.doc_count ? best : each), null);
  return (fullest ?? known.find((each) => each.name === "default") ?? known[0])?.name ?? "default";
}

/**
 * Fill a choice of collections and return the one that is chosen; one that is asked for and not there stays, so that an
 * old link says what it wanted.
 */
export async function fillChoice(select, requested = "", { all = false } = {}) {
  const known = await collections();
  const chosen = requested || preferred(known, { all });
  const names = known.map((each) => each.name);
  const options = known.map((each) => h("option", { value: each.name }, `${each.name} (${each.doc_count ?? 0})`));
  if (all && (known.length > 1 || chosen === ALL)) {
    const total = known.reduce((sum, each) => sum + (each.doc_count ?? 0), 0);
    options.unshift(h("option", { value: ALL }, `All collections (${total})`));
    names.push(ALL);
  }
  if (!names.includes(chosen)) options.unshift(h("option", { value: chosen }, `${chosen} (not found)`));
  fill(select, options);
  select.value = chosen;
  fill(
    byId("collection-options"),
    known.filter((each) => !each.read_only).map((each) => h("option", { value: each.name })),
  );
  return chosen;
}
