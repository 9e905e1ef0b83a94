// The list of all machines that the user may see, with their states, usage and alerts.
//
// The list is loaded as a whole; recent metrics and tasks are loaded only for machines on the screen.

import { at, make, stateMark } from "./elements.js";
import { gpuCounts, Machine } from "./machine.js";
import { call, coalesced, Refused } from "./server.js";
import { word } from "./words.js";

const RANKS = ["Unreachable", "Draining", "Cordoned", "Joining", "Retired", "Ready"]; // machines that need attention come first
const ALERTING = "alerts"; // a filter besides the states
const OPEN_AT_FIRST = 2; // up to this many machines are expanded at first
const SEEN_MS = 100;

const machines = new Map(); // by cluster and name
const chips = new Map(); // by state
const byName = new Intl.Collator(undefined, { numeric: true });
let chosenState = "";
let made = 0;
let isFirst = true;
let attempt; // runs an action that calls the server, and shows its error

export function startMachines(attempting) {
  attempt = attempting;
  at("machines-cluster").addEventListener("change", filterChanged);
  at("machines-filter").addEventListener("input", filterChanged);
  at("machines-open").addEventListener("click", openAll);
}

// Another user may see other machines.
export function forgetMachines() {
  for (const key of [...machines.keys()]) remove(key);
  isFirst = true;
}

export async function loadMachines() {
  const { items } = await call("/nodes");
  take(items);
  arrange();
  await loadSeen();
}

// The summary of all nodes on the front page.
export function nodesLine(nodes) {
  const link = make("a", { text: number(nodes.length), href: "#/nodes" });
  const parts = [...counts(nodes)].map(([state, count]) => make("span", {}, `${count} `, stateMark(state)));
  const gpus = nodes.flatMap((node) => node.gpus);
  return [link, ...parts, make("span", { text: gpuLine(gpus) })];
}

const keyOf = (node) => `${node.cluster}/${node.name}`;
const number = (n) => (n === 1 ? word("oneNode") : word("nodesNumber", { n }));
const gpuLine = (gpus) => (gpus.length ? gpuCounts(gpus, "gpusGiven").join(", ") : "");
const all = () => [...machines.values()];

// ---- the list -------------------------------------------------------------------------------------------------------

function take(nodes) {
  const here = new Set(nodes.map(keyOf));
  for (const key of [...machines.keys()]) if (!here.has(key)) remove(key);
  for (const node of nodes) {
    const known = machines.get(keyOf(node));
    if (known) known.show(node);
    else add(node, isFirst && nodes.length <= OPEN_AT_FIRST);
  }
  isFirst = false;
}

function add(node, isOpen) {
  const machine = new Machine(node, (made += 1), toggled);
  machines.set(keyOf(node), machine);
  machine.isOpen = isOpen;
  machine.element.dataset.key = keyOf(node);
  observer.observe(machine.element);
}

function remove(key) {
  const machine = machines.get(key);
  observer.unobserve(machine.element);
  machine.element.remove();
  machines.delete(key);
}

// Shows the machines that match, in order. Moves only the rows that must move, and keeps the keyboard focus.
function arrange() {
  offerClusters();
  const within = all().filter(({ node }) => matchesRest(node));
  const wanted = within.filter(({ node }) => matchesState(node)).sort(inOrder).map((machine) => machine.element);
  const table = at("machines-table");
  if (wanted.some((element, index) => table.tBodies[index] !== element) || table.tBodies.length !== wanted.length) {
    const focused = document.activeElement;
    for (const element of [...table.tBodies]) if (!wanted.includes(element)) element.remove();
    wanted.forEach((element, index) => {
      if (table.tBodies[index] !== element) table.insertBefore(element, table.tBodies[index] ?? null);
    });
    if (focused?.isConnected && table.contains(focused)) focused.focus({ preventScroll: true });
  }
  table.hidden = !wanted.length;
  at("machines-note").textContent = wanted.length ? "" : word(machines.size ? "noNodeMatches" : "noNodes");
  at("machines-open").hidden = !wanted.length;
  at("machines-states").hidden = !machines.size;
  nameOpenAll();
  showCounts(within.map(({ node }) => node));
}

const rankOf = ({ state, alerts }) => 2 * RANKS.indexOf(state) + (alerts.length ? 0 : 1);

function inOrder({ node: a }, { node: b }) {
  return rankOf(a) - rankOf(b) || byName.compare(a.cluster, b.cluster) || byName.compare(a.name, b.name);
}

const shownMachines = () => all().filter((machine) => machine.element.isConnected);

function nameOpenAll() {
  at("machines-open").textContent = word(shownMachines().some((machine) => machine.isOpen) ? "closeAll" : "openAll");
}

function toggled() {
  nameOpenAll();
  seenChanged();
}

function openAll() {
  const isOpen = !shownMachines().some((machine) => machine.isOpen);
  for (const machine of shownMachines()) machine.isOpen = isOpen;
  toggled();
}

