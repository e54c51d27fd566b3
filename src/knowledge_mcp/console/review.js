/* Two documents held against each other: what may take long is a job of the service, followed here until it is done. */

import { ApiError, call } from "./api.js";
import { busy, byId, fill, h, number, problem } from "./dom.js";
import { fillDocuments } from "./choosing.js";

const EVERY = 1000;
const OPEN = new Set(["queued", "running"]);

/**
 * Show a view of two chosen documents: `names` are the parameters of its address and of the request, `prefix` that of its
 * elements' ids, `work` what it says while it goes on; `render` gets the answer.
 */
export function reviewing({ path, prefix, names, work, render, parts, missing }) {
  const part = (name) => byId(`${prefix}-${name}`);
  let running = null;

  function say(...words) {
    fill(part("status"), ...words);
  }

  async function show({ parameters }) {
    running?.abort();
    const mine = (running = new AbortController());
    const pair = names.map((name) => parameters.get(name) ?? "");
    for (const name of ["problem", ...parts]) fill(part(name));
    part("narrow").hidden = true;
    say("");
    try {
      const there = await fillDocuments(
        names.map((name) => part(name)),
        pair,
      );
      if (mine.signal.aborted) return;
      if (there < 2) say(missing);
    } catch (error) {
      if (!mine.signal.aborted) fail(error);
      return;
    }
    if (pair.every(Boolean)) await run(mine.signal, Object.fromEntries(names.map((name, at) => [name, pair[at]])));
    else if (pair.some(Boolean)) say("Choose the other document.");
  }

  async function run(signal, query) {
    say(`${work} …`);
    busy(part("submit"), true);
    try {
      const answer = await followed(signal, query);
      if (!signal.aborted && answer) render(answer, say);
    } catch (error) {
      if (signal.aborted) return;
      say("");
      fail(error);
    } finally {
      if (!signal.aborted) busy(part("submit"), false);
    }
  }

  /** Ask until it is done; a job that failed or was cancelled is not begun again by asking. */
  async function followed(signal, query) {
    const answer = await call("GET", path, { query: { ...query, wait: 2 }, signal, seconds: 60 });
    if (answer.status !== "accepted") return answer;
    const address = `/jobs/${encodeURIComponent(answer.job_id)}`;
    const stop = h("button", { type: "button", class: "small", id: `${prefix}-cancel`, onclick: cancel }, "Cancel");
    async function cancel() {
      busy(stop, true);
      try {
        await call("DELETE", address);
      } catch (error) {
        busy(stop, false);
        fail(error);
      }
    }
    for (;;) {
      const job = await call("GET", address, { signal });
      if (job.state === "failed") throw new ApiError(job.error.status_code, job.error);
      if (job.state === "cancelled") {
        say("Cancelled.");
        return null;
      }
      if (!OPEN.has(job.state)) break;
      const done = Math.round(job.progress?.done ?? 0);
      if (!stop.isConnected) say(h("span", { class: "job-words" }), " It goes on in Jobs if you leave this page. ", stop);
      part("status").querySelector(".job-words").textContent = `${work}${done ? `, ${number(done)} %` : " …"}`;
      await pause(signal);
    }
    return followed(signal, query);
  }

  function fail(error) {
    const again = () => dispatchEvent(new HashChangeEvent("hashchange"));
    fill(part("problem"), problem(error, h("button", { type: "button", onclick: again }, "Try again")));
  }

  return { show, fail };
}

function pause(signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, EVERY);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Keep what a person decides; what was shown before stays where that fails. */
export async function decided(controls, path, body, { done, fail }) {
  for (const each of controls) each.disabled = true;
  try {
    await call("POST", path, { body });
    done();
  } catch (error) {
    fail(error);
  } finally {
    for (const each of controls) each.disabled = false;
  }
}
