// The last minutes of one node, as far as they were asked for: only what is new is asked again.

export const BRIEF_MS = 120_000; // of a row
export const WHOLE_MS = 300_000; // of a machine that is open; the server keeps no more

export class Ring {
  #last = null;
  #spanMs = BRIEF_MS;
  samples = [];

  get since() {
    return this.#last ?? `${this.#spanMs / 1000}s`;
  }

  // More of the past is wanted from now on: it is asked for once more.
  widen() {
    if (this.#spanMs === WHOLE_MS) return;
    this.#spanMs = WHOLE_MS;
    this.#last = null;
  }

  // `asked` is the `since` that this answers. Two may ask at a time, and what is wanted may have changed meanwhile.
  add(items, asked) {
    if (!items.length || asked !== this.since) return;
    this.samples = [...(this.#last ? this.samples : []), ...items.map(sample)];
    this.#last = items[items.length - 1].at;
    const oldest = this.samples[this.samples.length - 1].when - WHOLE_MS;
    this.samples = this.samples.filter(({ when }) => when >= oldest);
  }

  points(value) {
    return this.samples.map((one) => [one.when, value(one) ?? null]);
  }
}

// Of all links together.
export function netRate(usage, name) {
  return usage.net?.length ? usage.net.reduce((sum, link) => sum + (link[name] || 0), 0) : null;
}

function sample(item) {
  return {
    when: Date.parse(item.at),
    cpu: item.cpuPercent,
    memory: item.memoryUsedBytes,
    in: netRate(item, "rxBytesS"),
    out: netRate(item, "txBytesS"),
    loads: new Map(item.gpus.map((gpu) => [gpu.index, gpu.load])),
  };
}
