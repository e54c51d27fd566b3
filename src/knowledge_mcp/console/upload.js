/* Bringing one thing to the service: a file with its upload's progress, a text, an address. Each gives a job's id. */

import { ApiError, call, headersWith, judge, keeper, keyRefused } from "./api.js";

/** Hand in one item; returns the job's id. `onProgress(share 0..1)` for files. */
export async function handIn(item, signal, onProgress) {
  const metadata =
    item.kind === "text" ? { collection: item.collection, ...(item.name ? { filename: item.name } : {}) } : {};
  if (item.kind === "file") return jobOf(await sendFile(item, signal, onProgress));
  const body =
    item.kind === "text"
      ? { text: item.content, metadata, wait: false, force: item.force }
      : { url: item.content, collection: item.collection, wait: false, force: item.force };
  return jobOf(await call("POST", item.kind === "text" ? "/ingest" : "/ingest_url", { body, signal, seconds: 120 }));
}

function jobOf(answer) {
  return { job: typeof answer.job_id === "string" ? answer.job_id : "", result: answer.doc_id ? answer : null };
}

async function sendFile(item, signal, onProgress) {
  for (;;) {
    const key = await keeper.get();
    const answer = await post(item, key, signal, onProgress);
    if (answer.ok) return answer.json;
    if (await keyRefused(answer, key)) continue;
    throw answer.error;
  }
}

/** An upload by XMLHttpRequest, since fetch does not tell how much has gone. */
function post(item, key, signal, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("file", item.content, item.content.name);
    form.append("collection", item.collection);
    form.append("wait", "false");
    form.append("force", String(item.force));
    // two files of one name in two folders are two documents: each is known by its path
    if (item.path) form.append("metadata", JSON.stringify({ source: item.path }));
    const aborted = () => {
      request.abort();
      reject(new ApiError(0, { error: "aborted" }));
    };
    if (signal.aborted) {
      reject(new ApiError(0, { error: "aborted" }));
      return;
    }
    signal.addEventListener("abort", aborted, { once: true });
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    });
    request.addEventListener("load", () =>
      resolve(judge(request.status, request.responseText, (name) => request.getResponseHeader(name))),
    );
    request.addEventListener("error", () =>
      resolve({ ok: false, status: 0, error: new ApiError(0, { error: "unreachable" }) }),
    );
    request.addEventListener("loadend", () => signal.removeEventListener("abort", aborted));
    request.open("POST", "/ingest_file");
    request.setRequestHeader("Accept", "application/json");
    for (const [name, value] of Object.entries(headersWith(key))) request.setRequestHeader(name, value);
    request.send(form);
  });
}
