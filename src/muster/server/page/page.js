// The web page: jobs, one job with its workers and log, and machines. Everything from the server is inserted as text
// (textContent), never as markup. The page only calls the public API, with the rights of the user.

import { at, bytes, cell, duration, make, refreshTimes, stateMark, tell, time } from "./elements.js";
import { filterBy, forgetMachines, loadMachines, nodesLine, startMachines } from "./machines.js";
import { OutputLines } from "./log_lines.js";
import { API, call, coalesced, jobPath, Refused } from "./server.js";
import { translatePage, word } from "./words.js";

const FINAL = new Set(["Succeeded", "Failed", "Cancelled"]);
const JOBS_PAGE = 50;
const LOG_LETTERS = 400_000; // the part of a long log that is kept; `muster logs` prints all of it
const QUIET_MS = 250; // a burst of events causes one reload
const NODES_MS = 5_000; // usage changes without events
const MACHINES_MS = 2_000; // nodes are sampled this often

// Runs an action that calls the server, and shows its error. A late error does not disturb a login that is in progress.
async function attempt(action) {
  const say = (message) => at("login").hidden && tell(message);
  try {
    await action();
    say("");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status !== 401) say(error.message);
    else if (at("login").hidden) showLogin();
  }
}

// ---- jobs -----------------------------------------------------------------------------------------------------------

let shownJobs = JOBS_PAGE;

async function loadJobs() {
  const text = at("filter").value.trim();
  const query = new URLSearchParams({ limit: String(Math.min(shownJobs, 1000)) });
  if (text) query.set("text", text);
  const answer = await call(`/jobs?${query}`);
  const rows = answer.items.map(jobRow);
  keepFocus(at("jobs"), rows);
  at("jobs-note").textContent = rows.length ? "" : word(text ? "noMatch" : "noJobs");
  at("more").hidden = !answer.nextCursor || shownJobs >= 1000;
  await loadOthers(text);
}

// Jobs that were made in a cluster itself, such as with kubectl. They are shown, and cannot be changed here.
async function loadOthers(text) {
  const query = new URLSearchParams({ origin: "others", limit: "1000" });
  if (text) query.set("text", text);
  const answer = await call(`/jobs?${query}`);
  keepFocus(at("others"), answer.items.map(otherRow));
  at("others-part").hidden = !answer.items.length;
}

function otherRow(job) {
  const row = jobRow(job);
  row.insertBefore(cell(job.origin), row.cells[1]);
  row.insertBefore(cell(job.cluster), row.cells[1]);
  return row;
}

function jobRow(job) {
  const link = make("a", { text: job.name, href: `#/jobs/${encodeURIComponent(job.id)}`, title: job.id });
  const counts = FINAL.has(job.state) ? `${job.succeeded}/${job.tasks}` : `${job.active}/${job.tasks}`;
  const row = make("tr", {}, cell(link), cell(stateMark(job.state)), cell(job.mode), cell(job.owner),
    cell(counts, "number"), cell(time(job.startedAt)), cell(time(job.endedAt)), cell(job.reason || "-", "words"));
  row.dataset.key = job.id;
  return row;
}

