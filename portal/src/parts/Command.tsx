import { ActionIcon, Code, CopyButton, Group, Tooltip } from "@mantine/core";

import { CheckIcon, CopyIcon } from "./icons";
import { useWords } from "@/words/language";

/** A command to copy: what an action of the page is on the command line. */
export function Command({ line }: { line: string }) {
  const words = useWords();
  return (
    <Group gap={4} wrap="nowrap">
      <Code>{line}</Code>
      <CopyButton value={line}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? words.common.copied : words.common.copy}>
            <ActionIcon size="sm" onClick={copy} aria-label={words.common.copy}>
              {copied ? <CheckIcon /> : <CopyIcon />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  );
}

/** A word of a command as a shell takes it. */
export const quoted = (word: string): string =>
  /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
