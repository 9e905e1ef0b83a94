import { quoted } from "@/parts/Command";

/** What the address of the files page says: which folder of which cluster is shown. */
export interface FilesView {
  cluster?: string;
  path?: string;
  /** Where each node has its own files. */
  node?: string;
  /** The file of the folder that is open. */
  open?: string;
}

const KEYS = ["cluster", "path", "node", "open"] as const;

export function readFilesView(search: Record<string, unknown>): FilesView {
  const view: FilesView = {};
  for (const key of KEYS) {
    const value = typeof search[key] === "number" ? String(search[key]) : search[key];
    if (typeof value === "string" && value) view[key] = value;
  }
  return view;
}

/** A place on a cluster. */
export interface Place {
  cluster: string;
  path: string;
  node?: string | undefined;
}

export const joined = (folder: string, name: string): string =>
  folder ? `${folder.replace(/\/+$/, "")}/${name}` : name;

/** As the command line writes it: `lab:data/x`, or `lab/gpu1:scratch/x`. */
export const remote = ({ cluster, path, node }: Place): string =>
  quoted(`${node ? `${cluster}/${node}` : cluster}:${path}`);

/** The address from which the browser itself fetches a file. */
export function contentAddress({ cluster, path, node }: Place): string {
  const query = new URLSearchParams({ path, ...(node ? { node } : {}) });
  return `/api/v1/clusters/${encodeURIComponent(cluster)}/files/content?${query.toString()}`;
}

/** The folders above a path, outermost first, each with its name. */
export function crumbsOf(path: string): { name: string; path: string }[] {
  const parts = path.split("/").filter(Boolean);
  return parts.map((name, index) => ({ name, path: parts.slice(0, index + 1).join("/") }));
}

const PICTURES = /\.(png|jpe?g|gif|webp|bmp)$/i;
export const EDIT_LIMIT_BYTES = 256 << 10;

export type Preview = "picture" | "text" | "none";

/** How a file can be shown. Whether it is text shows only when it is read. */
export function previewOf(name: string, size: number): Preview {
  if (PICTURES.test(name)) return "picture";
  return size <= EDIT_LIMIT_BYTES ? "text" : "none";
}

/** The text of bytes, or null if they are none. */
export function textOf(bytes: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\u0000") ? null : text;
  } catch {
    return null;
  }
}
