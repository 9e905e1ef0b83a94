import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { LiveHub, type FromHub } from "@/api/liveHub";
import { ServerEvents } from "@/api/serverEvents";

/** A server whose streams are open until a test ends them. */
class StreamingServer {
  asked: URL[] = [];
  refusal: Response | null = null;
  private writers: ReadableStreamDefaultController<Uint8Array>[] = [];

  fetch = (address: string, { signal }: RequestInit = {}): Promise<Response> => {
    this.asked.push(new URL(address, "http://muster"));
    if (this.refusal) return Promise.resolve(this.refusal.clone());
    const body = new ReadableStream<Uint8Array>({
      start: (writer) => {
        this.writers.push(writer);
        signal?.addEventListener("abort", () => {
          this.writers.splice(this.writers.indexOf(writer), 1);
          writer.error(new Error("aborted"));
        });
      },
    });
    return Promise.resolve(new Response(body));
  };

  get open(): number {
    return this.writers.length;
  }

  send(text: string): void {
    this.writers.at(-1)!.enqueue(new TextEncoder().encode(text));
  }

  cut(): void {
    this.writers.splice(0).forEach((writer) => writer.error(new Error("cut")));
  }
}

class Window {
  told: FromHub[] = [];
  tell = (message: FromHub) => void this.told.push(message);
  get froms(): (number | null)[] {
    return this.told.flatMap((message) => (message.kind === "live" ? [message.from] : []));
  }
  get events(): string[] {
    return this.told.flatMap((message) => (message.kind === "event" ? [message.event] : []));
  }
}

const ready = (seq: number) => `event: ready\ndata: {"seq":${seq},"at":"","missing":[]}\nid: ${seq}\n\n`;

describe("the stream of all windows", () => {
  let server: StreamingServer;
  const pass = (ms = 100) => vi.advanceTimersByTimeAsync(ms);
  beforeEach(() => {
    vi.useFakeTimers();
    server = new StreamingServer();
    vi.stubGlobal("fetch", server.fetch);
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("is one, with the topics of all of them, and tells all of them", async () => {
    const [hub, one, other] = [new LiveHub(), new Window(), new Window()];
    hub.listen(one, { topics: ["jobs"], after: 0 });
    hub.listen(other, { topics: ["logs:a", "jobs"], after: 0 });
    await pass();
    expect(server.asked.map((url) => url.searchParams.get("topics"))).toEqual(["jobs,logs:a"]);
    server.send(ready(7) + "event: jobs\ndata: {}\nid: 8\n\n");
    await pass();
    expect([one.froms, other.froms]).toEqual([[7], [7]]);
    expect([one.events, other.events]).toEqual([["jobs"], ["jobs"]]);
    expect(server.open).toBe(1);
  });

  it("goes on behind what was told when a window shows something else", async () => {
    const [hub, one, other] = [new LiveHub(), new Window(), new Window()];
    hub.listen(one, { topics: ["jobs"], after: 0 });
    await pass();
    server.send(ready(7));
    await pass();
    hub.listen(other, { topics: ["nodes"], after: 5 });
    await pass();
    expect(server.asked.at(-1)!.searchParams.get("after")).toBe("7");
    server.send(ready(9));
    await pass();
    expect(one.froms).toEqual([7, null]);
    expect(other.froms).toEqual([7]);
    expect(server.open).toBe(1);
  });

  it("covers a window at once whose topics it has", async () => {
    const [hub, one, other] = [new LiveHub(), new Window(), new Window()];
    hub.listen(one, { topics: ["jobs", "nodes"], after: 0 });
    await pass();
    server.send(ready(7) + ": still here\nid: 12\n\n");
    await pass();
    hub.listen(other, { topics: ["jobs"], after: 0 });
    expect(other.froms).toEqual([12]);
    await pass();
    expect(server.asked).toHaveLength(1);
  });

  it("is closed while no window is seen, and begins behind what the first one was told", async () => {
    const [hub, one] = [new LiveHub(), new Window()];
    hub.listen(one, { topics: ["jobs"], after: 0 });
    await pass();
    server.send(ready(7));
    hub.listen(one, { topics: [], after: 7 });
    await pass();
    expect(server.open).toBe(0);
    hub.listen(one, { topics: ["jobs"], after: 7 });
    await pass();
    expect(server.asked.at(-1)!.searchParams.get("after")).toBe("7");
  });

  it("comes back by itself with nothing missed", async () => {
    const [hub, one] = [new LiveHub(), new Window()];
    hub.listen(one, { topics: ["jobs"], after: 0 });
    await pass();
    server.send(ready(7));
    await pass();
    server.cut();
    await pass();
    expect(one.told.at(-1)).toEqual({ kind: "broken", refusal: null });
    await pass(2_000);
    expect(server.asked.at(-1)!.searchParams.get("after")).toBe("7");
    server.send(ready(8));
    await pass();
    expect(one.froms).toEqual([7, null]);
  });

  it("takes a connection on which nothing comes for dead", async () => {
    const [hub, one] = [new LiveHub(), new Window()];
    hub.listen(one, { topics: ["jobs"], after: 0 });
    await pass();
    server.send(ready(7));
    await pass(60_000);
    expect(one.told.some(({ kind }) => kind === "broken")).toBe(true);
    expect(server.asked.length).toBeGreaterThan(1);
  });

  it("says why it was refused", async () => {
    const body = JSON.stringify({ detail: "ada may have at most 2 streams at once", hint: "close windows" });
    server.refusal = new Response(body, { status: 429 });
    const [hub, one] = [new LiveHub(), new Window()];
    hub.listen(one, { topics: ["jobs"], after: 0 });
    await vi.waitFor(() => expect(one.told).not.toEqual([]));
    const refusal = { status: 429, detail: "ada may have at most 2 streams at once", hint: "close windows" };
    expect(one.told).toEqual([{ kind: "broken", refusal }]);
  });

  it("has no more topics than the server takes", async () => {
    const hub = new LiveHub();
    for (let n = 0; n < 70; n += 1) hub.listen(new Window(), { topics: [`job:${n}`], after: 0 });
    await pass();
    expect(server.asked[0]!.searchParams.get("topics")!.split(",")).toHaveLength(64);
  });
});

describe("server-sent events", () => {
  it("are the same in whatever pieces they arrive", () => {
    const text = 'event: a\ndata: {"x": "y: z"}\nid: 3\n\n: still here\nid: 4\n\nevent: b\ndata: {}\n\n';
    const whole = new ServerEvents().feed(text);
    const events = new ServerEvents();
    expect(Array.from(text, (character) => events.feed(character)).flat()).toEqual(whole);
    expect(whole).toEqual([
      { event: "a", data: '{"x": "y: z"}', id: "3" },
      { event: "", data: "", id: "4" },
      { event: "b", data: "{}", id: "" },
    ]);
  });
});
