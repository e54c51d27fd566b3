/* Everything that would outlive the page, cookies apart from those that scripts cannot see. */
async () =>
  [
    ...[localStorage, sessionStorage].flatMap((kept) =>
      Array.from(kept, (_, at) => [kept.key(at), kept.getItem(kept.key(at))]),
    ),
    document.cookie,
    ...(await indexedDB.databases()).map((each) => each.name),
    ...(await caches.keys()),
    ...(await navigator.serviceWorker.getRegistrations()).map(String),
    window.name,
  ]
    .flat()
    .filter((each) => each !== "");
