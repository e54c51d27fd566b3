/* Drop a folder whose files have these paths, as a browser gives it: entries, a hundred at a time. */
(paths) => {
  const tree = {};
  for (const path of paths) {
    let at = tree;
    const parts = path.split("/");
    for (const part of parts.slice(0, -1)) at = at[part] ??= {};
    at[parts.at(-1)] = null;
  }
  const entry = (name, held, above) => {
    const fullPath = `${above}/${name}`;
    if (held === null) {
      return { isDirectory: false, name, fullPath, file: (resolve) => resolve(new File([fullPath], name)) };
    }
    const createReader = () => {
      const left = Object.entries(held).map(([each, below]) => entry(each, below, fullPath));
      return { readEntries: (resolve) => resolve(left.splice(0, 100)) };
    };
    return { isDirectory: true, name, fullPath, createReader };
  };
  const items = Object.entries(tree).map(([name, held]) => ({ webkitGetAsEntry: () => entry(name, held, "") }));
  const drop = new Event("drop", { bubbles: true, cancelable: true });
  Object.defineProperty(drop, "dataTransfer", { value: { items, files: [] } });
  document.getElementById("drop").dispatchEvent(drop);
};
