import "uplot/dist/uPlot.min.css";

import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";

import { ChartFigure } from "./ChartFigure";
import { tickLabels, upperEnd, type Format } from "./labels";
import { dashOf, strokeToken, timeRange, type Series } from "./series";
import { LOCALES, useLanguage } from "@/words/language";

interface ChartProps {
  title: string;
  /** Seconds since 1970, ascending. */
  times: number[];
  series: Series[];
  format: Format;
  /** Whether the values are bytes, of which powers of two are the round ones. */
  isBytes?: boolean;
  /** The upper end of the scale, if it is fixed. */
  most?: number;
  height?: number;
  /** Charts with the same name share the cursor. */
  sync?: string;
}

/** Curves over time. New values are drawn without losing zoom or cursor; screen readers get a table. */
export function Chart({ title, times, series, format, isBytes, most, height = 150, sync = "charts" }: ChartProps) {
  const { language, words } = useLanguage();
  const timeWord = words.charts.time;
  const scheme = useComputedColorScheme("light");
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useMemo<uPlot.AlignedData>(() => [times, ...series.map((each) => each.values)], [times, series]);
  const labels = series.map((each) => each.label).join("\0");
  const formatted = useRef(format);
  useEffect(() => {
    formatted.current = format;
  });

  useEffect(() => {
    const target = place.current;
    if (!target) return;
    const token = (name: string) => getComputedStyle(target).getPropertyValue(name).trim();
    const [ink, line] = [token("--ink-soft"), token("--line")];
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const made = new uPlot(
      {
        width: target.clientWidth,
        height,
        cursor: { sync: { key: sync }, points: { size: 5 } },
        legend: { show: labels.includes("\0"), live: true },
        scales: {
          x: { range: (_, first, last) => timeRange(first, last) },
          y: { range: (_, __, max) => [0, most ?? upperEnd(max, isBytes ?? false)] },
        },
        axes: [
          { ...axis, space: 76, values: (_, ticks, __, ___, step) => timeLabels(ticks, step, LOCALES[language]) },
          {
            ...axis,
            size: (self, labels, index) => roomFor(self, labels, index),
            values: (_, ticks) => tickLabels(ticks, formatted.current),
            ...(isBytes && { incrs: POWERS_OF_TWO }),
          },
        ],
        series: [
          { label: timeWord, value: (_, at: number | null) => (at === null ? "–" : secondText(at, LOCALES[language])) },
          ...labels.split("\0").map((label, index) => ({
            label,
            stroke: token(strokeToken(index)),
            dash: dashOf(index),
            width: 1.5,
            spanGaps: false,
            value: (_: uPlot, value: number | null) => (value === null ? "–" : formatted.current(value)),
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
  }, [labels, isBytes, most, height, sync, language, timeWord, scheme]);

  useEffect(() => {
    plot.current?.setData(data, !isZoomed(plot.current));
  }, [data, labels, isBytes, most, height, sync, language, timeWord, scheme]);

  const shown = (value: number | null) => (value === null ? "–" : format(value));
  return <ChartFigure title={title} series={series} shown={shown} place={place} />;
}

const POWERS_OF_TWO = Array.from({ length: 50 }, (_, power) => 2 ** power);

const LEAST_ROOM = 40;

/** As wide as the longest label, so that none is cut. */
function roomFor(plot: uPlot, labels: string[] | null, index: number): number {
  const axis = plot.axes[index];
  const font: unknown = axis?.font; // uPlot has made it a list, with the font for this screen first
  if (Array.isArray(font) && typeof font[0] === "string") plot.ctx.font = font[0];
  const widest = Math.max(0, ...(labels ?? []).map((label) => plot.ctx.measureText(label).width));
  return Math.max(LEAST_ROOM, Math.ceil(widest / devicePixelRatio + (axis?.ticks?.size ?? 10) + (axis?.gap ?? 5) + 2));
}

/** Whether the reader has chosen a part of the time, which new values must not take away. */
function isZoomed(plot: uPlot): boolean {
  const { min, max } = plot.scales.x ?? {};
  const times = plot.data[0];
  if (times.length < 2 || typeof min !== "number" || typeof max !== "number") return false;
  return min > times[0]! || max < times[times.length - 1]!;
}

const secondText = (at: number, locale: string): string =>
  new Intl.DateTimeFormat(locale, { timeStyle: "medium", hourCycle: "h23" }).format(new Date(at * 1000));

/** Seconds only where ticks are closer than a minute, days only where they are further apart than a day. */
function timeLabels(ticks: number[], step: number, locale: string): string[] {
  const options: Intl.DateTimeFormatOptions =
    step >= 86_400
      ? { month: "short", day: "numeric" }
      : { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) };
  const format = new Intl.DateTimeFormat(locale, { hourCycle: "h23", ...options });
  return ticks.map((tick) => format.format(new Date(tick * 1000)));
}
