/* The service as functions: one request each, the key in its header, every failure an ApiError in words. */

import { describe } from "./words.js";

/** A failed request: `status` 0 where no answer came, `code` the service's own word, `description` for people. */
export class ApiError extends Error {
  constructor(status, answer = {}, retryAfter = null) {
    super(answer.detail ?? answer.message ?? `status ${status}`);
    this.status = status;
    this.code = answer.error ?? answer.code ?? "";
    this.description = describe(status, this.code, answer, retryAfter);
  }
}

export function isAborted(error) {
  return error?.name === "AbortError" || error?.code === "aborted";
}

/** What asks for the key: replaced by key.js, so that neither module needs the other to be there first. */
export const keeper = { get: async () => "", refused: () => {} };

/** What learns from every request whether the service can be reached: replaced by status.js. */
export const reach = { heard: () => {} };

export function headersWith(key) {
  return key ? { Authorization: `Bearer ${key}` } : {};
}

/**
 * Ask the service and return its JSON. A key that it refuses is asked for again, and the request repeated with the new
 * one; a right that the key lacks is an error.
 */
export async function call(method, path, { query = null, body = null, signal = null, seconds = 60 } = {}) {
  for (;;) {
    const key = await keeper.get();
    const answer = await send(method, path, { query, body, signal, seconds, key });
    if (answer.ok) return answer.json;
    if (await keyRefused(answer, key)) continue;
    throw answer.error;
  }
}

/** Tell whether it was the key that was refused, rather than what was asked with it; then the key is forgotten. */
export async function keyRefused(answer, key) {
  if (answer.status !== 401 && answer.status !== 403) return false;
  const probe = answer.status === 401 ? answer : await send("GET", "/collections", { query: { limit: 1 }, key });
  if (probe.ok || (probe.status !== 401 && probe.status !== 403)) return false;
  keeper.refused(key, probe.error);
  return true;
}

/** Send one request; `{ok, status, json}` or `{ok: false, status, error}`; only an abort by `signal` is thrown. */
export async function send(method, path, { query = null, body = null, signal = null, seconds = 60, key = "" } = {}) {
  const address = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === null || value === undefined || value === "") continue;
    for (const each of [value].flat()) address.searchParams.append(name, each);
  }
  const headers = { Accept: "application/json", ...headersWith(key) };
  if (body !== null) headers["Content-Type"] = "application/json";
  const limit = AbortSignal.timeout(seconds * 1000);
  const signals = signal ? AbortSignal.any([signal, limit]) : limit;
  try {
    const response = await fetch(address, {
      method,
      headers,
      body: body === null ? undefined : JSON.stringify(body),
      signal: signals,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    reach.heard(true);
    if (response.ok && (response.headers.get("Content-Type") ?? "").startsWith("image/")) {
      return { ok: true, status: response.status, json: { picture: await dataAddress(await response.blob()) } };
    }
    const text = await response.text();
    return judge(response.status, text, (name) => response.headers.get(name));
  } catch (error) {
    if (signal?.aborted) throw error;
    const code = error?.name === "TimeoutError" ? "console_timeout" : "unreachable";
    if (code === "unreachable") reach.heard(false);
    return { ok: false, status: 0, error: new ApiError(0, { error: code, seconds }) };
  }
}

/** A picture as an address that holds it: the page's policy lets no others of its own making be shown. */
function dataAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}

/** Read an answer, whoever fetched it. */
export function judge(status, text, header) {
  let json = null;
  try {
    json = text ? JSON.parse(text) : {};
  } catch {
    json = null;
  }
  const requestId = header("X-Request-ID");
  if (status >= 200 && status < 300 && json !== null && typeof json === "object") return { ok: true, status, json };
  const payload = json !== null && typeof json === "object" ? json : { error: "no_json" };
  const nested =
    payload.error !== null && typeof payload.error === "object"
      ? { ...payload, ...payload.error, error: payload.error.code }
      : payload;
  const answer = { request_id: requestId, ...nested };
  return { ok: false, status, json, error: new ApiError(status, answer, header("Retry-After")) };
}
