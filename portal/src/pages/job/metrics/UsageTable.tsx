import { Table, Title } from "@mantine/core";

import classes from "../timeline/Timeline.module.css";
import type { Schemas } from "@/api/client";
import { bytesText, durationText, numberText, rounded } from "@/parts/amounts";
import { Scrolled } from "@/parts/Scrolled";
import { useLanguage } from "@/words/language";

/** What the tasks asked for and used: the curves in figures, also for those who cannot see them. */
export function UsageTable({ usage, attempt }: { usage: Schemas["JobUseOut"]; attempt: number }) {
  const { language, words } = useLanguage();
  const w = words.job.metrics;
  const tasks = usage.attempts.find((each) => each.attempt === attempt)?.tasks ?? [];
  if (!tasks.length) return null;
  const amount = (value: number | null | undefined, shown: (value: number) => string) =>
    typeof value === "number" ? shown(value) : "–";
  const cores = (value: number) => numberText(language, rounded(value));
  const percent = (value: number) => `${value.toFixed(0)} %`;
  const headers = [
    `${w.cpu} · ${w.asked}`,
    `${w.cpu} · ${w.mean}`,
    `${w.cpu} · ${w.peak}`,
    `${w.memory} · ${w.asked}`,
    `${w.memory} · ${w.peak}`,
    `${w.gpu} · ${w.mean}`,
    `${w.gpuMemory} · ${w.peak}`,
    w.cpuTime,
    w.energy,
  ];
  return (
    <>
      <Title order={2} size="h6">
        {w.totals}
      </Title>
      <div className={classes.scroller}>
        <Scrolled label={w.totals}>
          <Table aria-label={w.totals}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{w.task}</Table.Th>
                {headers.map((name) => (
                  <Table.Th key={name} className="number">
                    {name}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {tasks.map(({ id, name, asked, used }) => (
                <Table.Tr key={id}>
                  <Table.Th scope="row">{name}</Table.Th>
                  {[
                    cores(asked.cores),
                    amount(used?.meanCores, cores),
                    amount(used?.peakCores, cores),
                    asked.memoryBytes ? bytesText(asked.memoryBytes) : "–",
                    amount(used?.peakMemoryBytes, bytesText),
                    amount(used?.gpuPercent, percent),
                    amount(used?.peakGpuMemoryBytes, bytesText),
                    amount(used?.cpuS, (seconds) => durationText(words, seconds)),
                    amount(used?.energyJ, (joules) => `${numberText(language, Math.round(joules / 3600))} Wh`),
                  ].map((text, index) => (
                    <Table.Td key={headers[index]} className="number">
                      {text}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Scrolled>
      </div>
    </>
  );
}
