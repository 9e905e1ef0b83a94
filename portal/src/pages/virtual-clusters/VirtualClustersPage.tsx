import { Anchor, Code, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback } from "react";

import { FairnessTable } from "./FairnessTable";
import classes from "./VirtualClustersPage.module.css";
import type { Schemas, VirtualCluster } from "@/api/client";
import { SOON, useHint } from "@/api/pacing";
import { queries } from "@/api/queries";
import { useIsAdmin } from "@/app/session";
import { coresText, numberText } from "@/parts/amounts";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Legend } from "@/parts/Legend";
import { Meter } from "@/parts/Meter";
import { PageFrame } from "@/parts/PageFrame";
import { Section } from "@/parts/Section";
import { fill, named, useLanguage } from "@/words/language";

/** What each virtual cluster is promised, has, borrows and lends, and what they got over the last week. */
export function VirtualClustersPage() {
  const { words } = useLanguage();
  const isAdmin = useIsAdmin();
  const client = useQueryClient();
  const clusters = useQuery(queries.virtualClusters());
  const act = useCallback(() => void client.invalidateQueries({ queryKey: ["virtual-clusters"] }), [client]);
  useHint("virtual-clusters", act, SOON);
  if (!clusters.data) {
    if (clusters.error) return <ProblemBox error={clusters.error} onRetry={() => void clusters.refetch()} />;
    return <Loading />;
  }
  const { items, problems } = clusters.data;
  return (
    <PageFrame title={words.virtual.title}>
      {problems.map((problem) => (
        <ProblemBox
          key={`${problem.file} ${problem.path} ${problem.message}`}
          error={new Error(`${problem.file}: ${problem.message}`)}
        />
      ))}
      {items.length === 0 && (
        <EmptyState title={words.virtual.none}>
          {isAdmin ? <Example /> : <Text size="sm">{words.virtual.askAdmin}</Text>}
        </EmptyState>
      )}
      {items.length > 0 && (
        <Legend
          entries={[
            { colour: "--load-3", meaning: words.virtual.used },
            { colour: "--state-waiting", meaning: words.virtual.borrowed },
            { colour: "--state-stopping", meaning: words.virtual.lent },
          ]}
        />
      )}
      <div className={classes.cards}>
        {items.map((vc) => (
          <Card key={vc.name} vc={vc} />
        ))}
      </div>
      {items.length > 0 && <FairnessTable clusters={items} />}
    </PageFrame>
  );
}

const EXAMPLE = `name: vision
cluster: lab
guaranteed: {gpu: 4}
groups: [vision]
`;

/** What an admin writes, and where. */
function Example() {
  const { words } = useLanguage();
  return (
    <>
      <Text size="sm">{words.virtual.how}</Text>
      <Code block>{EXAMPLE}</Code>
      <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/admin" search={{ tab: "files" }} />}>
        {words.admin.files}
      </Anchor>
      <Command line="muster cluster check" />
    </>
  );
}

function Card({ vc }: { vc: VirtualCluster }) {
  const { language, words } = useLanguage();
  const own = Math.max(0, vc.used.gpu - vc.borrowed.gpu);
  const n = (value: number) => numberText(language, value);
  const facts: [string, string][] = [
    [words.virtual.guaranteed, shareText(vc.guaranteed, n)],
    [words.virtual.used, shareText(vc.used, n)],
    [words.virtual.borrowed, n(vc.borrowed.gpu)],
    [words.virtual.lent, n(vc.lent.gpu)],
    [words.virtual.max, vc.max ? shareText(vc.max, n) : words.virtual.noLimit],
    [words.virtual.limits, limitsText(vc.limits, words.quotaKinds, n) || words.virtual.noLimit],
    [words.virtual.userLimits, limitsText(vc.userLimits, words.quotaKinds, n) || words.virtual.noLimit],
    [words.virtual.priorities, vc.priorities.map((each) => named(words.priorities, each)).join(", ")],
  ];
  return (
    <Section
      title={vc.name}
      aside={
        <Text size="xs" className="soft">
          {vc.cluster}
        </Text>
      }
    >
      <Stack gap={4}>
        {vc.description && <Text size="sm">{vc.description}</Text>}
        <Meter
          label="GPU"
          text={fill(words.virtual.usedOf, { used: n(vc.used.gpu), guaranteed: n(vc.guaranteed.gpu) })}
          most={vc.guaranteed.gpu}
          parts={[
            { tone: "--load-3", label: words.virtual.used, amount: own },
            { tone: "--state-waiting", label: words.virtual.borrowed, amount: vc.borrowed.gpu },
            { tone: "--state-stopping", label: words.virtual.lent, amount: vc.lent.gpu },
          ]}
        />
        <Text size="sm">
          <JobsOf
            vc={vc.name}
            state={["Starting", "Running", "Stopping"]}
            text={fill(words.virtual.running, { n: vc.running })}
          />
          {" · "}
          <JobsOf vc={vc.name} state={["Queued"]} text={fill(words.virtual.waiting, { n: vc.waiting })} />
        </Text>
      </Stack>
      <dl className={classes.facts}>
        {facts.map(([label, value]) => (
          <Fact key={label} label={label} value={value} />
        ))}
      </dl>
    </Section>
  );
}

const Fact = ({ label, value }: { label: string; value: string }) => (
  <>
    <dt>{label}</dt>
    <dd>{value}</dd>
  </>
);

const JobsOf = ({ vc, state, text }: { vc: string; state: string[]; text: string }) => (
  <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/jobs" search={{ vc, state, members: true }} />}>
    {text}
  </Anchor>
);

/** The GPUs in all, those of given models, and what is said of CPUs and memory. */
function shareText(share: Schemas["ShareOut"], n: (value: number) => string): string {
  const models = Object.entries(share.gpuModels).map(([model, count]) => `${n(count)} × ${model}`);
  const gpus = models.length > 0 ? models.join(", ") : `${n(share.gpu)} GPU`;
  const cpu = share.cpu && share.cpu !== "0" ? `${coresText(share.cpu)} CPU` : "";
  const memory = share.memory && share.memory !== "0" ? share.memory : "";
  return [gpus, cpu, memory].filter(Boolean).join(" · ");
}

function limitsText(
  limits: Schemas["LimitsOut"],
  kinds: Readonly<Record<string, string>>,
  n: (value: number) => string,
): string {
  return Object.entries(limits)
    .flatMap(([kind, limit]) => (limit === null ? [] : [`${named(kinds, kind)} ${n(limit)}`]))
    .join(" · ");
}
