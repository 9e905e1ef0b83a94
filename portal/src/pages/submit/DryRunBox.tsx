import { Alert, Group, List, Loader, Table, Text, Title } from "@mantine/core";

import { ExpectedStart } from "./ExpectedStart";
import type { Checked, DryRun, SweepDryRun } from "./submission";
import classes from "./SubmitPage.module.css";
import { plannedWorker } from "@/pages/job/naming";
import { Scrolled } from "@/parts/Scrolled";
import { fill, named, plural, useLanguage } from "@/words/language";

/** What would be started, and where; nothing is. */
export function DryRunBox({
  found: checked,
  isChecking,
  hasError,
}: {
  found: Checked | undefined;
  isChecking: boolean;
  hasError: boolean;
}) {
  const { language, words } = useLanguage();
  const found = checked?.run;
  return (
    <>
      <Group gap={8} mb={4}>
        <Title order={2} size="h5">
          {words.submit.dryRun}
        </Title>
        {isChecking && <Loader size="xs" aria-hidden />}
        <Text size="sm" className="soft" role="status">
          {isChecking ? words.submit.checking : hasError ? words.submit.hasProblems : found ? words.submit.isRight : ""}
        </Text>
      </Group>
      {found && (
        <>
          {found.warnings.length > 0 && (
            <Alert color="yellow" mb="xs">
              <List size="sm">
                {found.warnings.map((warning) => (
                  <List.Item key={warning}>{warning}</List.Item>
                ))}
              </List>
            </Alert>
          )}
          {checked.sweep && <Members sweep={checked.sweep} />}
          <Text size="sm" mb={4}>
            {plural(language, words.submit.tasksOn, found.job.tasks, {
              mode: named(words.modes, found.job.mode),
              cluster: found.job.vc || found.job.cluster,
            })}
            {found.job.frameworkReason && (
              <span title={found.job.frameworkReason}>
                {" · "}
                {fill(words.submit.guessed, { framework: found.job.framework })}
              </span>
            )}
          </Text>
          <ExpectedStart found={found} />
          {found.placement === "alone" && found.requests.length > 0 && (
            <Text size="sm" className="soft" mt={4}>
              {words.submit.placedAlone}
            </Text>
          )}
          {found.requests.length > 0 && <Requests requests={found.requests} />}
          {found.files.map((file) => (
            <details key={file.name}>
              <summary>{file.name}</summary>
              <div className={classes.commandLine}>{file.content}</div>
            </details>
          ))}
        </>
      )}
    </>
  );
}

/** How many jobs the sweep makes; what stands below is about the first of them. */
function Members({ sweep }: { sweep: SweepDryRun }) {
  const { language, words } = useLanguage();
  return (
    <Text size="sm" mb={4}>
      {plural(language, words.submit.members, sweep.members, { params: sweep.params.join(", ") })}
    </Text>
  );
}

function Requests({ requests }: { requests: DryRun["requests"] }) {
  const { words } = useLanguage();
  return (
    <div className={classes.requests}>
      <Scrolled label={words.submit.placement}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.submit.task}</Table.Th>
              <Table.Th>{words.submit.node}</Table.Th>
              <Table.Th>{words.submit.devices}</Table.Th>
              <Table.Th>{words.submit.command}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {requests.map((request) => (
              <Table.Tr key={request.task}>
                <Table.Td>{plannedWorker(request.task)}</Table.Td>
                <Table.Td>{request.node || words.submit.noNode}</Table.Td>
                <Table.Td>
                  {request.devices.length > 0
                    ? fill(words.submit.gpus, { list: request.devices.join(", ") })
                    : words.common.none}
                </Table.Td>
                <Table.Td className={classes.commandLine ?? ""}>
                  {request.commandLine || request.argv.join(" ") || request.image}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Scrolled>
    </div>
  );
}
