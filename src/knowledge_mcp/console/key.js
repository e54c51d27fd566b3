/* The API key: asked for once, tried, kept in this module's memory, and written to nothing that outlives the page. */

import { ApiError, keeper, send } from "./api.js";
import { forget } from "./catalogue.js";
import { busy, byId } from "./dom.js";

let currentKey = null;
let asking = null;
let reason = "";
let trying = null;

/** Offer the key to whoever sends requests, and the button that changes it. */
export function setUpKey() {
  keeper.get = () => (currentKey !== null ? Promise.resolve(currentKey) : without());
  keeper.refused = (key, error) => {
    if (currentKey !== key) return;
    currentKey = null;
    byId("key-button").hidden = false;
    trying = Promise.resolve({ ok: false, status: 401 });
    reason = inWords(error);
  };
  byId("key-button").addEventListener("click", () => {
    ask().then(
      () => dispatchEvent(new Event("key-changed")),
      () => {},
    );
  });
}

/** Go on without a key where the service wants none, which is tried once; else ask for it. */
function without() {
  trying ??= send("GET", "/collections", { query: { limit: 1 }, seconds: 20 });
  return trying.then((answer) => {
    if (currentKey !== null) return currentKey;
    if (!answer.ok && answer.status === 0) trying = null; // nobody answered: try again next time
    if (!answer.ok && answer.status !== 0) return ask();
    if (!answer.ok) throw answer.error;
    currentKey = "";
    byId("key-button").hidden = true;
    return currentKey;
  });
}

/** Say why a key was not taken: a refusal of the lightest request is one of the key, whatever its status. */
function inWords(error) {
  const { detail, next } = error.description;
  const title = [401, 403].includes(error.status) ? "The API key was not accepted" : error.description.title;
  return `${title}${detail ? `: ${detail}` : "."} ${next}`.trim();
}

/** Ask until a key is accepted; all who wait get it. Closing the dialog is an error to them, unless a key is there. */
function ask() {
  asking ??= new Promise((resolve, reject) => {
    const dialog = byId("key-dialog");
    const input = byId("key");
    const form = byId("key-form");
    const leaving = new AbortController();
    const listen = { signal: leaving.signal };
    showMessage(reason);
    reason = "";
    form.addEventListener(
      "submit",
      async (event) => {
        event.preventDefault();
        const key = input.value.trim();
        if (await accepted(key)) {
          currentKey = key;
          forget(); // another key may see other collections
          dialog.close();
        } else input.select();
      },
      listen,
    );
    byId("key-cancel").addEventListener("click", () => dialog.close(), listen);
    dialog.addEventListener(
      "close",
      () => {
        leaving.abort();
        asking = null;
        input.value = "";
        if (currentKey === null) reject(new ApiError(401, { error: "no_key" }));
        else resolve(currentKey);
      },
      listen,
    );
    dialog.showModal();
    input.focus();
  });
  return asking;
}

async function accepted(key) {
  const button = byId("key-submit");
  if (!/^[\x21-\x7e]*$/.test(key)) {
    showMessage("This is not a valid key: it contains spaces or characters that keys do not have. Copy it again.");
    return false;
  }
  busy(button, true);
  const answer = await send("GET", "/collections", { query: { limit: 1 }, key, seconds: 20 });
  busy(button, false);
  if (answer.ok) return true;
  showMessage(
    key === "" && answer.status === 401 ? "This service requires a key. Enter it to continue." : inWords(answer.error),
  );
  return false;
}

function showMessage(words) {
  const place = byId("key-problem");
  place.textContent = words;
  place.hidden = words === "";
}
