/* What axe finds wrong by WCAG 2.2 A and AA: the rule and the elements. */
async () => {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  const { violations } = await axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
  return violations.map((each) => ({
    rule: each.id,
    elements: each.nodes.map((node) => `${node.html.slice(0, 160)} – ${(node.failureSummary ?? "").slice(0, 240)}`),
  }));
};
