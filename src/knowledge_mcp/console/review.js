/* Documents held against each other: what may take long is a job of the service, followed here until it is done. */

import { ApiError, call } from "./api.js";
import { busy, byId, count, fill, h, notice, number, problem } from "./dom.js";
import { fillDocuments } from "./choosing.js";
import { go, to } from "./route.js";

const EVERY = 1000;
const OPEN = new Set(["queued", "running"]);
const PAGE = 100;

/**
 * Make a view of chosen documents: `prefix` is its address, that of the request and that of its elements' ids, `choices` are
 * the labels of the choices by the parameters of the address, `work` is what it says while it goes on. `render` gets the
 * answer and fills `parts`, and below them the table called `rows`. Of that, people choose among `verdicts`: which rows these
 * are `isOne` tells, and they narrow them by words; a view that is `paged` asks the service for them, a page at a time.
 */
export function reviewing(view) {
  const { prefix, choices, work, render, parts, rows, verdicts, isOne, missing, paged = false } = view;
  const { toRequest = (values) => values, isEnough = (values) => Object.values(values).every(Boolean) } = view;
  const part = (name) => byId(`${prefix}-${name}`);
  const names = Object.keys(choices);
  let running = null;
  let chosen = null;

  function setUp() {
    build(view);
    part("form").addEventListener("submit", (event) => {
      event.preventDefault();
      go(to(prefix, "", Object.fromEntries(names.map((name) => [name, part(name).value]))));
    });
    part("verdict").addEventListener("change", paged ? anew : narrow);
    if (!paged) part("words").addEventListener("input", narrow);
  }

  /** Ask for the first page of another verdict. */
  function anew() {
    running?.abort();
    running = new AbortController();
    return run(running.signal, chosen, 0);
  }

  /** Show only the rows of one verdict, and with some words. */
  function narrow() {
    const verdict = part("verdict").value;
    const words = part("words").value.trim().toLowerCase();
    const lines = [...part(rows).querySelectorAll("tbody tr")];
    for (const each of lines) {
      const isWanted = verdict === "" || isOne(verdict, each.dataset.verdict);
      each.hidden = !isWanted || !each.textContent.toLowerCase().includes(words);
    }
    const left = lines.filter((each) => !each.hidden).length;
    fill(part("shown"), verdict || words ? `${number(left)} of ${count(lines.length, "row")} shown` : "");
  }

  function say(...words) {
    fill(part("status"), ...words);
  }

  async function show({ parameters }) {
    running?.abort();
    const mine = (running = new AbortController());
    const values = Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? ""]));
    for (const name of ["problem", "more", rows, ...parts]) fill(part(name));
    part("narrow").hidden = true;
    busy(part("submit"), false);
    say("");
    try {
      const there = await fillDocuments(names.map(part), Object.values(values), view.offer);
      if (mine.signal.aborted) return;
      if (there < (view.fewest ?? 2)) say(missing);
    } catch (error) {
      if (!mine.signal.aborted) fail(error);
      return;
    }
    chosen = toRequest(values);
    if (isEnough(values)) await run(mine.signal, chosen, 0);
    else if (Object.values(values).some(Boolean)) say("Choose the other document.");
  }

  async function run(signal, query, offset) {
    say(`${work} …`);
    busy(part("submit"), true);
    const page = paged ? { kind: part("verdict").value, limit: PAGE, offset } : {};
    try {
      const answer = await followed(signal, { ...query, ...page });
      if (signal.aborted || !answer) return;
      const displayed = render(answer, say, offset);
      fill(part("problem"), answer.warning ? notice("warn", h("p", {}, answer.warning)) : null);
      part("narrow").hidden = !paged && part(rows).childElementCount === 0;
      if (!paged) narrow();
      else fill(part("more"), displayed < answer.total ? more(() => run(signal, query, displayed)) : null);
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
      if (!stop.isConnected) say(h("span", { class: "job-words" }), " If you leave this page, it continues under Jobs. ", stop);
      part("status").querySelector(".job-words").textContent = `${work}${done ? `, ${number(done)} %` : " …"}`;
      await pause(signal);
    }
    return followed(signal, query);
  }

  function fail(error) {
    fill(part("problem"), problem(error, h("button", { type: "button", onclick: again }, "Try again")));
  }

  return { setUp, show, fail };
}

function again() {
  dispatchEvent(new HashChangeEvent("hashchange"));
}

function more(onclick) {
  return h("button", { type: "button", onclick }, "Show more");
}

/** Build the elements of a view. */
function build({ prefix, title, lead, action, choices, parts, rows, filter, verdicts, paged }) {
  const own = (name) => `${prefix}-${name}`;
  const field = (name, words, grows, made) =>
    h("div", { class: grows ? "field grow" : "field" }, h("label", { for: own(name) }, words), made);
  const words = h("input", { type: "search", id: own("words") });
  words.maxLength = 200;
  const options = verdicts.map(([value, label]) => h("option", { value }, label));
  fill(
    byId(`view-${prefix}`),
    h("h1", { id: own("heading"), tabindex: "-1" }, title),
    h("p", { class: "dim" }, lead),
    h(
      "form",
      { id: own("form"), class: "toolbar" },
      Object.entries(choices).map(([name, label]) => field(name, label, true, h("select", { id: own(name) }))),
      h("button", { type: "submit", class: "primary", id: own("submit") }, action),
    ),
    h("p", { id: own("status"), class: "live", role: "status", "aria-live": "polite" }),
    ["problem", ...parts].map((name) => h("div", { id: own(name), class: name === "summary" ? "live-line" : null })),
    h(
      "div",
      { id: own("narrow"), class: "toolbar narrowing", hidden: true },
      field("verdict", filter, false, h("select", { id: own("verdict") }, options)),
      paged ? null : field("words", "Containing", true, words),
      paged ? null : h("p", { id: own("shown"), class: "live", role: "status", "aria-live": "polite" }),
    ),
    h("div", { id: own(rows) }),
    h("p", { id: own("more"), class: "more" }),
  );
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
export function place(item, document, words) {
  if (!Number.isInteger(item.passage)) return words;
  return h("a", { href: to("document", document.doc_id, { at: item.passage, c: document.collection }) }, words);
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
