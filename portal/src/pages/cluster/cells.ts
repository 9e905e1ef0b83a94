import type { Node, Schemas } from "@/api/client";

export type Gpu = Schemas["GpuOut"];
export type Colouring = "load" | "owner" | "health";

export const COLOURINGS: Colouring[] = ["load", "owner", "health"];

/** What a cell of the heat map shows: a class of colour, and a letter, because colour alone never says it. */
export interface Cell {
  tone: string;
  letter: string;
}

interface GpuUsage {
  index: number;
  load?: number | null;
  memoryUsedBytes?: number | null;
  memoryTotalBytes?: number | null;
  temperatureC?: number | null;
  powerW?: number | null;
}

const OWNER_TONES = 8;

export const gpuUsage = (node: Node, index: number): GpuUsage | undefined =>
  ((node.usage?.gpus ?? []) as GpuUsage[]).find((gpu) => gpu.index === index);

/** The step of the colour scale for a load in percent. */
export const loadTone = (load: number): string => `load-${load < 5 ? 0 : Math.min(4, Math.ceil(load / 25))}`;

/** The same owner has the same tone on every page. */
export function ownerTone(owner: string): string {
  let sum = 0;
  for (const letter of owner) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  return `owner-${sum % OWNER_TONES}`;
}

export const isHeld = (gpu: Gpu): boolean => gpu.used > 0;

export function cellOf(node: Node, gpu: Gpu, colouring: Colouring): Cell {
  if (gpu.outOfService) return { tone: "sick", letter: "×" };
  if (node.state === "Unreachable") return { tone: "away", letter: "?" };
  if (colouring === "health") return { tone: isHeld(gpu) ? "held" : "free", letter: "" };
  if (colouring === "owner") {
    if (!isHeld(gpu)) return { tone: "free", letter: "" };
    return gpu.owner ? { tone: ownerTone(gpu.owner), letter: gpu.owner.charAt(0) } : { tone: "held", letter: "•" };
  }
  const load = gpuUsage(node, gpu.index)?.load;
  if (load === undefined || load === null)
    return { tone: isHeld(gpu) ? "held" : "free", letter: isHeld(gpu) ? "•" : "" };
  if (isHeld(gpu) && load < 5) return { tone: "idle", letter: "!" };
  return { tone: isHeld(gpu) ? loadTone(load) : "free", letter: "" };
}

export interface Totals {
  used: number;
  healthy: number;
  total: number;
}

/** Counted like the API counts: a GPU that is out of service or on a node that does not answer is not healthy. */
export function totalsOf(nodes: Node[]): Totals {
  const totals = { used: 0, healthy: 0, total: 0 };
  for (const node of nodes) {
    for (const gpu of node.gpus) {
      totals.total += 1;
      if (!gpu.outOfService && node.state !== "Unreachable") totals.healthy += 1;
      totals.used += gpu.used;
    }
  }
  return totals;
}

/** How many nodes have how many free GPUs: what a job with so many GPUs on one node can hope for. */
export function freeHistogram(nodes: Node[]): number[] {
  const counts: number[] = [];
  for (const node of nodes) {
    if (node.state !== "Ready" || node.gpus.length === 0) continue;
    const free = node.gpus.filter((gpu) => !isHeld(gpu) && !gpu.outOfService).length;
    while (counts.length <= free) counts.push(0);
    counts[free] = (counts[free] ?? 0) + 1;
  }
  return counts;
}

export interface Rack {
  name: string;
  nodes: Node[];
}

/** Nodes by their label `rack`, or by cluster where they have none. */
export function racksOf(nodes: Node[]): Rack[] {
  const racks = new Map<string, Node[]>();
  for (const node of nodes) {
    const rack = node.labels.rack;
    const name = rack ? `${node.cluster} · ${rack}` : node.cluster;
    const found = racks.get(name);
    if (found) found.push(node);
    else racks.set(name, [node]);
  }
  return [...racks].map(([name, members]) => ({ name, nodes: members }));
}

export interface ClusterView {
  cluster?: string;
  model?: string;
  state?: string;
  text?: string;
  by?: Colouring;
}

export function readClusterView(search: Record<string, unknown>): ClusterView {
  const view: ClusterView = {};
  for (const key of ["cluster", "model", "state", "text"] as const) {
    const value = search[key];
    if (typeof value === "string" && value) view[key] = value;
  }
  const by = COLOURINGS.find((each) => each === search.by);
  if (by) view.by = by;
  return view;
}

export function matches(node: Node, view: ClusterView): boolean {
  if (view.cluster && node.cluster !== view.cluster) return false;
  if (view.model && !node.gpus.some((gpu) => gpu.model === view.model)) return false;
  if (view.state === "alerts" ? node.alerts.length === 0 : view.state && node.state !== view.state) return false;
  if (!view.text) return true;
  const text = view.text.toLowerCase();
  const words = [node.name, node.address, ...Object.entries(node.labels).map(([key, value]) => `${key}=${value}`)];
  const held = node.gpus.flatMap((gpu) => [gpu.job ?? "", gpu.owner ?? ""]);
  return [...words, ...held].some((word) => word.toLowerCase().includes(text));
}
