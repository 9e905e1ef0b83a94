// One machine in the list: its row, its alerts and, if it is expanded, all other details.

import { cardMark, gauge, sparkline, warningGauge } from "./charts.js";
import { amountIn, bytes, bytesOf, cell, cores, make, patch, percent, stateMark, time } from "./elements.js";
import { BRIEF_MS, netRate, Ring, WHOLE_MS } from "./ring.js";
import { word } from "./words.js";

const COLUMNS = ["node", "state", "cpu", "memory", "disk", "network", "gpus", "tasks"];
const SILENT = new Set(["Unreachable", "Joining", "Retired"]);
const celsius = amountIn("°C");
const watts = amountIn("W");
const ALERTS_SHOWN = 3;
const FOUND = "muster/"; // the prefix of labels that say what was found on the node

export class Machine {
  #toggled;
  #number;

  constructor(node, number, toggled) {
    this.ring = new Ring();
    this.isSeen = false;
    this.running = null; // its tasks, while it is expanded
    this.#toggled = toggled;
    this.#number = number;
    this.#build();
    this.show(node);
  }

  get isOpen() {
    return this.opener.getAttribute("aria-expanded") === "true";
  }

  set isOpen(value) {
    this.opener.setAttribute("aria-expanded", String(value));
    this.details.hidden = !value;
    if (value) this.ring.widen();
    this.draw();
  }

  get path() {
    return `/nodes/${encodeURIComponent(this.node.name)}`;
  }

  // Updates what must be right even off the screen: the height of the row, the state and the alerts.
  show(node) {
    this.node = node;
    const className = `machine ${node.state}${SILENT.has(node.state) ? " stale" : ""}`;
    if (this.element.className !== className) this.element.className = className;
    this.opener.textContent = node.name;
    patch(this.where, [node.cluster, node.address], (parts) => parts.filter(Boolean).join(" · "));
    patch(this.cells.state, [node.state, node.since], ([state, since]) => [stateMark(state), sinceWhen(since)]);
    const note = node.state === "Ready" ? "" : node.note;
    this.words.hidden = !note && !node.alerts.length;
    patch(this.words.firstChild, [note, node.alerts], ([about, alerts]) => [...noteLine(about), ...alertLines(alerts)]);
    this.draw();
  }

  // Metrics change all the time, so they are drawn only while the row is on the screen.
  draw() {
    if (!this.isSeen) return;
    const { node, ring } = this;
    const usage = node.usage ?? {};
    this.cells.cpu.replaceChildren(...cpuFigures(node, usage, ring));
    patch(this.cells.memory, [usage.memoryUsedBytes, usage.memoryTotalBytes], (both) => amounts(...both, warningGauge));
    patch(this.cells.disk, [usage.diskUsedBytes, usage.diskTotalBytes], (both) => amounts(...both, warningGauge));
    patch(this.cells.network, [netRate(usage, "rxBytesS"), netRate(usage, "txBytesS")], netFigures);
    patch(this.cells.gpus, [node.gpus, usage.gpus ?? []], ([gpus, loads]) => gpuFigures(gpus, loads));
    patch(this.cells.tasks, node.tasks, String);
    if (this.isOpen) this.#drawDetails(node, usage, ring);
  }

  #build() {
    const id = `machine-${this.#number}`;
    this.opener = make("button", { type: "button", className: "opener" });
    this.opener.setAttribute("aria-expanded", "false");
    this.opener.setAttribute("aria-controls", id);
    this.opener.addEventListener("click", () => {
      this.isOpen = !this.isOpen;
      this.#toggled(this);
    });
    this.where = make("div", { className: "small" });
    this.cells = Object.fromEntries(COLUMNS.map((name) => [name, columnCell(name)]));
    this.cells.node.append(this.opener, this.where);
    this.words = make("tr", { className: "words-row", hidden: true }, wideCell(make("td")));
    this.details = make("tr", { id, className: "details-row", hidden: true }, wideCell(make("td")));
    this.parts = detailParts();
    this.details.firstChild.append(make("div", { className: "details" }, ...Object.values(this.parts)));
    const row = make("tr", {}, ...Object.values(this.cells));
    this.element = withRoles(make("tbody", {}, row, this.words, this.details));
  }

  #drawDetails(node, usage, ring) {
    const { about, charts, cards, tasks, facts } = this.parts;
    const isKnown = Boolean(node.usage) || ring.samples.length > 0;
    about.hidden = isKnown && !SILENT.has(node.state);
    patch(about, isKnown ? "lastHeard" : "nothingHeard", word);
    charts.replaceChildren(...(isKnown ? chartRows(node, usage, ring) : []));
    cards.hidden = !node.gpus.length;
    if (node.gpus.length) cards.replaceChildren(cardTable(node.gpus, usage.gpus ?? [], ring));
    if (this.running) patch(tasks, [this.running, node.tasks], ([running, count]) => taskLines(running, count));
    const { cpu, memory, login, labels, others, partitions } = node;
    const note = node.state === "Ready" ? node.note : ""; // otherwise the note is above
    patch(facts, { cpu, memory, login, labels, others, partitions, note }, factLines);
  }
}

