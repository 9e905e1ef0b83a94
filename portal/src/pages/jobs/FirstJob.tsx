import { Button } from "@mantine/core";

import { useMayWork } from "@/app/session";
import { Command } from "@/parts/Command";
import { EmptyState } from "@/parts/feedback";
import { useWords } from "@/words/language";

/** How the first job is run: on the command line, or on the page. */
export function FirstJob() {
  const words = useWords();
  const mayWork = useMayWork();
  return (
    <EmptyState title={words.jobs.noneYet}>
      <Command line="muster run --name hello -- echo hello" />
      {mayWork && (
        <Button component="a" href="#/submit">
          {words.jobs.firstJob}
        </Button>
      )}
    </EmptyState>
  );
}
