/**
 * SHA-256 of bytes that arrive in pieces. The browser's own knows only whole buffers, and is missing where the server is
 * reached without TLS.
 */
export class Sha256 {
  private readonly state = new Uint32Array(FIRST);
  private readonly block = new Uint8Array(64);
  private readonly words = new Uint32Array(64);
  private filled = 0;
  private length = 0;

  update(bytes: Uint8Array): this {
    this.length += bytes.length;
    let at = 0;
    if (this.filled > 0) {
      at = Math.min(64 - this.filled, bytes.length);
      this.block.set(bytes.subarray(0, at), this.filled);
      this.filled += at;
      if (this.filled < 64) return this;
      this.mix(this.block, 0);
      this.filled = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.mix(bytes, at);
    this.block.set(bytes.subarray(at));
    this.filled = bytes.length - at;
    return this;
  }

  /** The digest in hexadecimal digits. Nothing can be added afterwards. */
  digest(): string {
    const bits = this.length * 8;
    const end = new Uint8Array(this.filled < 56 ? 64 - this.filled : 128 - this.filled);
    end[0] = 0x80;
    const view = new DataView(end.buffer);
    view.setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(end.length - 4, bits >>> 0);
    this.update(end);
    return Array.from(this.state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  private mix(bytes: Uint8Array, from: number): void {
    const { state, words } = this;
    for (let i = 0, at = from; i < 16; i += 1, at += 4) {
      words[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
    }
    for (let i = 16; i < 64; i += 1) {
      const [early, late] = [words[i - 15]!, words[i - 2]!];
      const one = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
      const two = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
      words[i] = (words[i - 16]! + one + words[i - 7]! + two) | 0;
    }
    let a = state[0]!;
    let b = state[1]!;
    let c = state[2]!;
    let d = state[3]!;
    let e = state[4]!;
    let f = state[5]!;
    let g = state[6]!;
    let h = state[7]!;
    for (let i = 0; i < 64; i += 1) {
      const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + high + ((e & f) ^ (~e & g)) + ROUNDS[i]! + words[i]!) | 0;
      const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    const mixed = [a, b, c, d, e, f, g, h];
    for (let i = 0; i < 8; i += 1) state[i] = state[i]! + mixed[i]!;
  }
}

/** The first 32 bits of the fractional part of the root of each of the first primes. */
function fractions(count: number, root: (prime: number) => number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes.map((prime) => Math.floor((root(prime) % 1) * 2 ** 32));
}

const FIRST = fractions(8, Math.sqrt);
const ROUNDS = new Uint32Array(fractions(64, Math.cbrt));

const PIECE_BYTES = 2 << 20;

/** The digest of a file or blob, which is read in pieces so that the page stays alive. */
export async function digestOf(
  content: Blob,
  signal: AbortSignal,
  tell: (bytes: number) => void = () => undefined,
): Promise<string> {
  const sum = new Sha256();
  for (let at = 0; at < content.size; at += PIECE_BYTES) {
    signal.throwIfAborted();
    sum.update(new Uint8Array(await content.slice(at, at + PIECE_BYTES).arrayBuffer()));
    tell(Math.min(at + PIECE_BYTES, content.size));
  }
  return sum.digest();
}
