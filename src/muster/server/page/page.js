// The plain page: jobs, one job with its workers and log, nodes. Everything from the server goes into the document as
// text (textContent), never as markup, and everything it does is a call of the public API with the reader's own rights.

const API = "/api/v1";
const FINAL = new Set(["Succeeded", "Failed", "Cancelled"]);
const JOBS_PAGE = 50;
const LOG_LETTERS = 400_000; // what is kept of a long log; the command line has all of it
const QUIET_MS = 250; // a burst of events is one reload
const NODES_MS = 5_000; // usage changes without events

// ---- words ----------------------------------------------------------------------------------------------------------

const WORDS = {
  en: {
    login: "Log in", logout: "Log out", user: "User", password: "Password, or a token", jobs: "Jobs", nodes: "Nodes",
    filter: "Filter", name: "Name", state: "State", mode: "Mode", owner: "Owner", workers: "Workers",
    started: "Started", ended: "Ended", reason: "Reason", cpu: "CPU given", memory: "Memory given", gpu: "GPU",
    usage: "In use now", tasks: "Tasks", back: "All jobs", kill: "Stop this job", node: "Node", exit: "Exit code",
    log: "Log", worker: "Worker", stick: "Keep to the end", more: "Show more", everyone: "All workers",
    live: "live", lost: "connection lost, trying again…", noJobs: "No jobs yet: muster run -- COMMAND makes one.",
    noMatch: "No job matches the filter.", cut: "… the beginning is not shown; muster logs has all of it …\n",
    sure: "Stop job {name}? Its workers are asked to end; its logs stay.", wrong: "Wrong user or password.",
    unreachable: "The server does not answer.", notYours: "Only the owner and admins may read this log.",
    attempt: "attempt {n}", noLog: "No output yet.", given: "{used} of {total}",
  },
  zh: {
    login: "登录", logout: "退出", user: "用户", password: "密码或令牌", jobs: "作业", nodes: "节点",
    filter: "筛选", name: "名称", state: "状态", mode: "模式", owner: "所有者", workers: "任务",
    started: "开始", ended: "结束", reason: "原因", cpu: "已分配 CPU", memory: "已分配内存", gpu: "GPU",
    usage: "当前使用", tasks: "任务数", back: "全部作业", kill: "停止此作业", node: "节点", exit: "退出码",
    log: "日志", worker: "任务", stick: "跟随末尾", more: "显示更多", everyone: "全部任务",
    live: "实时", lost: "连接中断，正在重试…", noJobs: "还没有作业：运行 muster run -- 命令 即可创建。",
    noMatch: "没有符合筛选条件的作业。", cut: "… 开头部分未显示；用 muster logs 可查看全部 …\n",
    sure: "停止作业 {name}？其任务将被要求结束，日志会保留。", wrong: "用户名或密码错误。",
    unreachable: "服务器没有响应。", notYours: "只有所有者和管理员可以查看此日志。",
    attempt: "第 {n} 次尝试", noLog: "暂无输出。", given: "{used} / {total}",
  },
};
const language = (navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en";

function word(key, values = {}) {
  return WORDS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function translatePage() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = word(element.dataset.text);
  }
}

// ---- the document ---------------------------------------------------------------------------------------------------

const at = (id) => document.getElementById(id);

