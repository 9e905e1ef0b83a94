import { Alert, Button, Center, Code, Loader, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

import { WithCode } from "./WithCode";
import { ApiProblem, Unreachable } from "@/api/client";
import { useWords } from "@/words/language";

export function Loading() {
  const words = useWords();
  return (
    <Center p="xl" role="status" aria-label={words.common.loading}>
      <Loader size="sm" />
    </Center>
  );
}

/** The server's words for what went wrong, and what to do next. */
export function ProblemBox({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const words = useWords();
  const message = error instanceof Unreachable ? words.common.unreachable : error instanceof Error ? error.message : "";
  const problems = error instanceof ApiProblem ? error.problems : [];
  return (
    <Alert color="red" role="alert" title={<WithCode text={message} />}>
      {error instanceof ApiProblem && error.hint && (
        <Text size="sm">
          <WithCode text={error.hint} />
        </Text>
      )}
      {onRetry && error instanceof Unreachable && <Text size="sm">{words.common.triedAgain}</Text>}
      {problems.map((each) => (
        <div key={`${each.path} ${each.message}`}>
          <Text size="sm">
            {each.path && <Code>{each.path}</Code>} <WithCode text={each.message} />
          </Text>
          {each.hint && (
            <Text size="sm" className="soft">
              <WithCode text={each.hint} />
            </Text>
          )}
        </div>
      ))}
      {onRetry && (
        <Button mt="xs" variant="default" onClick={onRetry}>
          {words.common.tryAgain}
        </Button>
      )}
    </Alert>
  );
}

/** What to do when there is nothing to show: one sentence and one action. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Center p="xl">
      <Stack align="center" gap="xs">
        <Title order={2} size="h5" fw={500} className="soft">
          <WithCode text={title} />
        </Title>
        {children}
      </Stack>
    </Center>
  );
}
