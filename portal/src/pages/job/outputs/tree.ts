import type { Schemas } from "@/api/client";

export type Output = Schemas["OutputOut"];

/** What a folder of the outputs holds: folders with the sum of what is in them, and files. */
export interface Folder {
  folders: { name: string; path: string; files: number; size: number }[];
  files: { name: string; output: Output }[];
}

export function folderAt(outputs: Output[], path: string): Folder {
  const prefix = path ? `${path}/` : "";
  const folders = new Map<string, { files: number; size: number }>();
  const files: Folder["files"] = [];
  for (const output of outputs) {
    if (!output.path.startsWith(prefix)) continue;
    const rest = output.path.slice(prefix.length);
    const cut = rest.indexOf("/");
    if (cut < 0) {
      files.push({ name: rest, output });
      continue;
    }
    const name = rest.slice(0, cut);
    const sum = folders.get(name) ?? { files: 0, size: 0 };
    folders.set(name, { files: sum.files + 1, size: sum.size + output.size });
  }
  const byName = (a: { name: string }, b: { name: string }) =>
    a.name.localeCompare(b.name, undefined, { numeric: true });
  return {
    folders: [...folders].map(([name, sum]) => ({ name, path: prefix + name, ...sum })).sort(byName),
    files: files.sort(byName),
  };
}

/** The address of a file; each part of its path is quoted, so that no name changes where it leads. */
export const outputAddress = (ref: string, path: string, attempt: number): string =>
  `/api/v1/jobs/${encodeURIComponent(ref)}/outputs/${path.split("/").map(encodeURIComponent).join("/")}?attempt=${attempt}`;