// ---- the row --------------------------------------------------------------------------------------------------------

function columnCell(name) {
  const made = make("td", { className: `col-${name}` });
  made.dataset.label = word(name);
  return made;
}

function wideCell(made) {
  made.colSpan = COLUMNS.length;
  return made;
}

// On a narrow screen the rows are blocks; without these roles a screen reader would not see a table.
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TH: "columnheader", TD: "cell" };

function withRoles(element) {
  for (const one of [element, ...element.querySelectorAll("*")]) {
    if (ROLES[one.tagName]) one.setAttribute("role", ROLES[one.tagName]);
  }
  return element;
}

const small = (...children) => make("div", { className: "small" }, ...children);

function sinceWhen(iso) {
  if (!iso) return [];
  const [before, after] = word("since", { ago: "\n" }).split("\n");
  return small(before, time(iso), after);
}

const noteLine = (note) => (note ? [make("p", { text: note, className: "reason" })] : []);

function alertLines(alerts) {
  const lines = alerts.slice(0, ALERTS_SHOWN).map((alert) => make("p", { text: alert, className: "alert" }));
  const hidden = alerts.slice(ALERTS_SHOWN);
  const text = word("moreAlerts", { n: hidden.length });
  return hidden.length ? [...lines, make("p", { text, title: hidden.join("\n"), className: "alert" })] : lines;
}

function cpuFigures(node, usage, ring) {
  const given = { used: cores(node.cpu.used), total: cores(node.cpu.total) };
  if (!node.usage) return ["-", small(given.total ? word("someGiven", given) : "")];
  const chart = sparkline(ring.points((one) => one.cpu), 100, BRIEF_MS);
  return [make("div", { className: "figure" }, make("span", { text: percent(usage.cpuPercent) }), chart),
    small(given.total ? word("someGiven", given) : "")];
}

function amounts(used, total, chart) {
  return total ? [make("div", { text: word("amount", bytesOf(used, total)) }), chart(used, total)] : ["-"];
}

const rate = (bytesS) => (bytesS === null ? "-" : `${bytes(bytesS)}/s`);

function netFigures([received, sent]) {
  if (received === null) return ["-"];
  const lines = [word("in", { rate: rate(received) }), word("out", { rate: rate(sent) })];
  return lines.map((text) => make("div", { text }));
}

function gpuFigures(gpus, loads) {
  if (!gpus.length) return ["-"];
  const now = new Map(loads.map((load) => [load.index, load]));
  const marks = gpus.map((gpu) => {
    const title = [word("gpuNumber", gpu), percent(now.get(gpu.index)?.load), whoHas(gpu)].join(", ");
    return make("span", { title }, cardMark(now.get(gpu.index)?.load, Boolean(gpu.outOfService)));
  });
  return [make("div", { className: "cards" }, ...marks), small(gpuWords(gpus))];
}

// "A100, 3 of 8 given, 1 out of service"
function gpuWords(gpus) {
  return [[...new Set(gpus.map((gpu) => gpu.model))].join(", "), ...gpuCounts(gpus, "someGiven")].join(", ");
}

export function gpuCounts(gpus, wording) {
  const used = Number(gpus.reduce((sum, gpu) => sum + gpu.used, 0).toFixed(3));
  const out = gpus.filter((gpu) => gpu.outOfService).length;
  return [word(wording, { used, total: gpus.length }), ...(out ? [word("someOut", { n: out })] : [])];
}

// A GPU that is out of service may still belong to a job.
function whoHas(gpu) {
  if (gpu.outOfService) {
    const out = word("outOfService", { why: gpu.outOfService });
    return gpu.job ? word("stillHas", { out, job: gpu.job }) : out;
  }
  if (!gpu.job) return word(gpu.used ? "inUse" : "free");
  return gpu.used < 1 ? word("partOfIt", { job: gpu.job, used: gpu.used }) : gpu.job;
}

// ---- details --------------------------------------------------------------------------------------------------------

function detailParts() {
  return {
    about: make("p", { className: "note" }),
    charts: make("div", { className: "charts" }),
    cards: make("div", { className: "card-list scroll" }),
    tasks: make("div", { className: "task-list" }),
    facts: make("dl", { className: "facts" }),
  };
}

