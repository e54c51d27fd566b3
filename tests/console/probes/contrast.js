/* Each visible text's place with the contrast of its colour on what lies behind it, as WCAG 2 computes it. */
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const read = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = read(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (
      !node.data.trim() ||
      !element.checkVisibility({ visibilityProperty: true }) ||
      element.closest(":disabled, option")
    )
      continue;
    const [one, other] = [light(read(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
    const where = `${element.tagName}.${element.className} in ${element.parentElement.className}`;
    found.set(where, Math.min(found.get(where) ?? 99, (one + 0.05) / (other + 0.05)));
  }
  return [...found];
};
