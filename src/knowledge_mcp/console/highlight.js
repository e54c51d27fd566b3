/* The query's words in a passage: found by their stems, so that "requirements" marks "required" too. */

import { shown } from "./dom.js";

const WORD = /[\p{L}\p{N}]+(?:[._\-/][\p{L}\p{N}]+)*/gu;
const PART = /[\p{L}\p{N}]+/gu;
const COMMON = new Set(
  `a about all an and any are as at be been but by can do does each for from had has have how i if in into is it its
  may me must my no not of on or our shall should so some such than that the their them then there these they this to under was
  we were what when where which who whose why will with would you your`.split(/\s+/),
);
const ENDINGS =
  `ments ment ations ation ating ated ates ate ying ied ies ingly ings ing edly ed ical ic ers er es ly s e y`.split(
    " ",
  );

function folded(word) {
  return word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Cut up to two common English endings off, leaving at least four characters: crude, and enough to point at a word. */
export function stem(word) {
  let plain = folded(word);
  if (/\p{N}/u.test(plain)) return plain;
  for (let turn = 0; turn < 2; turn += 1) {
    const ending = ENDINGS.find((each) => plain.endsWith(each) && plain.length - each.length >= 4);
    if (!ending) break;
    plain = plain.slice(0, -ending.length);
  }
  return plain;
}

/** The stems of a query that are worth marking; where all its words are common ones, all of them. */
export function stemsOf(query) {
  const words = (query ?? "").match(WORD) ?? [];
  const rare = words.filter((word) => !COMMON.has(folded(word)));
  const stems = new Set();
  for (const word of rare.length ? rare : words) {
    stems.add(stem(word));
    for (const part of word.match(PART) ?? []) {
      if (/\p{L}/u.test(part) && (rare.length === 0 || !COMMON.has(folded(part)))) stems.add(stem(part));
    }
  }
  return stems;
}

/** Cut a text into `[piece, marked]`, no character lost. */
export function pieces(text, stems) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(WORD)) {
    for (const [start, end] of marksIn(match[0], stems)) {
      const from = match.index + start;
      if (from > at) found.push([text.slice(at, from), false]);
      found.push([text.slice(from, match.index + end), true]);
      at = match.index + end;
    }
  }
  if (at < text.length) found.push([text.slice(at), false]);
  return found;
}

function marksIn(word, stems) {
  if (stems.has(stem(word))) return [[0, word.length]];
  return [...word.matchAll(PART)]
    .filter((part) => part[0] !== word && stems.has(stem(part[0])))
    .map((part) => [part.index, part.index + part[0].length]);
}

/** The same as nodes: text, and <mark> around the words. */
export function marked(text, stems) {
  return pieces(String(text ?? ""), stems).map(([piece, isMark]) => {
    if (!isMark) return document.createTextNode(shown(piece));
    const mark = document.createElement("mark");
    mark.textContent = shown(piece);
    return mark;
  });
}
