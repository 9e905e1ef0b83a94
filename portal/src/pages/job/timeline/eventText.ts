import type { JobEvent } from "@/api/client";
import { bytesText } from "@/parts/amounts";
import { fill, named, plural, type Language } from "@/words/language";
import type { Words } from "@/words/shape";

const OUTPUTS = "job.outputs";

/** What an event says, in the reader's words; the server's kind if it is newer than this page. */
export function eventText(language: Language, words: Words, event: JobEvent): string {
  if (event.kind === OUTPUTS) {
    const { files, bytes } = event.data as { files?: number; bytes?: number };
    return plural(language, words.job.timeline.outputs, files ?? 0, { size: bytesText(bytes ?? 0) });
  }
  if (Object.hasOwn(words.job.events, event.kind)) return named(words.job.events, event.kind);
  const [subject] = event.kind.split(".");
  const { state, name } = event.data as { state?: unknown; name?: unknown };
  const shown = typeof state === "string" ? named(words.states, state) : "";
  if (subject === "job" && shown) return fill(words.job.events.job, { state: shown });
  if (subject === "task" && shown) return fill(words.job.events.task, { name: String(name), state: shown });
  return event.kind;
}

const SAID_ELSEWHERE = [
  "name",
  "state",
  "attempt",
  "succeeded",
  "failed",
  "active",
  "node",
  "exitCode",
  "signal",
  "reason",
];

/** Its details: node, exit code and reason, then whatever else it carries. */
export function eventDetails(words: Words, event: JobEvent): string {
  const { node, exitCode, signal, reason, ...rest } = event.data;
  const counts = event.kind === OUTPUTS ? ["files", "bytes", ...(rest.leftOut ? [] : ["leftOut"])] : [];
  const said = [...SAID_ELSEWHERE, ...counts];
  const w = words.job.events;
  const others = Object.entries(rest)
    .filter(([name, value]) => !said.includes(name) && value !== null && value !== "")
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [
    typeof node === "string" && node && fill(w.onNode, { node }),
    typeof exitCode === "number" && fill(w.exitCode, { n: exitCode }),
    typeof signal === "number" && fill(w.signal, { n: signal }),
    typeof reason === "string" && reason,
    ...others,
  ]
    .filter(Boolean)
    .join(" · ");
}
