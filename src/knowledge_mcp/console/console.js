/* The console's start: which view an address shows, and the parts that are always there. */

import { announce, byId } from "./dom.js";
import { ALL, current } from "./catalogue.js";
import { setUpCheck, showCheck } from "./check.js";
import { setUpCollections, showCollections } from "./collections.js";
import { setUpCompare, showCompare } from "./compare.js";
import { setUpConflicts, showConflicts } from "./conflicts.js";
import { setUpDocument, showDocument } from "./document.js";
import { setUpDocuments, showDocuments } from "./documents.js";
import { setUpIngest, showIngest } from "./ingest.js";
import { setUpJobs, showJobs } from "./jobs.js";
import { setUpKey } from "./key.js";
import { setUpKeyboard } from "./keyboard.js";
import { read } from "./route.js";
import { setUpSearch, showSearch } from "./search.js";
import { setUpStatus } from "./status.js";
import { setUpTrace, showTrace } from "./trace.js";

const VIEWS = {
  search: { title: "Search", show: showSearch },
  document: { title: "Document", show: showDocument },
  documents: { title: "Documents", show: showDocuments },
  collections: { title: "Collections", show: showCollections },
  compare: { title: "Compare documents", show: showCompare },
  trace: { title: "Trace requirements", show: showTrace },
  check: { title: "Check a document", show: showCheck },
  conflicts: { title: "Find conflicts", show: showConflicts },
  jobs: { title: "Jobs", show: showJobs },
  ingest: { title: "Add documents", show: showIngest },
  missing: { title: "Page not found", show: () => {} },
};

const left = new Map();
let currentView = "";
let currentHash = "";
let list = "#/search";

function show() {
  const { view: requested, argument, parameters } = read();
  const view = Object.hasOwn(VIEWS, requested) ? requested : "missing";
  const isNewView = view !== currentView;
  if (isNewView && currentView) left.set(currentHash, { focus: document.activeElement, top: scrollY });
  if (currentView === "search" || currentView === "documents") list = currentHash || "#/search";
  if (currentView === "search" && isNewView) document.querySelector("[data-view=search]").href = list;
  const returned = isNewView ? left.get(location.hash) : undefined;
  const first = currentView === "";
  if (parameters.get("c") && parameters.get("c") !== ALL) current.collection = parameters.get("c");
  document.body.dataset.shown = view;
  for (const name of Object.keys(VIEWS)) byId(`view-${name}`).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a[data-view]")) {
    if (link.dataset.view === (view === "document" ? "documents" : view)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${VIEWS[view].title} · Knowledge console`;
  currentView = view;
  currentHash = location.hash;
  if (isNewView && !first) place(view, returned);
  VIEWS[view].show({ argument, parameters, list });
}

/** Put focus and scrolling where they were, or at the head of a view that is new. */
function place(view, returned) {
  if (returned?.focus?.isConnected && returned.focus !== document.body) {
    returned.focus.focus({ preventScroll: true });
    scrollTo(0, returned.top);
    return;
  }
  scrollTo(0, 0);
  if (view === "search") byId("q").focus({ preventScroll: true });
  else byId(`view-${view}`).querySelector("h1").focus({ preventScroll: true });
  announce(VIEWS[view].title);
}

function start() {
  setUpKey();
  setUpSearch();
  setUpDocument();
  setUpDocuments();
  setUpCollections();
  setUpIngest();
  setUpCompare();
  setUpTrace();
  setUpCheck();
  setUpConflicts();
  setUpJobs();
  setUpKeyboard();
  setUpStatus();
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
  addEventListener("hashchange", show);
  addEventListener("key-changed", show);
  show();
}

start();
