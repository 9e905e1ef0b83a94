import { Alert, Anchor, Breadcrumbs, Button, Group, List, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { folderAt, outputAddress } from "./tree";
import classes from "../timeline/Timeline.module.css";
import { hasEnded } from "../acts";
import { without } from "../address";
import { AttemptSelect, useAttempt } from "../AttemptSelect";
import type { TabProps } from "../JobPage";
import { queries } from "@/api/queries";
import { bytesText } from "@/parts/amounts";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { DownloadIcon, FileIcon, FilesIcon } from "@/parts/icons";
import { Ago } from "@/parts/Time";
import { Scrolled } from "@/parts/Scrolled";
import { WithCode } from "@/parts/WithCode";
import { fill, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

/** The files that the tasks left, as folders. */
export function OutputsTab({ reference, job }: TabProps) {
  const { language, words } = useLanguage();
  const w = words.job.outputs;
  const view = route.useSearch();
  const { folder = "" } = view;
  const attempt = useAttempt(job);
  const found = useQuery(queries.outputs(reference, attempt));
  const spec = useQuery(queries.jobSpec(reference)).data?.spec;
  const namesNone = spec !== undefined && Object.keys(spec.outputs ?? {}).length === 0;
  const obstacle = obstacleOf(found);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading />;
  const { items, leftOut, problems, complete } = found.data;
  const shown = folderAt(items, folder);
  const size = items.reduce((sum, item) => sum + item.size, 0);
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <AttemptSelect job={job} />
        {items.length > 0 && (
          <Text size="xs" className="soft">
            {plural(language, w.total, items.length, { size: bytesText(size) })} {!complete && w.incomplete}
          </Text>
        )}
      </Group>
      {problems.map((problem) => (
        <Alert key={problem} color="yellow">
          <WithCode text={problem} />
        </Alert>
      ))}
      {leftOut.length > 0 && (
        <Alert color="yellow" title={w.leftOut}>
          <List size="sm">
            {leftOut.map((path) => (
              <List.Item key={path}>{path}</List.Item>
            ))}
          </List>
        </Alert>
      )}
      {items.length === 0 ? (
        <EmptyState title={namesNone ? w.namesNone : hasEnded(job) ? w.none : w.notYet}>
          {namesNone && (
            <Text size="sm">
              <WithCode text={w.how} />
            </Text>
          )}
        </EmptyState>
      ) : (
        <>
          <Path reference={reference} folder={folder} />
          <div className={classes.scroller}>
            <Scrolled label={w.file}>
              <Table>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>{w.file}</Table.Th>
                    <Table.Th className="number">{w.size}</Table.Th>
                    <Table.Th>{w.modified}</Table.Th>
                    <Table.Th>{w.task}</Table.Th>
                    <Table.Th aria-label={words.job.logs.download} />
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {shown.folders.map((each) => (
                    <Table.Tr key={each.path}>
                      <Table.Td>
                        <FilesIcon />{" "}
                        <Anchor
                          size="sm"
                          renderRoot={(props) => (
                            <Link
                              {...props}
                              to="/jobs/$ref"
                              params={{ ref: reference }}
                              search={{ ...view, folder: each.path }}
                            />
                          )}
                        >
                          {each.name}/
                        </Anchor>
                      </Table.Td>
                      <Table.Td className="number">{bytesText(each.size)}</Table.Td>
                      <Table.Td colSpan={3} className="soft">
                        {plural(language, w.total, each.files, { size: bytesText(each.size) })}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                  {shown.files.map(({ name, output }) => (
                    <Table.Tr key={output.path}>
                      <Table.Td title={output.sha256}>
                        <FileIcon /> {name}
                      </Table.Td>
                      <Table.Td className="number">{bytesText(output.size)}</Table.Td>
                      <Table.Td>
                        <Ago at={output.modifiedAt} />
                      </Table.Td>
                      <Table.Td>{output.task}</Table.Td>
                      <Table.Td>
                        <Button
                          component="a"
                          variant="subtle"
                          size="compact-xs"
                          leftSection={<DownloadIcon />}
                          href={outputAddress(reference, output.path, found.data.attempt)}
                          download={name}
                          aria-label={fill(w.download, { name })}
                        >
                          {words.job.logs.download}
                        </Button>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Scrolled>
          </div>
          <Command line={`muster outputs ${job.id} --get`} />
        </>
      )}
    </Stack>
  );
}

function Path({ reference, folder }: { reference: string; folder: string }) {
  const { words } = useLanguage();
  const view = route.useSearch();
  const parts = folder ? folder.split("/") : [];
  const places = [
    { name: words.job.outputs.root, path: "" },
    ...parts.map((name, index) => ({ name, path: parts.slice(0, index + 1).join("/") })),
  ];
  return (
    <Breadcrumbs>
      {places.map(({ name, path }) => (
        <Anchor
          key={path}
          size="sm"
          renderRoot={(props) => (
            <Link
              {...props}
              to="/jobs/$ref"
              params={{ ref: reference }}
              search={{ ...without(view, "folder"), ...(path && { folder: path }) }}
            />
          )}
        >
          {name}
        </Anchor>
      ))}
    </Breadcrumbs>
  );
}
