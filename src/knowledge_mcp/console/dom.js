/* Elements without markup: whatever comes from the service becomes text, never HTML, so that nothing in a document,
   a file name or an error can become a part of the page. */

/** Find an element of index.html by id; a missing one is a mistake of ours and says so. */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Show controls of direction, which nobody sees and which turn what stands around them, as escapes. */
export function shown(text) {
  return String(text).replace(TURNING, (each) => `\\u${each.charCodeAt(0).toString(16)}`);
}

function children(given) {
  return given
    .flat(9)
    .filter((each) => each !== null && each !== undefined && each !== false)
    .map((each) => (each instanceof Node ? each : shown(each)));
}

const PROPERTIES = new Set([
  "value",
  "checked",
  "disabled",
  "hidden",
  "min",
  "max",
  "low",
  "type",
  "open",
  "htmlFor",
  "tabIndex",
]);

/**
 * Make an element. Functions are listeners by the event's name (`onclick`), `data` is the dataset, everything else is a
 * property or an attribute; children are elements or anything that becomes text; null and false are left out.
 */
export function h(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "data") Object.assign(made.dataset, value);
    else if (PROPERTIES.has(name)) made[name] = value;
    else if (name === "href") made.setAttribute("href", safeAddress(value));
    else if (/^(aria-[a-z]+|role|title|scope|colspan|id|rel|target|for|datetime|lang|alt|label|tabindex)$/.test(name))
      made.setAttribute(name, name === "title" || name === "label" || name === "aria-label" ? shown(value) : value);
    else throw new Error(`h() does not set ${name}`);
  }
  made.append(...children(inside));
  return made;
}

/** Let only addresses through that lead to a place in this page or to a web page: never script. */
export function safeAddress(address) {
  const text = String(address);
  if (text.startsWith("#")) return text;
  return isWebAddress(text) ? text : "#";
}

export function isWebAddress(text) {
  try {
    return ["http:", "https:"].includes(new URL(text).protocol);
  } catch {
    return false;
  }
}

export function fill(parent, ...inside) {
  parent.replaceChildren(...children(inside));
}

/** Announce to people who listen rather than look; the same words twice are announced twice. */
export function announce(words) {
  const place = byId("announcer");
  place.textContent = place.textContent === words ? `${words}\u00a0` : words;
}

export function notice(kind, ...children) {
  return h("div", { class: `notice ${kind}` }, ...children);
}

/** Show a failure in words: what happened, why, and what to do next. */
export function problem(error, ...actions) {
  const description = error.description ?? {
    title: "Something went wrong on this page",
    detail: String(error.message ?? error),
    next: "Reload the page.",
  };
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("p", {}, h("strong", {}, description.title), description.detail ? `: ${description.detail}` : ""),
    description.next ? h("p", {}, description.next) : null,
    description.requestId
      ? h("p", { class: "dim" }, "Request id for the administrator: ", h("code", {}, description.requestId))
      : null,
    actions.length ? h("p", { class: "row" }, ...actions) : null,
  );
}

export function busy(button, working) {
  button.disabled = working;
  button.setAttribute("aria-busy", String(working));
}

const NUMBER = new Intl.NumberFormat("en");

export function count(number, one, many = `${one}s`) {
  return `${NUMBER.format(number ?? 0)} ${number === 1 ? one : many}`;
}

const NOUNS = new Set([
  "contradiction",
  "definition",
  "duplicate",
  "limit",
  "number",
  "obligation",
  "reference",
  "requirement",
]);

/** Counts by name as tags; names that are nouns have a plural, the others say how something is. */
export function countTags(counts, tones = {}) {
  return Object.entries(counts ?? {}).map(([name, amount]) =>
    h("li", { class: `tag ${tones[name] ?? ""}` }, count(amount, name, NOUNS.has(name) ? `${name}s` : name)),
  );
}

export function number(value) {
  return NUMBER.format(value ?? 0);
}

/** Write a time short, in the reader's own zone, with the exact one as title; nothing where there is none. */
export function moment(iso) {
  const at = new Date(iso ?? "");
  if (!iso || Number.isNaN(at.getTime())) return "";
  const words = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" }).format(at);
  return h("time", { datetime: at.toISOString(), title: iso }, words);
}

/** A table: `rows` are its lines, `kind` says more of what it looks like. */
export function table(heads, rows, kind = "") {
  return h(
    "table",
    { class: `list ${kind}`.trim() },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((each) => h("th", { scope: "col", data: { label: each } }, each)),
      ),
    ),
    h("tbody", {}, rows),
  );
}

/** A list that is folded below its summary; nothing where it has no lines. */
export function folded(summary, lines) {
  return lines.length ? h("details", { class: "gaps" }, h("summary", {}, summary), h("ul", {}, lines)) : null;
}

/** A button that copies the address of what is shown, to be sent to somebody else. */
export function shareButton(what, address = () => location.href) {
  return copyButton(address, `link to ${what}`, "Copy link");
}

/** A button that copies; where the browser lets no page write to the clipboard, it shows the text selected instead. */
export function copyButton(text, what, label = "Copy") {
  const button = h(
    "button",
    { type: "button", class: "quiet small", "aria-label": `Copy ${what}`, onclick: copy },
    label,
  );
  async function copy() {
    let done = true;
    const words = typeof text === "function" ? text() : text;
    try {
      await navigator.clipboard.writeText(words);
    } catch {
      done = copySelected(words);
    }
    button.textContent = done ? "Copied" : "Select and copy";
    announce(done ? `Copied ${what}` : "The browser did not allow the page to copy: select the text and copy it yourself");
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  }
  return button;
}

function copySelected(text) {
  const area = h("textarea", { class: "sr", value: text, "aria-hidden": "true" });
  const before = document.activeElement;
  document.body.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    done = false;
  }
  area.remove();
  before?.focus();
  return done;
}
