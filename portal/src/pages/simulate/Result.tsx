import { Text, Title } from "@mantine/core";
import { useMemo } from "react";

import { curvesOf, figureText, quantilesShown, shareAtOnce, MEASURES, type Curve } from "./curves";
import classes from "./Result.module.css";
import type { Schemas } from "@/api/client";
import { durationText } from "@/parts/amounts";
import { Chart } from "@/parts/charts/Chart";
import { plain } from "@/parts/charts/labels";
import { Listing, type Part } from "@/parts/Listing";
import { fill, useLanguage } from "@/words/language";

type Outcome = Schemas["SimulationResult"];
const CURVES: Curve[] = ["waitingJobs", "busyGpus", "waitingGpus"];

/** What was and each variant, side by side: curves, how long jobs waited, and the usual figures. */
export function Result({ result }: { result: Outcome }) {
  const { words } = useLanguage();
  const times = useMemo(() => result.at.map((at) => Date.parse(at) / 1000), [result.at]);
  const titles = result.runs.map((run, index) => (index === 0 ? words.simulate.asItWas : run.title));
  return (
    <>
      <div className={classes.charts}>
        {CURVES.map((curve) => (
          <Curves key={curve} curve={curve} times={times} result={result} titles={titles} />
        ))}
      </div>
      <Title order={2} size="h5">
        {words.simulate.waits}
      </Title>
      <Waits result={result} titles={titles} />
      <Title order={2} size="h5">
        {words.simulate.figures}
      </Title>
      <Figures result={result} titles={titles} />
    </>
  );
}

interface Shown {
  result: Outcome;
  titles: string[];
}

function Curves({ curve, times, result, titles }: Shown & { curve: Curve; times: number[] }) {
  const { words } = useLanguage();
  const names = titles.join("\0");
  const series = useMemo(() => curvesOf(result, curve, names.split("\0")), [result, curve, names]);
  return <Chart title={words.simulate[curve]} times={times} series={series} format={plain} sync="simulation" />;
}

function Waits({ result, titles }: Shown) {
  const { words } = useLanguage();
  const shares = result.runs[0]?.waits.shares ?? [];
  const atOnce = titles.map((_, run) => shareAtOnce(result.runs[run]?.waits));
  const parts: Part<number>[] = [
    {
      label: words.simulate.share,
      cell: (at) => fill(words.simulate.shareOf, { percent: Math.round((shares[at] ?? 0) * 1000) / 10 }),
    },
    ...titles.map((title, run) => ({
      label: title,
      isNumber: true,
      cell: (at: number) => durationText(words, result.runs[run]?.waits.seconds[at] ?? 0),
    })),
  ];
  return (
    <>
      {titles.map((title, run) => (
        <Text key={run} size="sm">
          {fill(words.simulate.startedAtOnce, { title, percent: Math.round((atOnce[run] ?? 0) * 100) })}
        </Text>
      ))}
      {atOnce.some((share) => share < 1) && (
        <Listing label={words.simulate.waits} parts={parts} rows={quantilesShown(shares)} keyOf={String} />
      )}
    </>
  );
}

function Figures({ result, titles }: Shown) {
  const { language, words } = useLanguage();
  type Measure = (typeof MEASURES)[number];
  const parts: Part<Measure>[] = [
    { label: words.simulate.figures, cell: (measure) => words.simulate.measures[measure.name] },
    ...titles.map((title, run) => ({
      label: title,
      isNumber: true,
      cell: (measure: Measure) => figureText(words, language, measure, result.runs[run]?.summary[measure.name]),
    })),
  ];
  return <Listing label={words.simulate.figures} parts={parts} rows={MEASURES} keyOf={(measure) => measure.name} />;
}
