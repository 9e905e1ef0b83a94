import { Progress } from "@mantine/core";

import { progressOf, type Sweep } from "./view";
import { fill, useWords } from "@/words/language";

const PARTS = [
  ["succeeded", "var(--state-succeeded)"],
  ["failed", "var(--state-failed)"],
  ["cancelled", "var(--state-cancelled)"],
  ["active", "var(--state-running)"],
] as const;

/** How many members have ended, and how; the same in words for those who do not see the colours. */
export function SweepProgress({ sweep }: { sweep: Sweep }) {
  const words = useWords();
  const counts = progressOf(sweep);
  const text = fill(words.sweeps.counts, { ...counts });
  return (
    <div title={text}>
      <Progress.Root size="md" w={170} maw="100%" role="img" aria-label={text}>
        {PARTS.map(([part, colour]) => (
          <Progress.Section
            key={part}
            value={(counts[part] / Math.max(sweep.members, 1)) * 100}
            color={colour}
            withAria={false}
          />
        ))}
      </Progress.Root>
    </div>
  );
}
