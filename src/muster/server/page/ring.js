// The recent samples of one node. Only new samples are requested from the server.

export const BRIEF_MS = 120_000; // the span of a row
export const WHOLE_MS = 300_000; // the span of an expanded machine; the server keeps no more

export class Ring {
  #last = null;
  #spanMs = BRIEF_MS;
  samples = [];

  get since() {
    return this.#last ?? `${this.#spanMs / 1000}s`;
  }

  // Extends the span, so that the next request loads all of it again.
  widen() {
    if (this.#spanMs === WHOLE_MS) return;
    this.#spanMs = WHOLE_MS;
    this.#last = null;
  }

  // `asked` is the `since` of the request. Requests may overlap, and the span may have changed in the meantime.
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

// The sum over all network interfaces.
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
