import { Alert } from "@mantine/core";

import { useLiveState } from "@/api/live";
import { fill, useWords } from "@/words/language";

const TOO_MANY = 429;
const NOT_LOGGED_IN = 401;

/** Says why the server refuses to tell what changes, and what to do. */
export function LiveRefusal() {
  const words = useWords();
  const state = useLiveState();
  const refusal = state.kind === "stale" ? state.refusal : null;
  if (!refusal || refusal.status === NOT_LOGGED_IN) return null;
  const reason = [refusal.detail ?? `HTTP ${refusal.status}`, refusal.hint].filter(Boolean).join(" — ");
  return (
    <Alert color="yellow" mb="sm" role="status">
      {refusal.status === TOO_MANY ? words.shell.tooManyStreams : fill(words.shell.refused, { reason })}
    </Alert>
  );
}
