import type { ChosenFile } from "./packing";

/** The files of a folder that was chosen in a dialog, by their paths in it. */
export const chosenInDialog = (files: Iterable<File>): ChosenFile[] =>
  [...files].map((file) => ({ path: file.webkitRelativePath.split("/").slice(1).join("/") || file.name, file }));

/** The files that were dropped on the page. Folders are read with all that is in them; one folder alone is the root. */
export async function chosenByDrop(data: DataTransfer): Promise<ChosenFile[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const only = entries.length === 1 ? entries[0] : undefined;
  const isRoot = only?.isDirectory ?? false;
  const found = await Promise.all(entries.map((entry) => filesBelow(entry, isRoot ? "" : entry.name)));
  return found.flat();
}

async function filesBelow(entry: FileSystemEntry, path: string): Promise<ChosenFile[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  const found: ChosenFile[] = [];
  for (const child of await childrenOf(entry as FileSystemDirectoryEntry)) {
    found.push(...(await filesBelow(child, path ? `${path}/${child.name}` : child.name)));
  }
  return found;
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

/** A reader gives a part of the entries with each call, and none after the last. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}
