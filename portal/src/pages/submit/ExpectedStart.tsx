import { Text } from "@mantine/core";

import type { DryRun } from "./submission";
import { Reasons, Start } from "@/pages/job/head/Why";
import { useWords } from "@/words/language";

/** When the job would start if it were submitted now, or why it would wait. */
export function ExpectedStart({ found }: { found: DryRun }) {
  const words = useWords();
  if (found.job.state === "Held") return <Text size="sm">{words.submit.startsHeld}</Text>;
  if (found.placement === "engine" && !found.startsAt && found.reasons.length === 0) {
    return <Text size="sm">{words.submit.startsByEngine}</Text>;
  }
  if (found.placement === "now") {
    return (
      <Text size="sm" fw={600}>
        {words.submit.startsNow}
      </Text>
    );
  }
  return (
    <>
      <Reasons reasons={found.reasons} />
      <Start startsAt={found.startsAt} startsBy={found.startsBy} />
    </>
  );
}
