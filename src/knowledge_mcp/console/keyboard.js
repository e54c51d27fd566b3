/* Keys that work in every view: "/" leads to the search, Escape out of the options. Dialogs close by Escape themselves. */

import { byId } from "./dom.js";
import { go } from "./route.js";

const TYPED_INTO = "input, textarea, select, [contenteditable]";

export function setUpKeyboard() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/" && !event.target.closest(TYPED_INTO)) {
      event.preventDefault();
      search();
    } else if (event.key === "Escape" && byId("options").open && byId("options").contains(event.target)) {
      byId("options").open = false;
      byId("options").querySelector("summary").focus();
    }
  });
}

function search() {
  if (byId("view-search").hidden) go(document.querySelector("nav [data-view=search]").getAttribute("href"));
  const focusSearch = () => {
    byId("q").focus();
    byId("q").select();
  };
  if (byId("view-search").hidden) addEventListener("hashchange", () => queueMicrotask(focusSearch), { once: true });
  else focusSearch();
}
