/* The service's state, always in sight: ready, not ready and why, or not to be reached. */

import { reach, send } from "./api.js";
import { announce, byId, fill, h } from "./dom.js";

const EVERY = 30_000;
const WORDS = { ready: "Ready", not_ready: "Not ready", unreachable: "Unreachable", unknown: "Checking" };
const NAMES = { vector_store: "Vector store", embedding_service: "Embedding service" };

let last = { state: "unknown", checks: {}, version: "", error: null };
let looking = false;

export function setUpStatus() {
  const dialog = byId("status-dialog");
  byId("status-button").addEventListener("click", () => {
    render();
    dialog.showModal();
    look();
  });
  byId("status-again").addEventListener("click", look);
  byId("status-close").addEventListener("click", () => dialog.close());
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) look();
  });
  reach.heard = (isThere) => {
    if (!looking && last.state !== "unknown" && isThere === (last.state === "unreachable")) look();
  };
  setInterval(() => {
    if (!document.hidden) look();
  }, EVERY);
  look();
}

async function look() {
  looking = true;
  const [ready, health] = await Promise.all([
    send("GET", "/ready", { seconds: 15 }),
    last.version ? { ok: true, json: { version: last.version } } : send("GET", "/health", { seconds: 15 }),
  ]);
  const status = ready.json?.status;
  const state = ready.ok && status !== "not_ready" ? "ready" : status === "not_ready" ? "not_ready" : "unreachable";
  const version = health.ok ? String(health.json.version ?? "") : "";
  if (last.state !== state && last.state !== "unknown") announce(`Service: ${WORDS[state]}`);
  looking = false;
  last = { state, checks: ready.json?.checks ?? {}, version, error: state === "unreachable" ? ready.error : null };
  render();
}

function render() {
  const button = byId("status-button");
  button.dataset.state = last.state;
  button.setAttribute("aria-label", `Service status: ${WORDS[last.state]}. Show details`);
  byId("status-text").textContent = WORDS[last.state];
  const rows = Object.entries(last.checks).map(([name, check]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, NAMES[name] ?? name),
      h("td", {}, h("span", { class: check?.up ? "tag good" : "tag bad" }, check?.up ? "up" : "down")),
      h("td", {}, String(check?.message ?? "")),
    ),
  );
  fill(
    byId("status-details"),
    h("p", {}, h("strong", {}, WORDS[last.state]), last.version ? ` · version ${last.version}` : ""),
    last.error ? h("p", {}, `${last.error.description.title}. ${last.error.description.next}`) : null,
    last.state === "not_ready"
      ? h(
          "p",
          {},
          "The list below shows what is down. The service retries automatically. If the problem persists, tell the administrator.",
        )
      : null,
    rows.length ? h("table", { class: "plain" }, h("tbody", {}, rows)) : null,
  );
}
