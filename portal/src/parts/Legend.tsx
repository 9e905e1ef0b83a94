import { Group, Text } from "@mantine/core";

import classes from "./Legend.module.css";
import { useWords } from "@/words/language";

export interface LegendEntry {
  meaning: string;
  /** How it is drawn: a tone such as `load-2`, or the token of a colour such as `--load-3`. */
  tone?: string;
  colour?: string;
  /** What stands in it, because colour alone never says it. */
  letter?: string;
  /** The mark at its right edge. */
  edge?: "running" | "failed";
  /** How what has not begun is drawn. */
  coming?: "reserved" | "expected";
}

/** What the colours and letters of a picture mean. */
export function Legend({ entries }: { entries: readonly LegendEntry[] }) {
  const words = useWords();
  return (
    <Group gap="sm" component="ul" px={0} py={4} m={0} aria-label={words.common.legend} role="list">
      {entries.map(({ meaning, tone, colour, letter, edge, coming }) => (
        <Group key={`${tone ?? colour ?? edge ?? coming} ${meaning}`} gap={4} component="li" wrap="nowrap">
          <span
            className={classes.sample}
            data-tone={tone}
            data-edge={edge}
            data-coming={coming}
            style={colour ? { background: `var(${colour})` } : undefined}
            aria-hidden="true"
          >
            {letter}
          </span>
          <Text size="xs">{meaning}</Text>
        </Group>
      ))}
    </Group>
  );
}
