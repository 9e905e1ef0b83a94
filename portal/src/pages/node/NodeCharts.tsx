import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";

import classes from "./NodeCharts.module.css";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { bytesText } from "@/parts/amounts";
import { percent, watts, type Format } from "@/parts/charts/labels";
import { Loading } from "@/parts/feedback";
import type { Series } from "@/parts/charts/series";
import { useWords } from "@/words/language";

type Sample = Schemas["UsageSample"];

const Chart = lazy(() => import("@/parts/charts/Chart").then((module) => ({ default: module.Chart })));

const bytesPerSecond: Format = (value, more) => `${bytesText(value, more)}/s`;

/** The last minutes of a node: CPU, memory, network, and each GPU's load, memory and power. */
export function NodeCharts({ name, cluster }: { name: string; cluster: string }) {
  const words = useWords();
  const usage = useQuery(queries.nodeUsage(name, cluster));
  const items = useMemo(() => usage.data?.items ?? [], [usage.data]);
  const times = useMemo(() => items.map((item) => Date.parse(item.at) / 1000), [items]);
  if (usage.isPending) return <Loading />;
  if (items.length === 0) {
    return (
      <Text size="sm" className="soft">
        {words.node.nothingMeasured}
      </Text>
    );
  }
  const cpu = [{ label: "CPU", values: items.map((item) => item.cpuPercent) }];
  const memory = [{ label: words.node.memory, values: items.map((item) => item.memoryUsedBytes) }];
  const network = [
    { label: words.node.received, values: items.map((item) => rate(item, "rxBytesS")) },
    { label: words.node.sent, values: items.map((item) => rate(item, "txBytesS")) },
  ];
  const ofGpus = (key: string): Series[] => gpuSeries(items, key);
  const hasGpus = (items.at(-1)?.gpus ?? []).length > 0;
  return (
    <Suspense fallback={<Loading />}>
      <div className={classes.charts}>
        <Chart title="CPU" times={times} series={cpu} format={percent} most={100} />
        <Chart title={words.node.memory} times={times} series={memory} format={bytesText} isBytes />
        <Chart title={words.node.network} times={times} series={network} format={bytesPerSecond} isBytes />
        {hasGpus && (
          <>
            <Chart title={words.node.gpuLoad} times={times} series={ofGpus("load")} format={percent} most={100} />
            <Chart
              title={words.node.gpuMemory}
              times={times}
              series={ofGpus("memoryUsedBytes")}
              format={bytesText}
              isBytes
            />
            <Chart title={words.node.power} times={times} series={ofGpus("powerW")} format={watts} />
          </>
        )}
      </div>
    </Suspense>
  );
}

const rate = (sample: Sample, key: string): number =>
  sample.net.reduce((sum, link) => sum + Number((link as Record<string, unknown>)[key] ?? 0), 0);

function gpuSeries(items: Sample[], key: string): Series[] {
  const last = (items.at(-1)?.gpus ?? []) as Record<string, unknown>[];
  return last.map((gpu) => ({
    label: `GPU ${String(gpu.index)}`,
    values: items.map((item) => {
      const found = (item.gpus as Record<string, unknown>[]).find((each) => each.index === gpu.index)?.[key];
      return typeof found === "number" ? found : null;
    }),
  }));
}
