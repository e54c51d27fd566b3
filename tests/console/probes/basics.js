/* What is wrong with the page for those who listen: labels, names, ids, references, landmarks. */
() => {
  const wrong = [];
  const shown = (each) => each.checkVisibility({ visibilityProperty: true });
  const name = (each) =>
    (each.getAttribute("aria-label") ?? "").trim() ||
    (each.getAttribute("aria-labelledby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join(" ")
      .trim() ||
    [...(each.labels ?? [])]
      .map((label) => label.textContent)
      .join(" ")
      .trim() ||
    each.textContent.trim();
  for (const each of document.querySelectorAll("input, select, textarea, meter, progress")) {
    const labelled =
      [...(each.labels ?? [])].some((label) => label.textContent.trim()) || each.getAttribute("aria-label");
    if (shown(each) && !labelled) wrong.push(`no label: ${each.outerHTML}`);
  }
  for (const each of document.querySelectorAll("button, a, summary, dialog, section[aria-labelledby], nav, [role]")) {
    if (shown(each) && !name(each) && !each.matches("[role=status], [role=alert]"))
      wrong.push(`no name: ${each.outerHTML.slice(0, 120)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  wrong.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `twice: #${id}`));
  for (const attribute of ["for", "aria-labelledby", "aria-describedby", "list"]) {
    for (const each of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of each.getAttribute(attribute).split(" "))
        if (!document.getElementById(id)) wrong.push(`${attribute} leads nowhere: ${id}`);
    }
  }
  const count = (selector) => [...document.querySelectorAll(selector)].filter(shown).length;
  for (const one of ["header", "main", "h1", "nav[aria-label=Views]"]) {
    if (count(one === "header" ? "body > header" : one) !== 1) wrong.push(`not one ${one}`);
  }
  for (const each of document.querySelectorAll("img:not([alt])")) wrong.push(`no alt: ${each.outerHTML}`);
  for (const each of document.querySelectorAll("table.list th:not([scope])")) wrong.push(`no scope: ${each.outerHTML}`);
  for (const each of document.querySelectorAll("[tabindex]"))
    if (each.tabIndex > 0) wrong.push(`order: ${each.outerHTML}`);
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  return wrong;
};
