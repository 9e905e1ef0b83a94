import { Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { fairness } from "./fairness";
import classes from "./VirtualClustersPage.module.css";
import type { VirtualCluster } from "@/api/client";
import { queries } from "@/api/queries";
import { durationText, numberText } from "@/parts/amounts";
import { Loading, ProblemBox } from "@/parts/feedback";
import { Meter } from "@/parts/Meter";
import { Section } from "@/parts/Section";
import { useLanguage } from "@/words/language";

/** The last week: what each got beside its part of all guarantees, and how long its jobs waited. */
export function FairnessTable({ clusters }: { clusters: VirtualCluster[] }) {
  const { language, words } = useLanguage();
  const report = useQuery(queries.report("vc", "7d"));
  const percent = (value: number) => `${numberText(language, Math.round(100 * value))} %`;
  const wait = (seconds: number | null) => (seconds === null ? "–" : durationText(words, seconds));
  return (
    <Section title={words.virtual.fairness}>
      {report.error && <ProblemBox error={report.error} onRetry={() => void report.refetch()} />}
      {report.isPending && <Loading />}
      {report.data?.onlyOwn && (
        <Text size="xs" className="soft">
          {words.virtual.onlyOwn}
        </Text>
      )}
      {report.data && (
        // A region that scrolls must be reachable by keyboard.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className={classes.wide} tabIndex={0} role="group" aria-label={words.virtual.fairness}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words.jobs.vc}</Table.Th>
                <Table.Th>{words.virtual.partUsed}</Table.Th>
                <Table.Th className="number">{words.virtual.partPromised}</Table.Th>
                <Table.Th className="number">{words.virtual.gpuHours}</Table.Th>
                <Table.Th className="number">{words.virtual.idle}</Table.Th>
                <Table.Th className="number">{words.jobs.title}</Table.Th>
                <Table.Th className="number">{words.virtual.medianWait}</Table.Th>
                <Table.Th className="number">{words.virtual.p95Wait}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {fairness(clusters, report.data).map((line) => (
                <Table.Tr key={line.name}>
                  <Table.Td>{line.name}</Table.Td>
                  <Table.Td className={classes.bar ?? ""}>
                    <Meter
                      label=""
                      text={percent(line.used)}
                      most={1}
                      parts={[{ tone: "--load-3", label: words.virtual.partUsed, amount: line.used }]}
                    />
                  </Table.Td>
                  <Table.Td className="number">{percent(line.promised)}</Table.Td>
                  <Table.Td className="number">{numberText(language, Math.round(line.gpuHours * 10) / 10)}</Table.Td>
                  <Table.Td className="number">
                    {numberText(language, Math.round(line.idleGpuHours * 10) / 10)}
                  </Table.Td>
                  <Table.Td className="number">{numberText(language, line.jobs)}</Table.Td>
                  <Table.Td className="number">{wait(line.medianWaitS)}</Table.Td>
                  <Table.Td className="number">{wait(line.p95WaitS)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Section>
  );
}
