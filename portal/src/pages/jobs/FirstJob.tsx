import { Button } from "@mantine/core";

import { Command } from "@/parts/Command";
import { EmptyState } from "@/parts/feedback";
import { useWords } from "@/words/language";

/** How the first job is run: on the command line, or on the page. */
export function FirstJob() {
  const words = useWords();
  return (
    <EmptyState title={words.jobs.noneYet}>
      <Command line="muster run --name hello -- echo hello" />
      <Button component="a" href="#/submit">
        {words.jobs.firstJob}
      </Button>
    </EmptyState>
  );
}
