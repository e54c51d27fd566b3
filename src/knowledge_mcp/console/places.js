/* Where a passage stands, in words, and its text as nodes: tables as tables, everything else as it is. */

import { h, isWebAddress } from "./dom.js";
import { marked } from "./highlight.js";

/** "page 3", "pages 3-4", or nothing. */
export function pagesOf(about) {
  const pages = Array.isArray(about.pages) ? about.pages.filter((each) => each !== null) : [];
  if (pages.length > 1) return `pages ${pages[0]}–${pages.at(-1)}`;
  const page = pages[0] ?? about.page;
  return page === null || page === undefined || page === 0 ? "" : `page ${page}`;
}

/** "lines 10-24", or nothing. */
export function linesOf(about) {
  const lines = about.lines;
  if (Array.isArray(lines) && lines.length === 2)
    return lines[0] === lines[1] ? `line ${lines[0]}` : `lines ${lines[0]}–${lines[1]}`;
  return typeof lines === "string" && lines ? `lines ${lines}` : "";
}

/** The path of sections from the top, however it is told. */
export function sectionOf(about) {
  const path = about.sections?.length ? about.sections : about.section;
  return Array.isArray(path) ? path.join(" › ") : String(path ?? "");
}

/** A source as a link where it is a web address, else as text. */
export function sourceOf(source) {
  const text = String(source ?? "");
  return isWebAddress(text) ? h("a", { href: text, target: "_blank", rel: "noreferrer noopener" }, text) : text;
}

const ROW = /^\s*\|.*\|\s*$/;
const RULE = /^[\s|:-]+$/;

/**
 * A passage's text as nodes, the query's words marked; no character is lost but the bars and rules of tables.
 *
 * Before it stands what it was cut off from, if anything, and a table begins with the header that is named there.
 */
export function passageText(text, stems, cutFrom = []) {
  const blocks = blocksOf(String(text));
  const above = [...cutFrom];
  const header = blocks[0].table && ROW.test(above.at(-1) ?? "") ? above.pop() : null;
  if (header !== null) blocks[0].lines.unshift(header, header.replace(/[^|]+/g, "---"));
  const made = above.length > 0 ? [h("div", { class: "cut-from" }, `${above.join("\n")} …`)] : [];
  for (const block of blocks) {
    if (block.table) made.push(table(block.lines, stems));
    else if (block.lines.join("").trim())
      made.push(h("div", { class: "plain-text" }, ...marked(block.lines.join("\n").trim(), stems)));
  }
  return made;
}

function blocksOf(text) {
  const blocks = [];
  for (const line of text.split("\n")) {
    const isRow = ROW.test(line);
    if (blocks.length === 0 || blocks.at(-1).table !== isRow) blocks.push({ table: isRow, lines: [] });
    blocks.at(-1).lines.push(line);
  }
  return blocks;
}

function table(lines, stems) {
  const hasHead = lines.length > 1 && RULE.test(lines[1]);
  const rows = lines.filter((line) => !(RULE.test(line) && line.includes("-"))).map(cells);
  const row = (tag) => (each) =>
    h(
      "tr",
      {},
      each.map((cell) => h(tag, tag === "th" ? { scope: "col" } : {}, ...marked(cell, stems))),
    );
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "plain" },
      hasHead ? h("thead", {}, rows.slice(0, 1).map(row("th"))) : null,
      h("tbody", {}, rows.slice(hasHead ? 1 : 0).map(row("td"))),
    ),
  );
}

function cells(line) {
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}
