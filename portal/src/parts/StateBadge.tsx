import classes from "./StateBadge.module.css";

import { named, useWords } from "@/words/language";

/** A state as a word with a mark: colour alone never says it. */
export function StateBadge({ state }: { state: string }) {
  const words = useWords();
  return (
    <span className={classes.state} data-state={state}>
      {named(words.states, state)}
    </span>
  );
}
