/* Addresses within the page: `#/view/argument?name=value`. They name the view and the question, never the key. */

/** Read the address; an empty one is the search. */
export function read(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/");
  return { view: view || "search", argument: decoded(rest.join("/")), parameters: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Write an address; empty values are left out. */
export function to(view, argument = "", values = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const query = parameters.toString();
  return `#/${view}${argument ? `/${encodeURIComponent(argument)}` : ""}${query ? `?${query}` : ""}`;
}

/** Go there; where the page is there already, the view is shown again. */
export function go(hash) {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}
