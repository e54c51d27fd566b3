/* Two documents held against each other: what may take long is a job of the service, followed here until it is done. */

import { ApiError, call } from "./api.js";
import { busy, byId, fill, h, notice, number, problem } from "./dom.js";
import { fillDocuments } from "./choosing.js";
import { go, to } from "./route.js";

const EVERY = 1000;
const OPEN = new Set(["queued", "running"]);

/**
 * Show a view of two chosen documents: `prefix` is its address, that of the request and that of its elements' ids, `names`
 * are the parameters of both addresses, `work` is what it says while it goes on. `render` gets the answer and fills
 * `parts`, its table the one called `rows`. Of that, people choose among `verdicts`, which `isOne` tells of a row, and by words.
 */
export function reviewing({ prefix, names, work, render, parts, rows, verdicts, isOne, missing }) {
  const part = (name) => byId(`${prefix}-${name}`);
  let running = null;

  function setUp() {
    fill(
      part("verdict"),
      verdicts.map(([value, words]) => h("option", { value }, words)),
    );
    part("form").addEventListener("submit", (event) => {
      event.preventDefault();
      go(to(prefix, "", Object.fromEntries(names.map((name) => [name, part(name).value]))));
    });
    part("verdict").addEventListener("change", narrow);
    part("words").addEventListener("input", narrow);
  }

  /** Show only the rows of one verdict, and with some words. */
  function narrow() {
    const verdict = part("verdict").value;
    const words = part("words").value.trim().toLowerCase();
    for (const each of part(rows).querySelectorAll("tbody tr")) {
      const isWanted = verdict === "" || isOne(verdict, each.dataset.verdict);
      each.hidden = !isWanted || !each.textContent.toLowerCase().includes(words);
    }
  }

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
      if (signal.aborted || !answer) return;
      render(answer, say);
      fill(part("problem"), answer.warning ? notice("warn", h("p", {}, answer.warning)) : null);
      part("narrow").hidden = part(rows).childElementCount === 0;
      narrow();
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
    const answer = await call("GET", `/${prefix}`, { query: { ...query, wait: 2 }, signal, seconds: 60 });
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

  return { setUp, show, fail };
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

/** Lead to the passage that an item or a quote begins in, where that is known. */
export function place(held, document, words) {
  if (!Number.isInteger(held.passage)) return words;
  return h("a", { href: to("document", document.doc_id, { at: held.passage, c: document.collection }) }, words);
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