// Replaces the rows, but keeps the keyboard focus on its row.
function keepFocus(body, rows) {
  const focused = document.activeElement?.closest?.("tr")?.dataset.key;
  body.replaceChildren(...rows);
  if (focused) [...body.rows].find((row) => row.dataset.key === focused)?.querySelector("a")?.focus();
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

async function loadNodes() {
  const { items } = await call("/nodes");
  at("nodes-line").replaceChildren(...nodesLine(items));
}

// Tells admins which clusters do not isolate tasks, if there are users who are not admins.
async function loadWarning() {
  at("unsafe").hidden = true;
  if (me.role !== "admin") return;
  const [clusters, users] = await Promise.all([call("/clusters"), call("/users")]);
  const open = clusters.items.filter((cluster) => cluster.isolation?.mode === "none").map((cluster) => cluster.name);
  const isShared = users.items.some((user) => user.role !== "admin" && !user.disabled);
  at("unsafe").textContent = word("unsafe", { clusters: open.join(", ") });
  at("unsafe").hidden = !open.length || !isShared;
}

// ---- one job --------------------------------------------------------------------------------------------------------

let me = null; // {user, role}
let openJob = null; // the id of the job that is shown, if any
let isAtMachines = false;

const isMine = (job) => isOwn(job) && (job.owner === me.user || me.role === "admin");
const isOwn = (job) => job.origin === "muster";

async function loadJob() {
  const ref = openJob;
  if (!ref) return null;
  const job = await call(jobPath(ref));
  const [tasks, explanation, usage] = await Promise.all([
    call(`${jobPath(ref)}/tasks`),
    isMine(job) || !isOwn(job) ? call(`${jobPath(ref)}/explain`) : null,
    isOwn(job) ? call(`${jobPath(ref)}/usage`) : null,
  ]);
  if (ref !== openJob) return null; // the user has opened another job in the meantime
  openJob = job.id; // the address may contain a name instead
  showJob(job, explanation);
  at("usage").textContent = usage ? usageText(usage) : "";
  at("tasks").replaceChildren(...tasks.items.map(taskRow));
  offerTasks(tasks.items);
  return job;
}

function showJob(job, explanation) {
  document.title = `${job.name}: ${job.state} — Muster`;
  at("job-name").textContent = job.name;
  at("job-state").textContent = job.state;
  at("job-state").className = `state ${job.state}`;
  at("kill").hidden = FINAL.has(job.state) || !isMine(job);
  at("kill").disabled = job.state === "Stopping";
  const roles = (job.roles ?? []).map((role) => `${role.role} ${role.active}/${role.replicas}`);
  const facts = [job.id, isOwn(job) ? "" : job.origin, job.owner, job.cluster, job.mode, job.framework, ...roles,
    word("attempt", { n: job.attempt })];
  at("job-facts").replaceChildren(facts.filter(Boolean).join(" · "));
  for (const [label, iso] of [["started", job.startedAt], ["ended", job.endedAt]]) {
    if (iso) at("job-facts").append(` · ${word(label)} `, time(iso));
  }
  at("explain").textContent = explanation?.summary || job.reason || "";
  const fault = explanation?.fault;
  const cause = at("explain").textContent.includes(fault?.cause) ? "" : fault?.cause; // so that the cause is not shown twice
  at("advice").textContent = [cause, fault?.advice || explanation?.next].filter(Boolean).join(" ");
}

function usageText({ waitS, runS, used, advice }) {
  const figures = [
    word("waited", { time: duration(waitS) }),
    word("ran", { time: duration(runS) }),
    used.cpuS === null ? "" : word("cpuTime", { time: duration(used.cpuS) }),
    used.peakMemoryBytes === null ? "" : word("peakMemory", { amount: bytes(used.peakMemoryBytes) }),
    used.gpuPercent === null ? "" : word("gpuBusy", { percent: Math.round(used.gpuPercent) }),
  ];
  return [figures.filter(Boolean).join(" · "), advice].filter(Boolean).join(". ");
}

function taskRow(task) {
  const code = task.signal ? `${task.exitCode ?? ""} (${task.signal})` : task.exitCode;
  return make("tr", {}, cell(task.name), cell(stateMark(task.state)), cell(task.node || "-"),
    cell(time(task.startedAt)), cell(time(task.endedAt)), cell(code, "number"));
}

function offerTasks(tasks) {
  const select = at("log-task");
  const names = tasks.map((task) => task.name);
  const known = [...select.options].slice(1).map((option) => option.value);
  if (select.options.length && names.join() === known.join()) return;
  const chosen = select.value;
  select.replaceChildren(make("option", { text: word("everyone"), value: "" }),
    ...tasks.map((task) => make("option", { text: `${task.role}-${task.index}`, value: task.name })));
  if (names.includes(chosen)) select.value = chosen;
}

async function killJob() {
  const name = at("job-name").textContent;
  if (!window.confirm(word("sure", { name }))) return;
  at("kill").disabled = true;
  await attempt(async () => {
    await call(`${jobPath(openJob)}/kill`, { method: "POST", body: {} });
    await loadJob();
  });
}

// ---- its log --------------------------------------------------------------------------------------------------------

let logSource = null;
let logPieces = [];
let logOutputs = new Map(); // by worker: its unfinished lines and its prefix
let logLetters = 0;
let logWasCut = false;
let drawPending = false;

function followLog() {
  stopLog();
  const task = at("log-task").value;
  const query = new URLSearchParams({ follow: "true", tail: "1000" });
  if (task) query.set("task", task);
  at("log").textContent = word("noLog");
  const source = new EventSource(`${API}${jobPath(openJob)}/logs?${query}`);
  logSource = source;
  source.addEventListener("log", (event) => {
    const { task: from, offset, text } = JSON.parse(event.data);
    const prefix = task ? "" : `${shortName(from)} | `;
    if (!offset) endLines(from); // another attempt begins
    const output = logOutputs.get(from)?.output ?? new OutputLines();
    logOutputs.set(from, { output, prefix });
    addLog(output.feed(text).map((line) => `${prefix}${line}\n`).join(""));
  });
  source.addEventListener("end", () => {
    [...logOutputs.keys()].forEach(endLines);
    source.close();
  });
  source.addEventListener("gone", (event) => addLog(`${JSON.parse(event.data).detail}\n`));
}

function stopLog() {
  logSource?.close();
  logSource = null;
  logPieces = [];
  logOutputs = new Map();
  logLetters = 0;
  logWasCut = false;
}

const shortName = (task) => task.match(/[^-]+-\d+$/)?.[0] ?? task;

function endLines(task) {
  const { output, prefix } = logOutputs.get(task) ?? {};
  logOutputs.delete(task);
  addLog(output?.finish().map((line) => `${prefix}${line}\n`).join("") ?? "");
}

// The lines that are not finished, which are drawn below the others.
function liveLines() {
  const workers = [...logOutputs.keys()].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  return workers.flatMap((task) => {
    const { output, prefix } = logOutputs.get(task);
    return output.unfinished().map((line) => prefix + line);
  });
}

function addLog(text) {
  if (text) logPieces.push(text);
  logLetters += text.length;
  while (logLetters > LOG_LETTERS && logPieces.length > 1) {
    logLetters -= logPieces.shift().length;
    logWasCut = true;
  }
  if (drawPending) return;
  drawPending = true;
  requestAnimationFrame(drawLog);
}

function drawLog() {
  drawPending = false;
  const live = liveLines();
  if (!logPieces.length && !live.length) return;
  const log = at("log");
  log.textContent = (logWasCut ? word("cut") : "") + logPieces.join("").slice(-LOG_LETTERS) + live.join("\n");
  if (at("log-stick").checked) log.scrollTop = log.scrollHeight;
}

// ---- events ---------------------------------------------------------------------------------------------------------

const reload = coalesced(
  () => attempt(() => (openJob ? loadJob() : Promise.all([loadJobs(), loadNodes()]))), // a job that starts changes a node
  QUIET_MS,
);
let events = null;
let ticketProblem = ""; // why a link did not log in, until it is shown

// The server names each event after its kind, and an EventSource only delivers the names that it listens to.
const KINDS = [
  ...["queued", "held", "starting", "running", "stopping", "succeeded", "failed", "cancelled"].map((s) => `job.${s}`),
  ...["assigned", "launching", "preparing", "running", "stopping", "succeeded", "failed", "stopped", "lost"]
    .map((s) => `task.${s}`),
  "audit.job.delete",
];

function listen() {
  events?.close();
  events = new EventSource(`${API}/events?follow=true`);
  events.addEventListener("open", () => {
    at("live").textContent = word("live");
    if (!isAtMachines) reload();
  });
  events.addEventListener("error", () => {
    at("live").textContent = word("lost");
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5_000);
  });
  for (const kind of KINDS) events.addEventListener(kind, onEvent);
}

