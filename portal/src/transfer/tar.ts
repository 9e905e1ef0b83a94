/** A file or folder of an archive. A folder has no content. */
export interface TarEntry {
  path: string;
  content: Blob | null;
  isExecutable?: boolean;
}

const BLOCK = 512;
const encoder = new TextEncoder();

/**
 * The parts of a tar archive, as the command line writes it: owners and times are zero, so that the same files give the
 * same archive. Names that an old header cannot hold stand in a pax header before it.
 */
export function* tarParts(entries: Iterable<TarEntry>): Generator<Uint8Array<ArrayBuffer> | Blob> {
  for (const entry of entries) {
    const name = encoder.encode(entry.content ? entry.path : `${entry.path}/`);
    if (name.length > 100 || name.some((byte) => byte > 0x7e)) yield* paxHead(name);
    const mode = entry.content && !entry.isExecutable ? 0o644 : 0o755;
    yield head(name.subarray(0, 100), entry.content?.size ?? 0, mode, entry.content ? "0" : "5");
    if (entry.content) {
      yield entry.content;
      yield padding(entry.content.size);
    }
  }
  yield new Uint8Array(2 * BLOCK);
}

function* paxHead(name: Uint8Array): Generator<Uint8Array<ArrayBuffer>> {
  const rest = ` path=${new TextDecoder().decode(name)}\n`;
  const bytes = encoder.encode(rest).length;
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length = String(length).length + bytes;
  const record = encoder.encode(`${length}${rest}`);
  yield head(encoder.encode("././@PaxHeader"), record.length, 0o644, "x");
  yield record;
  yield padding(record.length);
}

function head(name: Uint8Array, size: number, mode: number, type: string): Uint8Array<ArrayBuffer> {
  const block = new Uint8Array(BLOCK);
  const write = (at: number, text: string) => block.set(encoder.encode(text), at);
  block.set(name, 0);
  write(100, octal(mode, 8));
  write(108, octal(0, 8));
  write(116, octal(0, 8));
  write(124, octal(size, 12));
  write(136, octal(0, 12));
  write(148, "        ");
  write(156, type);
  write(257, "ustar\u000000");
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(148, `${octal(sum, 7)}\u0000 `);
  return block;
}

const octal = (value: number, width: number): string => value.toString(8).padStart(width - 1, "0");
const padding = (size: number): Uint8Array<ArrayBuffer> => new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
