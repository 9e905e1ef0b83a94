import type { Schemas } from "./client";
import { ServerEvents, type ServerEvent } from "./serverEvents";

/** What the server said instead of a stream; null if it did not answer. */
export type Refusal = Pick<Partial<Schemas["ProblemOut"]>, "status" | "detail" | "hint">;

export interface StreamHandlers {
  /** The stream has begun; `seq` is the number of the last event before it. */
  onReady: (seq: number) => void;
  onEvent: (event: ServerEvent) => void;
  /** It has ended, or was refused. */
  onBroken: (refusal: Refusal | null) => void;
}

/** The server says something every 15 seconds. A connection that is silent for longer is dead. */
const SILENCE_MS = 45_000;

/** One connection to the live stream. Unlike an EventSource, it knows why it was refused. Returns what ends it. */
export function openStream(topics: string, after: number, handlers: StreamHandlers): () => void {
  const ending = new AbortController();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => ending.abort("silence"), SILENCE_MS);
  };
  const read = async (): Promise<Refusal | null> => {
    const query = new URLSearchParams({ topics, skipMissing: "true", ...(after > 0 && { after: String(after) }) });
    heard();
    const response = await fetch(`/api/v1/live?${query}`, { credentials: "same-origin", signal: ending.signal });
    if (!response.ok || !response.body) return refusalOf(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new ServerEvents();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      heard();
      for (const event of events.feed(piece.value)) {
        if (event.event === "ready") handlers.onReady((JSON.parse(event.data) as Schemas["LiveReadyOut"]).seq);
        handlers.onEvent(event);
      }
    }
    return null;
  };
  void read()
    .catch(() => null)
    .then((refusal) => {
      clearTimeout(silence);
      if (ending.signal.reason !== CLOSED) handlers.onBroken(refusal);
    });
  return () => ending.abort(CLOSED);
}

const CLOSED = "closed";

async function refusalOf(response: Response): Promise<Refusal> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Schemas["ProblemOut"]>;
  return { status: response.status, ...(problem.detail && { detail: problem.detail }), hint: problem.hint ?? "" };
}
