/* What is to be added, one after another: it goes on whichever view is shown, and each item's end is reported in full. */

import { ApiError, call, isAborted } from "./api.js";
import { changed } from "./catalogue.js";
import { handIn } from "./upload.js";

const FIRST_LOOK = 200;
const LONGEST_PAUSE = 2000;
const MOST_FAILED_LOOKS = 30;
const PASSING = new Set([0, 429, 502, 503, 504]);

export const items = [];

let notify = () => {};
let working = false;
let numbers = 0;

/** Set who is notified when an item changes. */
export function onChange(listener) {
  notify = listener;
}

export function isOver(item) {
  return ["done", "failed", "cancelled"].includes(item.state);
}

/** Put something at the end: `{kind: "file" | "url" | "text", name, content, collection, force}`. */
export function add(fields) {
  numbers += 1;
  const item = {
    ...fields,
    number: numbers,
    state: "waiting",
    done: 0,
    message: "",
    job: "",
    result: null,
    error: null,
    stop: new AbortController(),
  };
  items.push(item);
  notify(item);
  work();
  return item;
}

/** Put an ended item at the end again; one whose job may still be running is looked at, not handed in twice. */
export function retry(item) {
  Object.assign(item, { state: "waiting", done: 0, message: "", error: null, stop: new AbortController() });
  if (!item.lost) item.job = "";
  notify(item);
  work();
}

export function clearOver() {
  items.splice(0, items.length, ...items.filter((item) => !isOver(item)));
}

/** Stop one: what waits or is being sent is dropped, a job is asked to stop. */
export async function cancel(item) {
  if (isOver(item)) return;
  if (item.job === "") {
    item.stop.abort();
    if (item.state === "waiting") end(item, "cancelled");
    return;
  }
  item.message = "cancelling";
  notify(item);
  try {
    take(item, await call("DELETE", `/jobs/${encodeURIComponent(item.job)}`));
  } catch (error) {
    item.message = `It could not be cancelled: ${error.description?.detail || error.description?.title || error.message}`;
    notify(item);
  }
}

async function work() {
  if (working) return;
  working = true;
  for (let item = next(); item; item = next()) await run(item);
  working = false;
}

function next() {
  return items.find((item) => item.state === "waiting");
}

async function run(item) {
  item.state = "sending";
  notify(item);
  try {
    if (!item.job) {
      const answer = await handIn(item, item.stop.signal, (share) => {
        item.done = share * 100;
        notify(item);
      });
      item.job = answer.job;
      if (answer.result) item.result = answer.result;
    }
    item.done = 0;
    if (item.result) end(item, "done");
    else if (item.job) await follow(item);
    else throw new ApiError(200, { error: "no_json", detail: "the answer contains no job" });
  } catch (error) {
    if (isAborted(error) || item.stop.signal.aborted) end(item, "cancelled");
    else fail(item, error);
  }
}

async function follow(item) {
  item.state = "running";
  item.lost = false;
  notify(item);
  let pause = FIRST_LOOK;
  let failed = 0;
  while (!isOver(item)) {
    await new Promise((resolve) => {
      setTimeout(resolve, pause);
    });
    pause = Math.min(pause * 1.5, LONGEST_PAUSE);
    try {
      if (isOver(item)) return;
      take(item, await call("GET", `/jobs/${encodeURIComponent(item.job)}`, { seconds: 30 }));
      failed = 0;
    } catch (error) {
      failed += 1;
      if (!PASSING.has(error.status) || failed > MOST_FAILED_LOOKS) {
        item.lost = PASSING.has(error.status) || error.status === 401;
        throw error;
      }
      item.message = "The service does not respond at the moment; the document is stored there. Checking again";
      notify(item);
    }
  }
}

/** Take in what the service tells of a job. */
function take(item, job) {
  if (isOver(item)) return;
  const progress = job.progress ?? {};
  item.done = Number(progress.done) || 0;
  item.message = String(progress.message ?? "");
  item.state = "running";
  if (job.state === "queued") item.message ||= "waiting in the service's queue";
  if (job.state === "done") {
    item.result = job.result ?? {};
    end(item, "done");
  } else if (job.state === "cancelled") end(item, "cancelled");
  else if (job.state === "failed") fail(item, failureOf(job));
  else notify(item);
}

function failureOf(job) {
  const fields = job.error !== null && typeof job.error === "object" ? job.error : {};
  const detail =
    fields.detail ?? fields.message ?? (typeof job.error === "string" && job.error ? job.error : job.progress?.message);
  return new ApiError(fields.status_code ?? 422, {
    error: "ingest_failed",
    ...fields,
    detail: detail || "the service gave no reason",
  });
}

function fail(item, error) {
  item.error = error instanceof ApiError ? error : new ApiError(0, { error: "internal_error", detail: String(error) });
  end(item, "failed");
}

function end(item, state) {
  item.state = state;
  if (state === "done") {
    item.content = null; // it may be large
    changed();
  }
  notify(item);
}
