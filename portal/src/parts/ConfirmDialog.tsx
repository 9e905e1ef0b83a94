import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import { Command } from "./Command";
import { ProblemBox } from "./feedback";
import { useWords } from "@/words/language";

interface ConfirmDialogProps {
  isOpen: boolean;
  title: string;
  /** What will happen, in a sentence. */
  text?: string | undefined;
  /** The commands that do the same. */
  commands: string[];
  confirm: string;
  isDangerous?: boolean;
  isPending?: boolean;
  isReady?: boolean;
  error?: unknown;
  onConfirm: () => void;
  onClose: () => void;
  /** Fields of the action, or a list of what it concerns. */
  children?: ReactNode;
}

/** Asks before an action, and shows the command line that does the same. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const words = useWords();
  return (
    <Modal opened={props.isOpen} onClose={props.onClose} title={props.title} size="lg">
      <Stack gap="sm">
        {props.text && <Text size="sm">{props.text}</Text>}
        {props.children}
        <div>
          <Text size="xs" className="soft" mb={4}>
            {words.common.commandLine}
          </Text>
          {props.commands.map((line) => (
            <Command key={line} line={line} />
          ))}
        </div>
        {!!props.error && <ProblemBox error={props.error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={props.onClose}>
            {words.common.cancel}
          </Button>
          <Button
            color={props.isDangerous ? "red" : "blue"}
            loading={props.isPending ?? false}
            disabled={props.isReady === false}
            onClick={props.onConfirm}
            data-autofocus
          >
            {props.confirm}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
