/* The page of the original beside the text, with a passage marked on it; large in a dialog, and on narrow screens there. */

import { call, isAborted } from "./api.js";
import { byId, fill, h, notice } from "./dom.js";

const SMALL = 110;
const LARGE = 180;

let current = null;
let asking = null;

export function setUpPage() {
  document.body.append(dialog());
  for (const [id, step] of [
    ["page-previous", -1],
    ["page-next", 1],
    ["page-large-previous", -1],
    ["page-large-next", 1],
  ]) {
    byId(id).addEventListener("click", () => turn(step));
  }
  byId("page-enlarge").addEventListener("click", enlarge);
  byId("page-dialog-close").addEventListener("click", () => byId("page-dialog").close());
}

function dialog() {
  const button = (id, words, name = null) =>
    h("button", { type: "button", class: "small", id, "aria-label": name }, words);
  return h(
    "dialog",
    { id: "page-dialog", class: "large", "aria-labelledby": "page-dialog-title" },
    h(
      "div",
      { class: "page-head" },
      h("h2", { id: "page-dialog-title" }, "Page"),
      h(
        "span",
        { class: "row" },
        button("page-large-previous", "←", "Previous page"),
        button("page-large-next", "→", "Next page"),
        button("page-dialog-close", "Close"),
      ),
    ),
    h("div", {
      id: "page-large",
      class: "page-image",
      tabindex: "0",
      role: "group",
      "aria-label": "Image of the page",
    }),
  );
}

/** Begin with a document; returns whether it has pages that can be drawn. */
export function offerPages(mine, answer) {
  const has = answer.media_type === "application/pdf" && answer.pages > 0;
  current = has ? { mine, total: answer.pages, name: answer.filename ?? "", page: 0, passage: null } : null;
  byId("page-panel").hidden = !has;
  fill(byId("page-image"));
  return has;
}

/** Show a page, in the dialog where there is no room beside the text; `passage` counts from 0, null marks nothing. */
export function showPage(page, passage = null, { isRequested = false } = {}) {
  if (!current) return;
  Object.assign(current, { page: Math.min(Math.max(page, 1), current.total), passage });
  if (matchMedia("(min-width: 60rem)").matches) draw(byId("page-image"), SMALL);
  else if (isRequested) enlarge();
}

function turn(step) {
  showPage(current.page + step, current.passage);
  if (byId("page-dialog").open) draw(byId("page-large"), LARGE);
}

function enlarge() {
  if (!current) return;
  if (!byId("page-dialog").open) byId("page-dialog").showModal();
  draw(byId("page-large"), LARGE);
}

async function draw(place, dpi) {
  const { mine, page, passage, total, name } = current;
  const words = `Page ${page} of ${total}`;
  byId("page-heading").textContent = words;
  byId("page-dialog-title").textContent = words;
  for (const id of ["page-previous", "page-large-previous"]) byId(id).disabled = page <= 1;
  for (const id of ["page-next", "page-large-next"]) byId(id).disabled = page >= total;
  asking?.abort();
  const stop = (asking = new AbortController());
  place.setAttribute("aria-busy", "true");
  try {
    const path = `/documents/${encodeURIComponent(mine.id)}/pages/${page}`;
    const signal = AbortSignal.any([stop.signal, mine.leaving.signal]);
    const { picture } = await call("GET", path, { query: { passage, dpi }, signal });
    const image = h("img", { alt: altOf(page, passage, name) });
    image.src = picture;
    await image.decode().catch(() => {});
    if (!signal.aborted) fill(place, image);
  } catch (error) {
    if (isAborted(error) || stop.signal.aborted || mine.leaving.signal.aborted) return;
    const description = error.description ?? {
      title: "The page cannot be shown",
      detail: String(error.message),
      next: "",
    };
    fill(
      place,
      notice(
        "info",
        h("p", {}, h("strong", {}, "The page cannot be shown"), description.detail ? `: ${description.detail}` : "."),
        description.next ? h("p", {}, description.next) : null,
      ),
    );
  } finally {
    if (asking === stop) place.removeAttribute("aria-busy");
  }
}

function altOf(page, passage, name) {
  const marked = passage === null ? "" : `, passage ${passage + 1} marked`;
  return `Page ${page} of ${name}${marked}; its text is next to it`;
}
