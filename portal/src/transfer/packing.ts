import { IgnoreRules, RULE_FILES } from "./ignore";
import { digestOf } from "./sha256";
import { tarParts, type TarEntry } from "./tar";

export const PACKAGE_LIMIT_BYTES = 2 ** 30;

/** A file of a chosen folder; `path` is relative to the folder. */
export interface ChosenFile {
  path: string;
  file: File;
}

export interface Packed {
  archive: Blob;
  digest: string;
}

/** The files of a folder that are sent: without those that its files of rules leave out. */
export async function filesToSend(chosen: readonly ChosenFile[]): Promise<ChosenFile[]> {
  const lines = new Map<string, string[]>();
  for (const name of RULE_FILES) {
    for (const { path, file } of chosen) {
      if (path !== name && !path.endsWith(`/${name}`)) continue;
      const folder = path.slice(0, Math.max(path.length - name.length - 1, 0));
      lines.set(folder, [...(lines.get(folder) ?? []), ...(await file.text()).split("\n")]);
    }
  }
  const rules = new IgnoreRules(lines);
  return chosen.filter(({ path }) => !rules.leavesOut(path)).sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Packs the files as the command line packs a folder, in the memory of the browser. */
export async function packed(
  files: readonly ChosenFile[],
  signal: AbortSignal,
  tell: (bytes: number) => void,
): Promise<Packed> {
  const bytes = bytesOf(tarParts(await entriesOf(files)), tell);
  const tar = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      signal.throwIfAborted();
      const next = await bytes.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
  });
  const archive = await new Response(tar.pipeThrough(new CompressionStream("gzip"), { signal })).blob();
  return { archive, digest: await digestOf(archive, signal) };
}

/** What is packed is read in pieces, as fast as it is compressed. */
async function* bytesOf(
  parts: Iterable<Uint8Array<ArrayBuffer> | Blob>,
  tell: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let done = 0;
  for (const part of parts) {
    if (!(part instanceof Blob)) yield part;
    else {
      for (let at = 0; at < part.size; at += READ_BYTES) {
        yield new Uint8Array(await part.slice(at, at + READ_BYTES).arrayBuffer());
        tell(done + Math.min(at + READ_BYTES, part.size));
      }
      done += part.size;
    }
  }
}

const READ_BYTES = 1 << 20;

/** Every folder stands before what is in it. A browser does not know modes: a file that names its program can be run. */
async function entriesOf(files: readonly ChosenFile[]): Promise<TarEntry[]> {
  const entries: TarEntry[] = [];
  const folders = new Set<string>();
  for (const { path, file } of files) {
    const parts = path.split("/");
    for (let depth = 1; depth < parts.length; depth += 1) {
      const folder = parts.slice(0, depth).join("/");
      if (!folders.has(folder)) entries.push({ path: folder, content: null });
      folders.add(folder);
    }
    const isExecutable = (await file.slice(0, 2).text()) === "#!";
    entries.push({ path, content: file, isExecutable });
  }
  return entries;
}