// ---- filters --------------------------------------------------------------------------------------------------------

// The address contains the filter, so that it can be shared and bookmarked.
export function filterBy(query) {
  chosenState = query.get("state") ?? "";
  at("machines-filter").value = query.get("text") ?? "";
  setCluster(query.get("cluster") ?? "");
}

function setCluster(name) {
  const select = at("machines-cluster");
  const isOffered = [...select.options].some((option) => option.value === name);
  if (!isOffered) select.append(make("option", { text: name || word("every"), value: name }));
  select.value = name;
}

function filterChanged() {
  const query = new URLSearchParams();
  const text = at("machines-filter").value.trim();
  const values = { cluster: at("machines-cluster").value, state: chosenState, text };
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, value);
  history.replaceState(null, "", `#/nodes${query.size ? `?${query}` : ""}`);
  arrange();
}

function matchesRest(node) {
  const cluster = at("machines-cluster").value;
  const text = at("machines-filter").value.trim().toLowerCase();
  const words = [node.name, node.address, ...node.gpus.flatMap((gpu) => [gpu.model, gpu.job ?? ""])];
  return (!cluster || node.cluster === cluster) && words.some((one) => one.toLowerCase().includes(text));
}

function matchesState(node) {
  if (chosenState === ALERTING) return node.alerts.length > 0;
  return !chosenState || node.state === chosenState;
}

function offerClusters() {
  const select = at("machines-cluster");
  const names = [...new Set(all().map(({ node }) => node.cluster))].sort(byName.compare);
  const chosen = select.value;
  if (chosen && !names.includes(chosen)) names.push(chosen);
  if (["", ...names].join() === [...select.options].map((option) => option.value).join()) return;
  const options = names.map((name) => make("option", { text: name, value: name }));
  select.replaceChildren(make("option", { text: word("every"), value: "" }), ...options);
  select.value = chosen;
}

function counts(nodes) {
  const found = new Map(RANKS.map((state) => [state, 0]));
  for (const { state } of nodes) found.set(state, (found.get(state) ?? 0) + 1);
  return [...found].filter(([, count]) => count);
}

// A button for each state with its number of nodes, which also filters by that state.
function showCounts(nodes) {
  const alerting = nodes.filter((node) => node.alerts.length).length;
  const found = new Map([["", nodes.length], ...counts(nodes), ...(alerting ? [[ALERTING, alerting]] : [])]);
  if (chosenState && !found.has(chosenState)) found.set(chosenState, 0);
  for (const [state, chip] of chips) if (!found.has(state)) chips.delete(state) && chip.remove();
  for (const [state, count] of found) {
    const chip = chips.get(state) ?? newChip(state);
    const text = `${count} `;
    if (chip.firstChild.textContent !== text) chip.firstChild.textContent = text;
    chip.setAttribute("aria-pressed", String(state === chosenState));
  }
  const gpus = nodes.flatMap((node) => node.gpus);
  at("machines-sum").textContent = gpuLine(gpus);
}

function newChip(state) {
  const chip = make("button", { type: "button" }, make("span"), chipName(state));
  chip.dataset.state = state;
  chip.addEventListener("click", () => {
    chosenState = state === chosenState ? "" : state;
    filterChanged();
  });
  chips.set(state, chip);
  const order = ["", ...RANKS, ALERTING];
  const later = order.slice(order.indexOf(state) + 1);
  const next = [...at("machines-states").children].find((other) => later.includes(other.dataset.state));
  at("machines-states").insertBefore(chip, next ?? null);
  return chip;
}

function chipName(state) {
  if (state === ALERTING) return make("span", { text: word("alerting"), className: "alert" });
  return state ? stateMark(state) : word("every");
}

// ---- visible machines ------------------------------------------------------------------------------------------------

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const machine = machines.get(target.dataset.key);
      if (!machine) continue;
      machine.isSeen = isIntersecting;
      machine.draw();
    }
    seenChanged();
  },
  { rootMargin: "100px" },
);

const seenChanged = coalesced(() => attempt(loadSeen), SEEN_MS);

async function loadSeen() {
  const seen = all().filter((machine) => machine.isSeen && !machine.isUnmetered);
  if (document.hidden) return;
  await Promise.all(seen.map(loadMachine));
}

async function loadMachine(machine) {
  const { cluster } = machine.node;
  const { since } = machine.ring;
  const query = new URLSearchParams({ cluster, since });
  try {
    const [recent, detail] = await Promise.all([
      call(`${machine.path}/usage?${query}`),
      machine.isOpen ? call(`${machine.path}?${new URLSearchParams({ cluster })}`) : null,
    ]);
    machine.ring.add(recent.items, since);
    if (detail) machine.running = detail.running;
    machine.draw();
  } catch (error) {
    if (!(error instanceof Refused) || ![404, 501].includes(error.status)) throw error; // 404: the node has just been removed
    machine.isUnmetered = error.status === 501; // its cluster offers no metrics, and is not asked again
  }
}
