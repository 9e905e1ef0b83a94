import { Button, Group, Paper, Progress, Text } from "@mantine/core";

import type { Transfer, Uploads } from "./useUploads";
import { bytesText } from "@/parts/amounts";
import { ProblemBox } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

/** The uploads that go on or have stopped. */
export function Transfers({ uploads }: { uploads: Uploads }) {
  return uploads.transfers.map((transfer) => <Row key={transfer.id} transfer={transfer} uploads={uploads} />);
}

function Row({ transfer, uploads }: { transfer: Transfer; uploads: Uploads }) {
  const words = useWords();
  const { id, name, state } = transfer;
  const isGoing = state === "checking" || state === "sending";
  return (
    <Paper withBorder p={6} role="group" aria-label={fill(words.files.uploadOf, { name })}>
      <Group gap="sm" wrap="nowrap">
        <Text size="sm" className="one-line">
          {name}
        </Text>
        <Progress
          value={transfer.size > 0 ? (100 * transfer.done) / transfer.size : 0}
          flex={1}
          aria-label={fill(words.files.uploadOf, { name })}
        />
        <Text size="xs" role="status">
          {fill(words.files.uploadStates[state], { done: bytesText(transfer.done), total: bytesText(transfer.size) })}
        </Text>
        {isGoing && (
          <Button variant="default" size="compact-xs" onClick={() => uploads.cancel(id)}>
            {words.common.cancel}
          </Button>
        )}
        {(state === "stopped" || state === "failed") && (
          <Button variant="default" size="compact-xs" onClick={() => uploads.resume(id)}>
            {words.submit.resume}
          </Button>
        )}
        {state === "exists" && (
          <Button variant="default" color="red" size="compact-xs" onClick={() => uploads.resume(id, true)}>
            {words.files.overwrite}
          </Button>
        )}
        {!isGoing && (
          <Button variant="subtle" size="compact-xs" onClick={() => uploads.dismiss(id)}>
            {words.common.close}
          </Button>
        )}
      </Group>
      {state === "failed" && <ProblemBox error={transfer.error} />}
    </Paper>
  );
}
