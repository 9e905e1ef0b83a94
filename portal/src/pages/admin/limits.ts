import type { Schemas } from "@/api/client";
import { bytesText, numberText } from "@/parts/amounts";
import { named, type Language } from "@/words/language";
import type { Words } from "@/words/shape";

/** What is limited. `tasksPerNode/lab` is the limit of one cluster. */
export function limitName(words: Words, kind: string): string {
  const [name = "", cluster] = kind.split("/");
  const shown = named(words.admin.kinds, name);
  return cluster ? `${shown} · ${cluster}` : shown;
}

/** What is used of the limit, and the limit. */
export function limitAmounts(language: Language, quota: Pick<Schemas["QuotaOut"], "kind" | "used" | "limit">): string {
  const write = quota.kind.endsWith("Bytes") ? bytesText : (n: number) => numberText(language, n);
  return `${write(quota.used)} / ${write(quota.limit)}`;
}

/** The cluster file that describes the cluster, or has the name of the virtual cluster, as most are called. */
export const fileOf = (place: string, files: readonly Schemas["ClusterFileOut"][]): string | undefined =>
  files.find(({ name, clusters }) => clusters.includes(place) || name === `${place}.yaml` || name === `${place}.yml`)
    ?.name;