function onEvent(event) {
  const jobId = JSON.parse(event.data).jobId;
  if (!isAtMachines && (!openJob || jobId === openJob)) reload();
}

// ---- navigation -----------------------------------------------------------------------------------------------------

function show(part) {
  for (const id of ["login", "overview", "job", "machines"]) at(id).hidden = id !== part;
  at("logout").hidden = at("places").hidden = part === "login";
  at("to-jobs").ariaCurrent = part === "overview" ? "page" : null;
  at("to-machines").ariaCurrent = part === "machines" ? "page" : null;
}

function showLogin() {
  events?.close();
  events = null;
  stopLog();
  forgetMachines();
  show("login");
  at("unsafe").hidden = true;
  at("who").textContent = "";
  at("live").textContent = "";
  tell(ticketProblem);
  ticketProblem = "";
  at("login").elements.user.focus();
  offerLogins();
}

// Shows the ways to log in that the server offers. A token can be entered in any case.
async function offerLogins() {
  const ways = await call("/login").catch(() => ({ password: true, sso: null }));
  at("sso").hidden = !ways.sso;
  if (!ways.sso) return;
  const target = location.hash.startsWith("#/") ? location.hash.slice(1).split("?")[0] : "/";
  at("sso-link").href = `${API}/login/sso?target=${encodeURIComponent(target)}`;
  at("sso-link").textContent = word("signInWith", { name: ways.sso.name });
}

