import type { Schemas } from "@/api/client";
import type { Series } from "@/parts/charts/series";

export type TaskHistory = Schemas["TaskHistoryOut"];
export type Metric = "cpu" | "memory" | "gpu" | "gpuMemory" | "power";
export type Values = (number | null)[];

/** One line of a chart. */
export interface Line {
  name: string;
  at: number[];
  values: Values;
}

export const METRICS: Metric[] = ["gpu", "gpuMemory", "cpu", "memory", "power"];
const GPU_METRICS: Metric[] = ["gpu", "gpuMemory", "power"];
export const isOfGpu = (metric: Metric): boolean => GPU_METRICS.includes(metric);

/** CPU in cores, amounts in bytes, load in percent, power in watts. */
const OF_TASK: Record<Metric, (task: TaskHistory) => Values> = {
  cpu: (task) => task.cpuPercent.map((percent) => (percent === null ? null : percent / 100)),
  memory: (task) => task.rssBytes,
  gpu: (task) => task.gpuPercent,
  gpuMemory: (task) => task.gpuMemoryBytes,
  power: (task) => task.powerW,
};
const OF_CARD: Partial<Record<Metric, (card: TaskHistory["gpus"][number]) => Values>> = {
  gpu: (card) => card.percent,
  gpuMemory: (card) => card.memoryBytes,
  power: (card) => card.powerW,
};

/** A line for each task; of a single task with several GPUs, one for each of them. */
export function linesOf(tasks: TaskHistory[], metric: Metric): Line[] {
  const [only] = tasks;
  const ofCard = OF_CARD[metric];
  if (tasks.length === 1 && only && ofCard && only.gpus.length > 1) {
    const at = timesOf(only);
    return only.gpus.map((card) => ({ name: `GPU ${card.index}`, at, values: ofCard(card) })).filter(hasValues);
  }
  return tasks
    .map((task) => ({ name: task.worker, at: timesOf(task), values: OF_TASK[metric](task) }))
    .filter(hasValues);
}

const timesOf = (task: TaskHistory): number[] => task.at.map((at) => Date.parse(at) / 1000);
const hasValues = (line: Line): boolean => line.values.some((value) => value !== null);

/**
 * The lines on one axis of time, as charts need them. Samples of different tasks that are less than a second apart
 * share a place; where a line has no sample it has `undefined`, which is drawn through, and a gap is null.
 */
export function aligned(lines: Line[]): { times: number[]; series: Series[] } {
  const times = [...new Set(lines.flatMap((line) => line.at.map(Math.round)))].sort((a, b) => a - b);
  const places = new Map(times.map((time, index) => [time, index]));
  const series = lines.map((line) => {
    const values = new Array<number | null | undefined>(times.length).fill(undefined);
    line.at.forEach((at, index) => {
      values[places.get(Math.round(at))!] = line.values[index] ?? null;
    });
    return { label: line.name, values };
  });
  return { times, series };
}
