/* The view in which documents are added: files, addresses and text go in, each tells how far it is and how it ended. */

import { announce, byId, count, fill, h, problem, shown } from "./dom.js";
import { collections, current } from "./catalogue.js";
import { filesBelow, isHidden, showWhole } from "./folders.js";
import { add, cancel, clearOver, isOver, items, onChange, retry } from "./queue.js";
import { to } from "./route.js";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
const STATES = {
  waiting: "waiting",
  sending: "sending",
  running: "being read",
  done: "added",
  failed: "failed",
  cancelled: "cancelled",
};

const rows = new Map();

export function setUpIngest() {
  onChange(update);
  for (const id of ["files", "folder"]) {
    byId(id).addEventListener("change", (event) => {
      addFiles([...event.target.files].map((file) => ({ file, path: file.webkitRelativePath })));
      event.target.value = "";
    });
  }
  setUpDrop();
  byId("url-form").addEventListener("submit", (event) => {
    event.preventDefault();
    addAddress();
  });
  byId("text-form").addEventListener("submit", (event) => {
    event.preventDefault();
    addText();
  });
  byId("queue-retry").addEventListener("click", () => {
    for (const item of items.filter((each) => each.state === "failed")) retry(item);
  });
  byId("queue-cancel").addEventListener("click", () => {
    for (const item of items.filter((each) => !isOver(each)).reverse()) cancel(item);
  });
  byId("queue-clear").addEventListener("click", () => {
    clearOver();
    for (const [item, row] of rows) {
      if (!items.includes(item)) {
        row.remove();
        rows.delete(item);
      }
    }
    settle();
    byId("queue-heading").focus?.();
  });
  addEventListener("beforeunload", (event) => {
    if (items.some((item) => !isOver(item) && item.job === "")) event.preventDefault();
  });
}

export function showIngest({ parameters }) {
  byId("ingest-collection").value = parameters.get("c") || current.collection || "default";
  collections().then(
    (known) => {
      fill(
        byId("collection-options"),
        known.filter((each) => !each.read_only).map((each) => h("option", { value: each.name })),
      );
      const chosen = known.find((each) => each.name === byId("ingest-collection").value);
      if (chosen?.read_only) byId("ingest-collection").value = "default";
    },
    (error) => {
      say(error.description?.title ?? String(error));
    },
  );
  settle();
}

function setUpDrop() {
  const zone = byId("drop");
  const stay = (event) => event.preventDefault();
  addEventListener("dragover", stay);
  addEventListener("drop", stay);
  zone.addEventListener("dragover", () => zone.classList.add("over"));
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    zone.classList.remove("over");
    take(event.dataTransfer);
  });
}

/** Take what was dropped, folders with all that is in them; what the browser does not give of these is reported. */
async function take(dropped) {
  const entries = [...(dropped?.items ?? [])].map((each) => each.webkitGetAsEntry?.());
  const files = [...(dropped?.files ?? [])];
  if (!entries.some((each) => each?.isDirectory)) {
    addFiles(files.map((file) => ({ file, path: "" })));
    return;
  }
  say("Reading the folder …");
  const { found, unread } = await filesBelow(entries.filter(Boolean));
  addFiles(found, unread);
}

function say(words) {
  byId("ingest-status").textContent = words;
}

/** Return the collection to add to, or nothing after saying what is wrong with its name. */
function readTarget() {
  const input = byId("ingest-collection");
  const name = input.value.trim();
  if (NAME.test(name)) {
    current.collection = name;
    return { collection: name, force: byId("ingest-force").checked };
  }
  complain(
    input,
    "A collection name consists of at most 63 letters, digits, . _ or - and begins with a letter or digit.",
  );
  return null;
}

function complain(control, words) {
  control.setAttribute("aria-invalid", "true");
  control.addEventListener("input", () => control.removeAttribute("aria-invalid"), { once: true });
  control.focus();
  say(words);
}

/** Put files into the queue: `{file, path}` with the path from the folder on; hidden ones of folders are left out. */
function addFiles(files, unread = []) {
  const target = readTarget();
  if (!target) return;
  const visible = files.filter(({ path }) => !isHidden(path));
  for (const { file, path } of visible) add({ kind: "file", name: path || file.name, path, content: file, ...target });
  const hidden = files.length - visible.length;
  const parts = [`${count(visible.length, "file")} added to the queue`];
  if (hidden) parts.push(`${count(hidden, "hidden file")} skipped`);
  if (unread.length) parts.push(`the browser could not read ${unread.join(", ")}`);
  if (files.length || unread.length) say(parts.join("; "));
}

function addAddress() {
  const input = byId("url");
  const address = input.value.trim();
  if (!/^https:\/\/[^\s/]/i.test(address) || !URL.canParse(address)) {
    complain(input, "Enter a full address that begins with https://. The service does not fetch any others.");
    return;
  }
  const target = readTarget();
  if (!target) return;
  add({ kind: "url", name: address, content: address, ...target });
  input.value = "";
  say("Address added to the queue");
}

