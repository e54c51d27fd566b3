/* Ask before anything is deleted; where much would go, its name has to be typed. */

import { byId, count, shown } from "./dom.js";

/** Resolve to true if the user wants it. `typed`: what must be typed first, nothing for a plain question. */
export function confirmed({ title, text, typed = "", action = "Delete" }) {
  const dialog = byId("confirm-dialog");
  const input = byId("confirm-input");
  const submit = byId("confirm-submit");
  byId("confirm-title").textContent = shown(title);
  byId("confirm-text").textContent = shown(text);
  byId("confirm-typed").hidden = typed === "";
  byId("confirm-label").textContent = typed ? `Type ${typed} to confirm` : "";
  submit.textContent = action;
  input.value = "";
  submit.disabled = typed !== "";
  return new Promise((resolve) => {
    const leaving = new AbortController();
    const listen = { signal: leaving.signal };
    let isConfirmed = false;
    input.addEventListener(
      "input",
      () => {
        submit.disabled = input.value !== typed;
      },
      listen,
    );
    byId("confirm-form").addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        if (submit.disabled) return;
        isConfirmed = true;
        dialog.close();
      },
      listen,
    );
    byId("confirm-cancel").addEventListener("click", () => dialog.close(), listen);
    dialog.addEventListener(
      "close",
      () => {
        leaving.abort();
        resolve(isConfirmed);
      },
      listen,
    );
    dialog.showModal();
    (typed ? input : byId("confirm-cancel")).focus();
  });
}

/** Ask whether a document may go. */
export function documentMayGo(name, passages, collection) {
  const what = `“${name}” with its ${count(passages ?? 0, "passage")}`;
  const text = `${what} will be deleted from ${collection}. This cannot be undone.`;
  return confirmed({ title: "Delete this document?", text });
}