// Opens a page that a job serves, which is at a host of its own: the server gives a link that is good once.
async function openPage(job, port, path) {
  const body = { port: Number(port), path: `/${path}` };
  await attempt(async () => location.replace((await call(`${jobPath(job)}/page`, { method: "POST", body })).url));
}

// A link that logs this browser in has its ticket behind #, where neither servers nor logs see it.
async function takeTicket() {
  const match = location.hash.match(/^#login=([^&]+)(?:&(.*))?$/);
  if (!match) return;
  history.replaceState(null, "", match[2] ? `#${match[2]}` : "#/");
  try {
    await call("/login", { method: "POST", body: { ticket: decodeURIComponent(match[1]), name: "browser" } });
  } catch (error) {
    if (error.status === 409) alert(error.message); // somebody else is logged in here, and stays so
    else ticketProblem = error.message;
  }
}

function route() {
  const match = location.hash.match(/^#\/jobs\/(.+)$/);
  const page = location.hash.match(/^#\/open\/([^/]+)\/(\d+)\/(.*)$/);
  if (page) {
    openPage(decodeURIComponent(page[1]), page[2], decodeURIComponent(page[3]));
    return;
  }
  const machines = location.hash.match(/^#\/nodes(?:\?(.*))?$/);
  stopLog();
  openJob = match ? decodeURIComponent(match[1]) : null;
  isAtMachines = Boolean(machines);
  if (openJob) showOneJob();
  else if (isAtMachines) showMachines(machines[1]);
  else showOverview();
}

function showOverview() {
  document.title = "Muster";
  show("overview");
  attempt(async () => {
    await Promise.all([loadJobs(), loadNodes(), loadWarning()]);
  });
}

function showMachines(query) {
  document.title = `${word("nodes")} — Muster`;
  filterBy(new URLSearchParams(query));
  show("machines");
  refreshMachines();
}

function showOneJob() {
  at("log-task").replaceChildren();
  show("job");
  attempt(async () => {
    const job = await loadJob();
    if (!job) return;
    if (isMine(job)) followLog();
    else at("log").textContent = word(isOwn(job) ? "notYours" : "notMuster");
    at("job-name").tabIndex = -1;
    at("job-name").focus();
  });
}

const refreshMachines = coalesced(async () => {
  if (events && isAtMachines && !document.hidden) await attempt(loadMachines);
}, 0);

async function enter() {
  await attempt(async () => {
    me = await call("/whoami");
    at("who").textContent = `${me.user} (${me.role})`;
    listen();
    route();
  });
}

async function logIn(event) {
  event.preventDefault();
  const fields = at("login").elements;
  try {
    const secret = fields.password.value.trim();
    const byToken = secret.startsWith("mst_");
    const body = byToken ? { token: secret } : { user: fields.user.value, password: secret, name: "browser" };
    await call("/login", { method: "POST", body });
  } catch (error) {
    tell(error.status === 401 ? word("wrong") : error.message);
    return;
  }
  fields.password.value = "";
  tell("");
  await enter();
}

async function logOut() {
  await attempt(() => call("/logout", { method: "POST", body: {} }));
  showLogin();
}

// ---- start ----------------------------------------------------------------------------------------------------------

translatePage();
at("login").addEventListener("submit", logIn);
at("logout").addEventListener("click", logOut);
at("kill").addEventListener("click", killJob);
at("log-task").addEventListener("change", followLog);
at("filter").addEventListener("input", () => reload());
at("more").addEventListener("click", () => {
  shownJobs += JOBS_PAGE * 2;
  reload();
});
startMachines(attempt);
window.addEventListener("hashchange", route);
document.addEventListener("visibilitychange", refreshMachines);
setInterval(refreshTimes, 1_000);
setInterval(() => {
  if (!events || openJob || isAtMachines || document.hidden) return;
  attempt(() => Promise.all([loadNodes(), loadOthers(at("filter").value.trim())]));
}, NODES_MS);
setInterval(refreshMachines, MACHINES_MS);
takeTicket().then(enter);