function make(tag, { text, className, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = String(text);
  if (className) element.className = className;
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

const cell = (content, className) =>
  content instanceof Node ? make("td", { className }, content) : make("td", { text: content ?? "-", className });

const stateMark = (state) => make("span", { text: state, className: `state ${state}` });

const relative = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" });

function ago(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(Math.min(0, Math.trunc(seconds)), "second");
}

function time(iso) {
  if (!iso) return "-";
  return make("time", { text: ago(iso), dateTime: iso, title: iso });
}

function refreshTimes() {
  for (const element of document.querySelectorAll("time")) element.textContent = ago(element.dateTime);
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count : count.toFixed(1)} ${units[unit]}`;
}

// "2" and "750m" both are cores.
const cores = (quantity) => {
  const text = String(quantity);
  return text.endsWith("m") ? Number(text.slice(0, -1)) / 1000 : Number(text);
};

function measured(used, total, text) {
  const meter = make("meter", { min: 0, max: total || 1, value: used || 0, title: text });
  meter.setAttribute("aria-hidden", "true");
  return make("span", {}, meter, document.createTextNode(text));
}

function tell(message) {
  at("problem").textContent = message;
  at("problem").hidden = !message;
}

// ---- the server -----------------------------------------------------------------------------------------------------

class Refused extends Error {
  constructor(status, problem) {
    super([problem.detail || problem.title || `HTTP ${status}`, problem.hint].filter(Boolean).join(" — "));
    this.status = status;
  }
}

async function call(path, { method = "GET", body } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Muster-Request"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(API + path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new Refused(0, { detail: word("unreachable") });
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw new Refused(answer.status, await answer.json().catch(() => ({})));
}

const jobPath = (ref) => `/jobs/${encodeURIComponent(ref)}`;

// Runs something that talks to the server, and shows what went wrong if it did.
async function attempt(action) {
  try {
    await action();
    tell("");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) showLogin();
    else tell(error.message);
  }
}

// Calls at most one at a time, and once more if asked while it ran.
function coalesced(action, delay) {
  let running = false;
  let again = false;
  let timer = 0;
  async function run() {
    timer = 0;
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await action();
    } finally {
      running = false;
      if (again) {
        again = false;
        trigger();
      }
    }
  }
  function trigger() {
    if (!timer) timer = setTimeout(run, delay);
  }
  return trigger;
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
}

function jobRow(job) {
  const link = make("a", { text: job.name, href: `#/jobs/${encodeURIComponent(job.id)}`, title: job.id });
  const counts = FINAL.has(job.state) ? `${job.succeeded}/${job.tasks}` : `${job.active}/${job.tasks}`;
  const row = make("tr", {}, cell(link), cell(stateMark(job.state)), cell(job.mode), cell(job.owner),
    cell(counts, "number"), cell(time(job.startedAt)), cell(time(job.endedAt)), cell(job.reason || "-", "words"));
  row.dataset.key = job.id;
  return row;
}

// New rows in place of old ones, without taking the keyboard away from somebody who is in the middle of them.
function keepFocus(body, rows) {
  const focused = document.activeElement?.closest?.("tr")?.dataset.key;
  body.replaceChildren(...rows);
  if (focused) [...body.rows].find((row) => row.dataset.key === focused)?.querySelector("a")?.focus();
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

async function loadNodes() {
  const answer = await call("/nodes");
  at("nodes").replaceChildren(...answer.items.map(nodeRow));
}

function nodeRow(node) {
  const given = (used, total) => word("given", { used, total });
  const taken = Number(node.gpus.reduce((sum, gpu) => sum + gpu.used, 0).toFixed(3));
  const models = [...new Set(node.gpus.map((gpu) => gpu.model))].join(", ");
  const usage = node.usage
    ? `CPU ${Math.round(node.usage.cpuPercent)} %, ${bytes(node.usage.memoryUsedBytes)}`
    : "-";
  const name = make("span", { text: node.name, title: node.note || "" });
  return make("tr", {}, cell(name), cell(stateMark(node.state)),
    cell(measured(cores(node.cpu.used), cores(node.cpu.total), given(cores(node.cpu.used), cores(node.cpu.total)))),
    cell(measured(node.memory.used, node.memory.total, given(bytes(node.memory.used), bytes(node.memory.total)))),
    cell(node.gpus.length ? `${given(taken, node.gpus.length)} ${models}` : "-"),
    cell(usage), cell(node.tasks, "number"));
}

// ---- one job --------------------------------------------------------------------------------------------------------

let me = null; // {user, role}
let openJob = null; // the id of the job that is shown, if one is

const isMine = (job) => job.owner === me.user || me.role === "admin";

async function loadJob() {
  const ref = openJob;
  if (!ref) return null;
  const job = await call(jobPath(ref));
  const [tasks, explanation] = await Promise.all([
    call(`${jobPath(ref)}/tasks`),
    isMine(job) ? call(`${jobPath(ref)}/explain`) : null,
  ]);
  if (ref !== openJob) return null; // another one was opened meanwhile
  openJob = job.id; // the address may have said a name
  showJob(job, explanation);
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
  const facts = [job.id, job.owner, job.cluster, job.mode, job.framework, word("attempt", { n: job.attempt })];
  at("job-facts").replaceChildren(facts.filter(Boolean).join(" · "));
  for (const [label, iso] of [["started", job.startedAt], ["ended", job.endedAt]]) {
    if (iso) at("job-facts").append(` · ${word(label)} `, time(iso));
  }
  at("explain").textContent = explanation?.summary || job.reason || "";
  const fault = explanation?.fault;
  const cause = at("explain").textContent.includes(fault?.cause) ? "" : fault?.cause; // said once is enough
  at("advice").textContent = [cause, fault?.advice || explanation?.next].filter(Boolean).join(" ");
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
  const unfinished = new Map(); // an unfinished line of one worker is not mixed with another's
  source.addEventListener("log", (event) => {
    const { task: from, text } = JSON.parse(event.data);
    addLog(task ? text : prefixed(from, text, unfinished));
  });
  source.addEventListener("end", () => {
    for (const [from, rest] of unfinished) addLog(`${shortName(from)} | ${rest}\n`);
    source.close();
  });
  source.addEventListener("gone", (event) => addLog(`${JSON.parse(event.data).detail}\n`));
}

function stopLog() {
  logSource?.close();
  logSource = null;
  logPieces = [];
  logLetters = 0;
  logWasCut = false;
}

const shortName = (task) => task.match(/[^-]+-\d+$/)?.[0] ?? task;

function prefixed(task, text, unfinished) {
  const lines = ((unfinished.get(task) ?? "") + text).split("\n");
  const rest = lines.pop();
  if (rest) unfinished.set(task, rest);
  else unfinished.delete(task);
  return lines.map((line) => `${shortName(task)} | ${line}\n`).join("");
}

function addLog(text) {
  if (!text) return;
  logPieces.push(text);
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
  if (!logPieces.length) return;
  const log = at("log");
  log.textContent = (logWasCut ? word("cut") : "") + logPieces.join("").slice(-LOG_LETTERS);
  if (at("log-stick").checked) log.scrollTop = log.scrollHeight;
}

// ---- what happens ---------------------------------------------------------------------------------------------------

const reload = coalesced(
  () => attempt(() => (openJob ? loadJob() : Promise.all([loadJobs(), loadNodes()]))), // a start takes from a node
  QUIET_MS,
);
let events = null;

// The server names each event after its kind, and an EventSource hears only the names it was told.
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
    reload();
  });
  events.addEventListener("error", () => {
    at("live").textContent = word("lost");
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5_000);
  });
  for (const kind of KINDS) events.addEventListener(kind, heard);
}

