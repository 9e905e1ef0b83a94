import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What Vite writes about a build: for each module that is loaded by itself, its file and the files that it needs. */
export type Manifest = Record<string, ManifestEntry>;

interface ManifestEntry {
  file: string;
  imports?: string[];
}

export const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, ".vite/manifest.json"), "utf8")) as Manifest;

/** The file of an entry, and those of all that it imports at once. */
export function filesOf(manifest: Manifest, entry: ManifestEntry): string[] {
  const found = new Set<string>();
  const visit = (each: ManifestEntry | undefined): void => {
    if (!each || found.has(each.file)) return;
    found.add(each.file);
    each.imports?.forEach((name) => visit(manifest[name]));
  };
  visit(entry);
  return [...found];
}

/** What a browser loads whatever page it opens, which the page itself says. */
export function firstPageFiles(folder: string): string[] {
  const page = readFileSync(join(folder, "index.html"), "utf8");
  return [...page.matchAll(/"\/portal\/(assets\/[^"]+)"/g)].map(([, file]) => file!);
}