// For a node that does not answer, only its last minutes may be known.
function chartRows(node, usage, ring) {
  const load = usage.load1 === undefined ? "-" : usage.load1.toFixed(2);
  const cpu = word("loadOf", { now: percent(usage.cpuPercent), load });
  const memory = word("amount", bytesOf(usage.memoryUsedBytes, node.memory.total));
  return [
    chartRow(word("cpu"), sparkline(ring.points((one) => one.cpu), 100, WHOLE_MS), cpu),
    chartRow(word("memory"), sparkline(ring.points((one) => one.memory), node.memory.total, WHOLE_MS), memory),
    ...(usage.diskTotalBytes ? [diskRow(usage)] : []),
    netRow("netIn", "in", usage, ring),
    netRow("netOut", "out", usage, ring),
  ];
}

function diskRow({ diskUsedBytes, diskTotalBytes, diskMount }) {
  const amount = word("amount", bytesOf(diskUsedBytes, diskTotalBytes));
  const text = diskMount ? word("diskAt", { amount, mount: diskMount }) : amount;
  return chartRow(word("disk"), warningGauge(diskUsedBytes, diskTotalBytes), text);
}

const FIELDS = { in: "rxBytesS", out: "txBytesS" };

function netRow(label, name, usage, ring) {
  const points = ring.points((one) => one[name]);
  const now = netRate(usage, FIELDS[name]);
  const most = Math.max(now, ...points.map(([, value]) => value ?? 0));
  return chartRow(word(label), sparkline(points, most, WHOLE_MS), word("atMost", { now: rate(now), most: rate(most) }));
}

function chartRow(label, chart, text) {
  const words = [make("span", { text: label, className: "label" }), make("span", { text })];
  return make("div", { className: "chart-row" }, make("div", { className: "bar" }, ...words), chart);
}

function cardTable(gpus, loads, ring) {
  const now = new Map(loads.map((load) => [load.index, load]));
  const names = ["gpu", "model", "load", "memory", "temperature", "power", "who"];
  const heads = names.map((name) => make("th", { text: word(name) }));
  const rows = gpus.map((gpu) => cardRow(gpu, now.get(gpu.index) ?? {}, ring));
  return withRoles(make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows)));
}

function cardRow(gpu, now, ring) {
  const chart = sparkline(ring.points((one) => one.loads.get(gpu.index)), 100, WHOLE_MS);
  const load = make("div", { className: "figure" }, make("span", { text: percent(now.load) }), chart);
  const memory = make("div", {}, ...amounts(now.memoryUsedBytes, now.memoryTotalBytes, gauge));
  return make("tr", {}, cell(word("gpuNumber", gpu)), cell(gpu.model), cell(load), cell(memory), cell(celsius(now.temperatureC)),
    cell(watts(now.powerW)), cell(whoHas(gpu), gpu.outOfService ? "words out" : "words"));
}

function taskLines(running, count) {
  const lines = running.map((task) => {
    const link = make("a", { text: task.task, href: `#/jobs/${encodeURIComponent(task.job)}` });
    return make("li", {}, link, ` ${word("taskOf", task)}`);
  });
  const hidden = count - running.length;
  if (hidden > 0) lines.push(make("li", { text: word("hiddenTasks", { n: hidden }) }));
  const title = make("h3", { text: word("tasks") });
  return [title, lines.length ? make("ul", {}, ...lines) : make("p", { text: word("noTasks"), className: "note" })];
}

function factLines({ cpu, memory, login, labels, others, partitions, note }) {
  const given = word("givenOf", {
    cpu: word("amount", { used: cores(cpu.used), total: cores(cpu.total) }),
    memory: word("amount", bytesOf(memory.used, memory.total)),
  });
  const names = Object.entries(labels);
  const written = names.filter(([key]) => !key.startsWith(FOUND)).map(([key, value]) => `${key}=${value}`);
  const found = names.filter(([key]) => key.startsWith(FOUND)).map(([key, value]) => foundLabel(key, value));
  const theirs = others && word("othersHave", { cpu: cores(others.cpu), memory: bytes(others.memory), gpus: others.gpus });
  const lines = [["given", given], ["byOthers", theirs], ["partitions", partitions.join(", ")], ["loginBy", login],
    ["labels", written.join(", ")], ["foundThere", found.join(", ")],
    ["note", note]];
  return lines.filter(([, text]) => text)
    .map(([label, text]) => make("div", {}, make("dt", { text: word(label) }), make("dd", { text })));
}

function foundLabel(key, value) {
  const name = key.slice(FOUND.length).replace("folder.", "folder ");
  return ["", "yes", "true"].includes(value) ? name : `${name} (${value})`;
}
