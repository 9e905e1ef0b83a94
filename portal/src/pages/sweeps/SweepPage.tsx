import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";

import { MemberTable } from "./MemberTable";
import { SweepPlots } from "./SweepPlots";
import { SweepProgress } from "./SweepProgress";
import { progressOf, type Sweep } from "./view";
import { answer, api } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayRead, useMayWork } from "@/app/session";
import { Command, quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { StopIcon } from "@/parts/icons";
import { valueText, type Value } from "@/parts/plots/scales";
import { Section } from "@/parts/Section";
import { StateBadge } from "@/parts/StateBadge";
import { obstacleOf } from "@/parts/StaleNotice";
import { Ago } from "@/parts/Time";
import { fill, useWords } from "@/words/language";

const route = getRouteApi("/sweeps/$ref");

/** One sweep: how far it is, the best so far, its plots, and its members, all of it live. */
export function SweepPage() {
  const { ref } = route.useParams();
  const sweep = useQuery(queries.sweep(ref));
  const obstacle = obstacleOf(sweep);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={() => void sweep.refetch()} />;
  if (!sweep.data) return <Loading />;
  return (
    <Stack gap="sm">
      <Head sweep={sweep.data} />
      <Content sweep={sweep.data} />
    </Stack>
  );
}

function Head({ sweep }: { sweep: Sweep }) {
  const words = useWords();
  const w = words.sweeps;
  const mayRead = useMayRead(sweep);
  const mayWork = useMayWork();
  const [isStopping, setStopping] = useState(false);
  const isOpen = sweep.endedAt === null;
  const { best } = sweep;
  return (
    <>
      <Group justify="space-between" gap="xs">
        <Group gap="sm">
          <Title order={1} size="h3">
            {sweep.name}
          </Title>
          <StateBadge state={sweep.state} />
          <SweepProgress sweep={sweep} />
        </Group>
        <Group gap={6}>
          <Button
            variant="default"
            renderRoot={(props) => <Link {...props} to="/experiments" search={{ sweep: sweep.id }} />}
          >
            {w.asExperiments}
          </Button>
          {isOpen && mayRead && mayWork && !sweep.stoppedBy && (
            <Button variant="default" leftSection={<StopIcon />} onClick={() => setStopping(true)}>
              {w.stop}
            </Button>
          )}
        </Group>
      </Group>
      <Text size="sm">
        {fill(w.membersOf, { n: sweep.members })} {fill(w.counts, { ...progressOf(sweep) })} · {sweep.owner} ·{" "}
        <Ago at={sweep.createdAt} />
        {sweep.stoppedBy && ` · ${fill(w.stoppedBy, { user: sweep.stoppedBy })}`}
      </Text>
      {sweep.waitsFor && <Text size="sm">{sweep.waitsFor}</Text>}
      {best && (
        <Group gap={6} role="status">
          <Text size="sm">{w.best}:</Text>
          <Text size="sm" fw={600}>{`${sweep.metric} ${valueText(best.value)}`}</Text>
          <Link className="link" to="/jobs/$ref" params={{ ref: best.job }}>
            {best.name}
          </Link>
          <Text size="sm">{paramsText(best.params)}</Text>
        </Group>
      )}
      <Command line={`muster sweep describe ${quoted(sweep.name)} --watch`} />
      {isStopping && <Stopping sweep={sweep} onClose={() => setStopping(false)} />}
    </>
  );
}

function Content({ sweep }: { sweep: Sweep }) {
  const words = useWords();
  const w = words.sweeps;
  const mayRead = useMayRead(sweep);
  const members = useQuery({ ...queries.sweepMembers(sweep.id, sweep.endedAt === null), enabled: mayRead });
  if (!mayRead) return <EmptyState title={fill(w.othersSweep, { owner: sweep.owner })} />;
  const obstacle = obstacleOf(members);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={() => void members.refetch()} />;
  if (!members.data) return <Loading />;
  if (members.data.length === 0) return <EmptyState title={w.noMembers} />;
  return (
    <>
      {sweep.metric ? (
        <Section
          title={w.plots}
          aside={<Command line={`muster sweep plot ${quoted(sweep.name)} --picture sweep.svg`} />}
        >
          <SweepPlots sweep={sweep} members={members.data} />
        </Section>
      ) : (
        <Text size="sm" className="soft">
          {w.noMetric}
        </Text>
      )}
      <MemberTable sweep={sweep} members={members.data} />
    </>
  );
}

function Stopping({ sweep, onClose }: { sweep: Sweep; onClose: () => void }) {
  const words = useWords();
  const w = words.sweeps;
  const client = useQueryClient();
  const stopping = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/sweeps/{ref}/stop", { params: { path: { ref: sweep.id } } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["sweeps"] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      isOpen
      title={fill(w.stopAsk, { name: sweep.name })}
      text={w.stopWhat}
      commands={[`muster sweep stop ${quoted(sweep.name)}`]}
      confirm={w.stop}
      isDangerous
      isPending={stopping.isPending}
      error={stopping.error}
      onConfirm={() => stopping.mutate()}
      onClose={onClose}
    />
  );
}

const paramsText = (params: Readonly<Record<string, unknown>>): string =>
  Object.entries(params)
    .map(([name, value]) => `${name}=${valueText(value as Value)}`)
    .join(", ");