function heard(event) {
  const jobId = JSON.parse(event.data).jobId;
  if (!openJob || jobId === openJob) reload();
}

// ---- where we are ---------------------------------------------------------------------------------------------------

function show(part) {
  for (const id of ["login", "overview", "job"]) at(id).hidden = id !== part;
  at("logout").hidden = part === "login";
}

function showLogin() {
  events?.close();
  events = null;
  stopLog();
  show("login");
  at("who").textContent = "";
  at("live").textContent = "";
  tell("");
  at("login").elements.user.focus();
}

function route() {
  const match = location.hash.match(/^#\/jobs\/(.+)$/);
  stopLog();
  openJob = match ? decodeURIComponent(match[1]) : null;
  if (!openJob) {
    document.title = "Muster";
    show("overview");
    attempt(async () => {
      await Promise.all([loadJobs(), loadNodes()]);
    });
    return;
  }
  at("log-task").replaceChildren();
  show("job");
  attempt(async () => {
    const job = await loadJob();
    if (!job) return;
    if (isMine(job)) followLog();
    else at("log").textContent = word("notYours");
    at("job-name").tabIndex = -1;
    at("job-name").focus();
  });
}

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
window.addEventListener("hashchange", route);
setInterval(refreshTimes, 1_000);
setInterval(() => {
  if (events && !openJob && !document.hidden) attempt(loadNodes);
}, NODES_MS);
enter();
