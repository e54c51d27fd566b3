/* Whether the focus is on an element of a kind, and whether it can be seen where it is. */
(wanted) => {
  const element = document.activeElement;
  const styles = [element, element.closest("label") ?? element].map((each) => getComputedStyle(each));
  const shown = styles.some(
    (style) =>
      (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) || style.textDecorationLine !== "none",
  );
  return {
    there: element.matches(wanted),
    shown: shown || element === document.body,
    what: element.outerHTML.slice(0, 120),
  };
};
