import { Group, Switch, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { eventDetails, eventText } from "./eventText";
import { layOut, type Picture } from "./layout";
import { StatesPicture } from "./StatesPicture";
import classes from "./Timeline.module.css";
import { hasEnded } from "../acts";
import type { TabProps } from "../JobPage";
import type { JobEvent } from "@/api/client";
import { queries } from "@/api/queries";
import { durationText, timeText } from "@/parts/amounts";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { useNow } from "@/parts/Time";
import { Scrolled } from "@/parts/Scrolled";
import { StateBadge } from "@/parts/StateBadge";
import { fill, named, useLanguage, useWords } from "@/words/language";

const MOST_EVENTS = 500;

/** The states of job and workers over time as a picture and as a table, and the events as a list. */
export function TimelineTab({ reference, job }: TabProps) {
  const { words } = useLanguage();
  const events = useQuery(queries.jobEvents(reference));
  const tasks = useQuery(queries.tasks(reference, "all"));
  const now = useNow();
  const [isTable, setTable] = useState(false);
  const obstacle = obstacleOf(events) ?? obstacleOf(tasks);
  const askAgain = () => void Promise.all([events.refetch(), tasks.refetch()]);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={askAgain} />;
  if (!events.data || !tasks.data) return <Loading />;
  const ended = hasEnded(job) ? (job.endedAt ?? events.data.at(-1)?.at ?? null) : null;
  const picture = layOut(job.createdAt, ended, tasks.data.items, events.data, now);
  return (
    <>
      <Switch
        label={words.job.timeline.table}
        checked={isTable}
        onChange={(event) => setTable(event.currentTarget.checked)}
        mb="xs"
      />
      {isTable ? <StatesTable picture={picture} /> : <StatesPicture picture={picture} />}
      <StateLegend picture={picture} />
      {picture.total > picture.lanes.length - 1 && (
        <Text size="xs" className="soft">
          {fill(words.job.timeline.cut, { n: picture.lanes.length - 1, total: picture.total })}
        </Text>
      )}
      <Title order={2} size="h6" mt="md" mb={4}>
        {words.job.timeline.events}
      </Title>
      <Events events={events.data} />
    </>
  );
}

/** What the colours of the picture mean: bars that are too short do not say it. */
function StateLegend({ picture }: { picture: Picture }) {
  const words = useWords();
  const states = [...new Set(picture.lanes.flatMap(({ stretches }) => stretches.map(({ state }) => state)))];
  return (
    <Group
      gap="sm"
      component="ul"
      className={classes.legend ?? ""}
      p={0}
      m={0}
      mt={4}
      aria-label={words.common.legend}
      role="list"
    >
      {states.map((state) => (
        <Text key={state} size="xs" component="li">
          <StateBadge state={state} />
        </Text>
      ))}
    </Group>
  );
}

function StatesTable({ picture }: { picture: Picture }) {
  const { language, words } = useLanguage();
  const w = words.job.timeline;
  return (
    <div className={classes.scroller}>
      <Scrolled label={w.picture}>
        <Table aria-label={w.picture}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.job.workers.name}</Table.Th>
              <Table.Th>{words.job.attempts.label}</Table.Th>
              <Table.Th>{words.job.workers.state}</Table.Th>
              <Table.Th>{w.from}</Table.Th>
              <Table.Th>{words.job.workers.duration}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {picture.lanes.flatMap((lane) =>
              lane.stretches.map((stretch) => (
                <Table.Tr key={`${lane.attempt} ${lane.name} ${stretch.from}`}>
                  <Table.Td>{lane.name || words.job.timeline.job}</Table.Td>
                  <Table.Td>{lane.attempt || ""}</Table.Td>
                  <Table.Td>{named(words.states, stretch.state)}</Table.Td>
                  <Table.Td>{timeText(language, new Date(stretch.from))}</Table.Td>
                  <Table.Td>{durationText(words, (stretch.to - stretch.from) / 1000)}</Table.Td>
                </Table.Tr>
              )),
            )}
          </Table.Tbody>
        </Table>
      </Scrolled>
    </div>
  );
}

/** The newest first. */
function Events({ events }: { events: JobEvent[] }) {
  const { language, words } = useLanguage();
  const w = words.job.timeline;
  if (!events.length) return <EmptyState title={w.noEvents} />;
  return (
    <div className={classes.scroller}>
      <Scrolled label={w.events}>
        <Table aria-label={w.events}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w={170}>{w.time}</Table.Th>
              <Table.Th>{w.what}</Table.Th>
              <Table.Th w={110}>{w.who}</Table.Th>
              <Table.Th>{w.details}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {events
              .slice(-MOST_EVENTS)
              .reverse()
              .map((event) => (
                <Table.Tr key={event.seq}>
                  <Table.Td className={classes.time ?? ""}>
                    <time dateTime={event.at}>{timeText(language, event.at)}</time>
                  </Table.Td>
                  <Table.Td>{eventText(language, words, event)}</Table.Td>
                  <Table.Td>{event.actor}</Table.Td>
                  <Table.Td className={classes.details ?? ""}>{eventDetails(words, event)}</Table.Td>
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
      </Scrolled>
      {events.length > MOST_EVENTS && (
        <Text size="xs" className="soft">
          {w.more}
        </Text>
      )}
    </div>
  );
}
