import "uplot/dist/uPlot.min.css";

import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";

import { ChartFigure } from "./ChartFigure";
import { dashOf, strokeToken, type Series } from "./series";
import { valueText } from "@/parts/plots/scales";
import { useWords } from "@/words/language";

interface StepChartProps {
  title: string;
  /** Ascending. */
  steps: number[];
  series: Series[];
  height?: number;
}

/** Curves of what programs report, over their steps. The scale begins where the values do. */
export function StepChart({ title, steps, series, height = 200 }: StepChartProps) {
  const words = useWords();
  const scheme = useComputedColorScheme("light");
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const labels = series.map((each) => each.label).join("\0");
  const stepWord = words.experiments.step;
  const data = useMemo<uPlot.AlignedData>(() => [steps, ...series.map((each) => each.values)], [steps, series]);

  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const token = (name: string) => getComputedStyle(target).getPropertyValue(name).trim();
    const line = { stroke: token("--line"), width: 1 };
    const axis = { stroke: token("--ink-soft"), grid: line, ticks: line };
    const made = new uPlot(
      {
        width: target.clientWidth,
        height,
        cursor: { points: { size: 5 } },
        legend: { show: labels.includes("\0"), live: true },
        scales: { x: { time: false } },
        axes: [
          { ...axis, space: 60, values: (_, ticks) => ticks.map((tick) => valueText(tick)) },
          { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => valueText(tick)) },
        ],
        series: [
          { label: stepWord, value: (_, step: number | null) => valueText(step) },
          ...labels.split("\0").map((label, index) => ({
            label,
            stroke: token(strokeToken(index)),
            dash: dashOf(index),
            width: 1.5,
            spanGaps: false,
            value: (_: uPlot, value: number | null) => valueText(value),
          })),
        ],
      },
      [[]],
      target,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: target.clientWidth, height }));
    resized.observe(target);
    return () => {
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [labels, height, stepWord, scheme]);

  useEffect(() => {
    plot.current?.setData(data);
  }, [data, labels, height, stepWord, scheme]);

  return <ChartFigure title={title} series={series} shown={valueText} place={place} />;
}
