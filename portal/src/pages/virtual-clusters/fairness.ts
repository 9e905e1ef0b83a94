import type { Schemas, VirtualCluster } from "@/api/client";

export interface FairnessLine {
  name: string;
  gpuHours: number;
  /** Its part of all GPU hours in the window, from 0 to 1. */
  used: number;
  /** Its part of all guaranteed GPUs, from 0 to 1. */
  promised: number;
  idleGpuHours: number;
  medianWaitS: number | null;
  p95WaitS: number | null;
  jobs: number;
}

/** What virtual clusters got in the window beside what they are promised: those that got most first. */
export function fairness(clusters: readonly VirtualCluster[], report: Schemas["ReportOut"]): FairnessLine[] {
  const lines = new Map(report.items.map((line) => [line.group, line]));
  const promised = clusters.reduce((sum, vc) => sum + vc.guaranteed.gpu, 0);
  const used = clusters.reduce((sum, vc) => sum + (lines.get(vc.name)?.gpuHours ?? 0), 0);
  return clusters
    .map((vc) => {
      const line = lines.get(vc.name);
      return {
        name: vc.name,
        gpuHours: line?.gpuHours ?? 0,
        used: part(line?.gpuHours ?? 0, used),
        promised: part(vc.guaranteed.gpu, promised),
        idleGpuHours: line?.idleGpuHours ?? 0,
        medianWaitS: line?.medianWaitS ?? null,
        p95WaitS: line?.p95WaitS ?? null,
        jobs: line?.jobs ?? 0,
      };
    })
    .sort((one, other) => other.gpuHours - one.gpuHours || one.name.localeCompare(other.name));
}

const part = (amount: number, whole: number): number => (whole > 0 ? amount / whole : 0);