function addText() {
  const name = byId("text-name").value.trim();
  const content = byId("text").value;
  if (content.trim() === "") {
    complain(byId("text"), "Enter or paste some text first.");
    return;
  }
  const target = readTarget();
  if (!target) return;
  add({ kind: "text", name: name || "", content, ...target });
  byId("text").value = "";
  byId("text-name").value = "";
  say("Text added to the queue");
}

function nameOf(item) {
  return item.name || "Untitled text";
}

function update(item) {
  let row = rows.get(item);
  if (!row) {
    row = h("li", { class: "item" });
    rows.set(item, row);
    byId("queue").prepend(row);
  }
  const had = row.contains(document.activeElement);
  if (row.dataset.state === item.state && !isOver(item)) {
    refresh(item, row);
  } else {
    render(item, row);
    row.dataset.state = item.state;
    if (had) (row.querySelector("button, a") ?? byId("queue-heading")).focus();
  }
  if (isOver(item)) {
    say(`${nameOf(item)}: ${summaryOf(item)}`);
    if (byId("view-ingest").hidden) announce(`${nameOf(item)}: ${summaryOf(item)}`);
  }
  settle();
}

function refresh(item, row) {
  const bar = row.querySelector("progress");
  if (bar && item.done > 0) bar.value = Math.min(100, item.done);
  row.querySelector(".item-message").textContent = shown(messageOf(item));
}

function render(item, row) {
  const tone = { done: (item.result?.warnings ?? []).length ? "warn" : "good", failed: "bad" }[item.state] ?? "";
  const bar = h("progress", { max: 100, "aria-label": `Progress of ${nameOf(item)}` });
  if (item.done > 0) bar.value = Math.min(100, item.done);
  fill(
    row,
    h(
      "div",
      { class: "item-head" },
      h("strong", { class: "item-name" }, nameOf(item)),
      h("span", { class: `tag ${tone}` }, STATES[item.state]),
    ),
    h("p", { class: "dim small-text item-message" }, messageOf(item)),
    isOver(item) || item.state === "waiting" ? null : bar,
    outcome(item),
    h("p", { class: "row" }, actions(item)),
  );
}

function messageOf(item) {
  if (item.state === "sending")
    return `to ${item.collection}${item.kind === "file" ? `, ${Math.round(item.done)} % sent` : ""}`;
  if (item.state === "running")
    return `${item.message || "accepted"}${item.done > 0 ? `, ${Math.round(item.done)} %` : ""}`;
  return `to ${item.collection}`;
}

function outcome(item) {
  if (item.state === "failed") return problem(item.error);
  if (item.state !== "done") return null;
  const warnings = item.result.warnings ?? [];
  return [
    h("p", {}, summaryOf(item)),
    warnings.length
      ? h(
          "div",
          { class: "notice warn" },
          h("p", {}, h("strong", {}, "Some parts could not be read:")),
          h(
            "ul",
            {},
            warnings.map((each) => h("li", {}, String(each))),
          ),
        )
      : null,
  ];
}

function summaryOf(item) {
  if (item.state === "failed") return `failed. ${item.error.description.detail || item.error.description.title}`;
  if (item.state === "cancelled") {
    return item.job ? "cancelled; nothing was kept" : "cancelled before the service accepted it";
  }
  const { chunks = 0, pages = 0, unchanged, replaced, embedded = 0, reused = 0, warnings = [] } = item.result;
  const size = `${pages ? `${count(pages, "page")}, ` : ""}${count(chunks, "passage")}`;
  if (unchanged) return `unchanged: the same document had already been added (${size})`;
  const how = replaced ? `replaced the earlier version; ${embedded} embedded, ${reused} reused` : "added";
  return `${how}: ${size}${warnings.length ? `, ${count(warnings.length, "warning")}` : ""}`;
}

function actions(item) {
  if (!isOver(item))
    return h(
      "button",
      { type: "button", class: "small", "aria-label": `Cancel ${nameOf(item)}`, onclick: () => cancel(item) },
      "Cancel",
    );
  if (item.state === "done" && item.result.doc_id) {
    const address = to("document", item.result.doc_id, { c: item.result.collection ?? item.collection });
    return h("a", { class: "button small", href: address, "aria-label": `Open ${nameOf(item)}` }, "Open");
  }
  const label = item.lost ? "Check again" : "Try again";
  return item.state === "done"
    ? null
    : h(
        "button",
        { type: "button", class: "small", "aria-label": `${label}: ${nameOf(item)}`, onclick: () => retry(item) },
        label,
      );
}

function settle() {
  const open = items.filter((item) => !isOver(item)).length;
  const badge = byId("queue-badge");
  badge.hidden = open === 0;
  fill(badge, String(open), h("span", { class: "sr" }, " in progress"));
  byId("queue-empty").hidden = items.length > 0;
  byId("queue-clear").hidden = !items.some(isOver);
  byId("queue-retry").hidden = !items.some((item) => item.state === "failed");
  byId("queue-cancel").hidden = open < 2;
  showWhole(items);
}
