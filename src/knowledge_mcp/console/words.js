/* Failures in words: what happened, why as the service says it, and what to do next. */

const TITLES = {
  aborted: "Cancelled",
  bad_request: "The service could not read the request",
  conflict: "Another request is changing this",
  console_timeout: "The service did not respond in time",
  forbidden: "This key does not have the right to do that",
  ingest_failed: "The document could not be added",
  internal_error: "The service failed",
  method_not_allowed: "The service does not offer that",
  misdirected_request: "The service does not accept requests at this address",
  no_json: "The answer is not from this service",
  no_key: "No API key was given",
  not_found: "Not found",
  payload_too_large: "Too large",
  rate_limited: "Too many requests",
  request_timeout: "The upload took too long",
  timeout: "The service timed out",
  unauthorized: "The API key was not accepted",
  unavailable: "The service is not available now",
  unreadable: "The document could not be read",
  unreachable: "The service cannot be reached",
  unsupported_media_type: "This type of file cannot be read",
  upstream_error: "A backend of the service failed",
  validation_error: "The service did not accept that",
};

const NEXT = {
  bad_request: "Reload the page; if it happens again, tell the administrator.",
  conflict: "Wait a moment, then try again.",
  console_timeout: "Try again. If the problem persists, check the service's status at the top right.",
  forbidden:
    "Use a key with the right for this collection (API key, at the top right), or ask the administrator for it.",
  ingest_failed: "Nothing was kept. Correct the document, or try again if the cause was temporary.",
  internal_error: "Try again; if it happens again, give the administrator the request id.",
  method_not_allowed: "The console and the service may have different versions: reload the page.",
  misdirected_request: "Open the console at the service's own address, or ask the administrator to allow this one.",
  no_json:
    "Something between this page and the service, such as a proxy, answered instead. Check the address, or ask the administrator.",
  no_key: "Enter the key to continue.",
  not_found: "It may have been deleted or renamed: go back to the list and look again.",
  payload_too_large: "Split the file, or ask the administrator to raise the limit.",
  rate_limited: "Wait a moment, then try again.",
  request_timeout: "Try again on a faster connection, or split the file.",
  timeout: "Try again; a very large document may need to be split.",
  unauthorized: "Check the key for missing characters, or ask the administrator for a valid one.",
  unavailable: "Try again in a moment; the status at the top right shows what is down.",
  unreachable: "Check your network and that the service is running, then try again.",
  unsupported_media_type: "Convert it to PDF, DOCX, HTML, Markdown or text, and add that.",
  upstream_error: "Try again in a moment; the status at the top right shows what is down.",
  validation_error: "Correct it and try again.",
};

const BY_STATUS = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  408: "request_timeout",
  409: "conflict",
  413: "payload_too_large",
  415: "unsupported_media_type",
  421: "misdirected_request",
  422: "validation_error",
  429: "rate_limited",
  500: "internal_error",
  502: "upstream_error",
  503: "unavailable",
  504: "timeout",
};

/** Put a failure into words. The service's suggestion is better than ours, where it makes one. */
export function describe(status, code, answer = {}, retryAfter = null) {
  const told = answer.reason ? "unreadable" : code; // only a document has a reason
  const known = told in TITLES ? told : (BY_STATUS[status] ?? "internal_error");
  const wait = Number(retryAfter) > 0 ? ` Wait ${Math.ceil(Number(retryAfter))} seconds before you try again.` : "";
  const message = answer.detail ?? answer.message;
  const detail = known === "console_timeout" ? `no answer within ${answer.seconds} seconds` : message;
  const advice = typeof answer.suggestion === "string" && answer.suggestion ? answer.suggestion : NEXT[known];
  return {
    title: TITLES[known],
    detail: typeof detail === "string" ? detail : detail ? JSON.stringify(detail) : "",
    next: `${advice ?? ""}${wait}`,
    requestId: typeof answer.request_id === "string" ? answer.request_id : "",
  };
}
