/* Folders that are dropped or chosen: their files with their paths, and how far all of them together are. */

import { byId, count, fill, h } from "./dom.js";

const LEFT_OUT = new Set(["thumbs.db", "desktop.ini"]);
const NAMED = 5;

/** Tell whether a path leads to something that systems and programs keep for themselves. */
export function isHidden(path) {
  const parts = path.split("/");
  return path !== "" && (parts.some((each) => each.startsWith(".")) || LEFT_OUT.has(parts.at(-1).toLowerCase()));
}

/** List the files below entries that were dropped: `{found: [{file, path}], unread: [path]}`, in order of their paths. */
export async function filesBelow(entries) {
  const found = [];
  const unread = [];
  const waiting = [...entries];
  while (waiting.length) {
    const entry = waiting.shift();
    const path = entry.fullPath.replace(/^\//, "");
    try {
      if (entry.isDirectory) waiting.push(...(await childrenOf(entry)));
      else found.push({ file: await fileOf(entry), path: path.includes("/") ? path : "" });
    } catch {
      unread.push(path);
    }
  }
  found.sort((one, other) => (one.path < other.path ? -1 : 1));
  return { found, unread };
}

/** All of a folder's children: the browser gives a hundred at a time, and none at the end. */
async function childrenOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return all;
    all.push(...some);
  }
}

function fileOf(entry) {
  return new Promise((resolve, reject) => {
    entry.file(resolve, reject);
  });
}

/** Show how far all items together are: each counts alike, one that is sent or read by its own share. */
export function showWhole(items) {
  const whole = byId("queue-whole");
  whole.hidden = items.length < 2;
  if (whole.hidden) return;
  const is = (...states) => items.filter((each) => states.includes(each.state));
  const over = is("done", "failed", "cancelled").length;
  const shares = items.reduce((sum, each) => sum + shareOf(each), 0);
  byId("queue-progress").value = (100 * shares) / items.length;
  const failed = is("failed");
  const parts = [
    `${over} of ${count(items.length, "document")}`,
    `${Math.floor((100 * shares) / items.length)} %`,
    is("done").filter((each) => each.result?.unchanged).length
      ? `${is("done").filter((each) => each.result?.unchanged).length} unchanged`
      : "",
    failed.length ? `${failed.length} failed` : "",
    is("cancelled").length ? `${is("cancelled").length} cancelled` : "",
  ];
  byId("queue-figures").textContent = parts.filter(Boolean).join(" · ");
  fill(byId("queue-errors"), failed.length ? errors(failed) : null);
}

/** Half of an item's way is its sending, half its reading; what is not a file has no first half to tell of. */
function shareOf(item) {
  if (["done", "failed", "cancelled"].includes(item.state)) return 1;
  if (item.state === "sending") return item.done / 200;
  return item.state === "running" ? 0.5 + item.done / 200 : 0;
}

function errors(failed) {
  const listed = failed.slice(0, NAMED).map((each) => h("li", {}, `${each.name || "Text"}: ${reason(each)}`));
  const more = failed.length - listed.length;
  return h(
    "details",
    { class: "notice bad" },
    h("summary", {}, `${count(failed.length, "document")} could not be added`),
    h("ul", {}, listed, more > 0 ? h("li", {}, `and ${more} more; see the list below`) : null),
  );
}

function reason(item) {
  return item.error.description.detail || item.error.description.title;
}
