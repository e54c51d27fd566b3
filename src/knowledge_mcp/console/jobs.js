/* The jobs of the service, whoever began them: how far each is, how it ended; looked at again while any goes on. */

import { call } from "./api.js";
import { WHOLE } from "./choosing.js";
import { announce, busy, byId, count, fill, h, moment, problem, table } from "./dom.js";
import { to } from "./route.js";

const EVERY = 1500;
const TONES = { done: "good", failed: "bad", cancelled: "warn" };
const REVIEWS = { trace: ["from", "to"], check: ["document", "standard"], conflicts: ["of", "with"] };
const OPEN = new Set(["queued", "running"]);

let timer = 0;
let states = new Map();

export function setUpJobs() {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !byId("view-jobs").hidden) look();
  });
}

export function showJobs() {
  byId("jobs-status").textContent = "Loading …";
  look();
}

async function look() {
  clearTimeout(timer);
  if (byId("view-jobs").hidden) return;
  try {
    const { jobs = [], total = jobs.length } = await call("GET", "/jobs", { seconds: 30 });
    if (byId("view-jobs").hidden) return;
    fill(byId("jobs-problem"));
    render(jobs, total);
    if (jobs.some((each) => OPEN.has(each.state)) && !document.hidden) timer = setTimeout(look, EVERY);
  } catch (error) {
    byId("jobs-status").textContent = "";
    fill(byId("jobs-problem"), problem(error, h("button", { type: "button", onclick: look }, "Try again")));
  }
}

function render(jobs, total) {
  const going = jobs.filter((each) => OPEN.has(each.state)).length;
  const latest = total > jobs.length ? `The latest ${jobs.length} of ${count(total, "job")}` : count(total, "job");
  byId("jobs-status").textContent = jobs.length
    ? `${latest}, ${going} in progress. Jobs are listed for a week after they end.`
    : "";
  for (const each of jobs) {
    const before = states.get(each.job_id);
    if (before && before !== each.state) announce(`${each.source}: ${each.state}`);
  }
  states = new Map(jobs.map((each) => [each.job_id, each.state]));
  const body = byId("jobs-table").querySelector("tbody");
  if (!jobs.length) {
    fill(
      byId("jobs-table"),
      h("div", { class: "notice info" }, h("p", {}, "There are no jobs. Documents that you add appear here as jobs.")),
    );
  } else if (body) {
    keepFocus(() => fill(body, jobs.map(row)));
  } else {
    const heads = ["Job", "Collection", "State", "Progress", "Changed", "Actions"];
    fill(byId("jobs-table"), table(heads, jobs.map(row)));
  }
}

/** Draw the rows again without taking the focus away from the button that has it. */
function keepFocus(draw) {
  const had = document.activeElement?.id ?? "";
  draw();
  if (had.startsWith("job-")) document.getElementById(had)?.focus();
}

function row(job) {
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, job.kind in REVIEWS ? `${job.kind}: ` : "", job.result?.title || job.source || job.job_id),
    cell("Collection", job.collection),
    cell("State", h("span", { class: `tag ${TONES[job.state] ?? ""}` }, job.state)),
    cell("Progress", progress(job)),
    cell("Changed", moment(job.updated_at)),
    cell("Actions", action(job)),
  );
}

function progress(job) {
  if (job.state === "failed")
    return [h("div", {}, job.error?.detail ?? "It failed."), h("div", { class: "dim" }, job.error?.suggestion ?? "")];
  if (job.state === "done") return job.kind in REVIEWS ? "done" : summary(job.result ?? {});
  if (job.state === "cancelled") return "nothing was kept";
  const done = Math.min(100, job.progress?.done ?? 0);
  const bar = h("progress", { max: 100, "aria-label": `Progress of ${job.source}` });
  if (done > 0) bar.value = done;
  return [bar, h("div", { class: "small-text dim" }, `${job.progress?.message || job.state}, ${Math.round(done)} %`)];
}

function summary(result) {
  const size = `${result.pages ? `${count(result.pages, "page")}, ` : ""}${count(result.chunks ?? 0, "passage")}`;
  const warned = (result.warnings ?? []).length ? `, ${count(result.warnings.length, "warning")}` : "";
  return result.unchanged ? `unchanged: ${size}` : `${size}${warned}`;
}

function action(job) {
  if (OPEN.has(job.state))
    return h(
      "button",
      {
        type: "button",
        class: "small",
        id: `job-${job.job_id}`,
        "aria-label": `Cancel ${job.source}`,
        onclick: (event) => cancel(event.currentTarget, job),
      },
      "Cancel",
    );
  const href = place(job);
  if (job.state !== "done" || !href) return null;
  const label = `Open ${job.result?.title || job.source}`;
  return h("a", { class: "button small", id: `job-${job.job_id}`, href, "aria-label": label }, "Open");
}

/** Where what came of a job is shown. */
function place(job) {
  if (job.kind in REVIEWS) {
    const chosen = job.documents.length ? job.documents : [`${WHOLE}${job.collection}`];
    if (chosen.length > 2) return ""; // asked for by a program
    return to(job.kind, "", Object.fromEntries(REVIEWS[job.kind].map((name, at) => [name, chosen[at]])));
  }
  return job.result?.doc_id ? to("document", job.result.doc_id, { c: job.collection }) : "";
}

async function cancel(button, job) {
  busy(button, true);
  try {
    await call("DELETE", `/jobs/${encodeURIComponent(job.job_id)}`);
  } catch (error) {
    fill(byId("jobs-problem"), problem(error));
    busy(button, false);
  }
  look();
}
