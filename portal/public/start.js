// Runs before anything else is loaded. A dark page must not flash white, and what the address asks for is fetched at
// once instead of after the code that shows it.
(() => {
  const stored = localStorage.getItem("mantine-color-scheme-value");
  const isDark = stored === "dark" || (stored !== "light" && window.matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", isDark ? "dark" : "light");

  // The router would take what stands in front of # for a part of the view behind it.
  if (window.location.search) {
    const language = new URLSearchParams(window.location.search).get("lang");
    if (language) localStorage.setItem("muster-language", language.toLowerCase().startsWith("zh") ? "zh" : "en");
    history.replaceState(null, "", window.location.pathname + window.location.hash);
  }

  const CODE = {}; // by page, and by tab of the job's page: the build fills it in
  const address = window.location.hash.slice(1) || "/";
  if (!address.startsWith("/")) return; // a link that logs in
  const [path, query] = address.split("?");
  const [, place, rest] = path.split("/");
  const page = rest ? { jobs: "job", nodes: "node" }[place] : place;
  const tab = page === "job" ? `job/${new URLSearchParams(query).get("tab") ?? "workers"}` : "";
  for (const file of new Set([...(CODE[page] ?? []), ...(CODE[tab] ?? [])])) {
    const link = document.createElement("link");
    Object.assign(link, { rel: "modulepreload", crossOrigin: "", href: `/portal/${file}` });
    document.head.append(link);
  }

  const asked = ["/api/v1/whoami"];
  if (page === "job") asked.push(`/api/v1/jobs/${rest}`, `/api/v1/jobs/${rest}/tasks`);
  window.earlyAnswers = new Map(
    asked.map((each) => {
      const answer = fetch(each, { credentials: "same-origin" });
      answer.catch(() => undefined); // it is looked at when it is needed
      return [new URL(each, window.location.href).href, answer];
    }),
  );
  setTimeout(() => window.earlyAnswers.clear(), 10_000); // what nobody has needed by then is old
})();
