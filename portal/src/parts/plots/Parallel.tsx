import { Button, Group, Paper, Text } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { useMemo, useState, type PointerEvent, type ReactNode } from "react";

import { isWithin, type Brush, type Brushes } from "./brushes";
import classes from "./Plots.module.css";
import { lineOf } from "./runLines";
import { scaleOf, type Scale, type Value } from "./scales";
import { Scrolled } from "@/parts/Scrolled";
import { plural, useLanguage } from "@/words/language";

export interface ParallelColumn {
  name: string;
  values: (Value | null | undefined)[];
}

interface ParallelProps {
  title: string;
  columns: ParallelColumn[];
  names: readonly string[];
  /** What can be done with the runs that are chosen, by their places. */
  acts?: (chosen: number[]) => ReactNode;
}

const HEIGHT = 360;
const BOX = { side: 70, top: 40, bottom: 340 };
const AXIS_ROOM = 100;
const GRIP = 30;
const LONGEST = 13;
const [LOW, HIGH] = ["var(--series-0)", "var(--series-1)"];

/**
 * Runs as lines over an axis for each parameter and metric, with the colour of their place on the last axis. Dragging
 * along an axis chooses the runs that pass there; several axes hold together, and a click ends it.
 */
export function Parallel({ title, columns, names, acts }: ParallelProps) {
  const { language, words } = useLanguage();
  const { ref, width: room } = useElementSize();
  const [brushes, setBrushes] = useState<Brushes>({});
  const scales = useMemo(() => columns.map(({ name, values }) => scaleOf(name, values)), [columns]);
  const chosen = useMemo(
    () => names.map((_, run) => run).filter((run) => isWithin(scales, brushes, run)),
    [names, scales, brushes],
  );
  const isBrushed = scales.some(({ name }) => brushes[name] !== undefined);
  const width = Math.max(room, 2 * BOX.side + AXIS_ROOM * (scales.length - 1), 280);
  const across = (axis: number) =>
    scales.length === 1 ? width / 2 : BOX.side + (axis / (scales.length - 1)) * (width - BOX.side - 30);
  const shown = new Set(chosen);
  const order = names.map((_, run) => run).sort((one, other) => Number(shown.has(one)) - Number(shown.has(other)));
  return (
    <Paper withBorder p="xs" component="figure" m={0}>
      <Group justify="space-between" gap="xs">
        <Text size="xs" fw={600} component="figcaption">
          {title}
        </Text>
        <Group gap={6} mih={24}>
          <Text size="xs" className="soft" role="status">
            {isBrushed
              ? plural(language, words.experiments.chosenOf, chosen.length, { total: names.length })
              : words.experiments.brushHint}
          </Text>
          {isBrushed && (
            <Button variant="subtle" size="compact-xs" onClick={() => setBrushes({})}>
              {words.experiments.unbrush}
            </Button>
          )}
          {acts?.(isBrushed ? chosen : names.map((_, run) => run))}
        </Group>
      </Group>
      <Scrolled label={title}>
        <div ref={ref}>
          <svg width={width} height={HEIGHT} className={classes.wide} style={{ width }} role="img" aria-label={title}>
            {order.map((run) => (
              <RunLine
                key={run}
                name={names[run] ?? ""}
                line={lineOf(scales, run, across, up)}
                across={across}
                isAway={!shown.has(run)}
                colour={colourOf(scales.at(-1)?.places[run])}
              />
            ))}
            {scales.map((scale, axis) => (
              <Axis
                key={scale.name}
                scale={scale}
                x={across(axis)}
                brush={brushes[scale.name]}
                onBrush={(brush) => setBrushes((old) => ({ ...old, [scale.name]: brush }))}
              />
            ))}
          </svg>
        </div>
      </Scrolled>
    </Paper>
  );
}

interface RunLineProps {
  name: string;
  line: ReturnType<typeof lineOf>;
  across: (axis: number) => number;
  isAway: boolean;
  colour: string;
}

function RunLine({ name, line, across, isAway, colour }: RunLineProps) {
  const away = isAway || undefined;
  return (
    <g>
      <title>{name}</title>
      <path className={classes.line} data-away={away} stroke={colour} d={line.path} />
      {line.points.map(({ axis, place }) => (
        <circle
          key={axis}
          className={classes.lone}
          data-away={away}
          style={isAway ? undefined : { fill: colour }}
          cx={across(axis)}
          cy={up(place)}
          r={3.5}
        />
      ))}
    </g>
  );
}

interface AxisProps {
  scale: Scale;
  x: number;
  brush: Brush | undefined;
  onBrush: (brush: Brush | undefined) => void;
}

function Axis({ scale, x, brush, onBrush }: AxisProps) {
  const [from, setFrom] = useState<number | null>(null);
  const placeOf = (event: PointerEvent<SVGRectElement>) => {
    const top = event.currentTarget.ownerSVGElement?.getBoundingClientRect().top ?? 0;
    return Math.min(Math.max((BOX.bottom - (event.clientY - top)) / (BOX.bottom - BOX.top), 0), 1);
  };
  const begin = (event: PointerEvent<SVGRectElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setFrom(placeOf(event));
    onBrush(undefined);
  };
  const drag = (event: PointerEvent<SVGRectElement>) => {
    if (from === null) return;
    const to = placeOf(event);
    if (to !== from) onBrush({ low: Math.min(from, to), high: Math.max(from, to) });
  };
  return (
    <g>
      <line className={classes.axis} x1={x} x2={x} y1={BOX.top} y2={BOX.bottom} />
      <text x={x} y={BOX.top - 18} textAnchor="middle">
        {shortened(scale.name)}
        {scale.isLog && " (log)"}
        <title>{scale.name}</title>
      </text>
      {scale.ticks.map(({ place, label }) => (
        <text key={place} x={x - 6} y={up(place) + 4} textAnchor="end">
          {shortened(label)}
        </text>
      ))}
      {brush && (
        <rect
          className={classes.brush}
          x={x - 7}
          width={14}
          y={up(brush.high)}
          height={Math.max(up(brush.low) - up(brush.high), 1)}
        />
      )}
      <rect
        className={classes.grip}
        data-axis={scale.name}
        x={x - GRIP / 2}
        width={GRIP}
        y={BOX.top - 8}
        height={BOX.bottom - BOX.top + 16}
        onPointerDown={begin}
        onPointerMove={drag}
        onPointerUp={() => setFrom(null)}
        onPointerCancel={() => setFrom(null)}
      />
    </g>
  );
}

const up = (place: number): number => BOX.bottom - place * (BOX.bottom - BOX.top);

const colourOf = (place: number | null | undefined): string =>
  place === null || place === undefined
    ? "var(--ink-soft)"
    : `color-mix(in srgb, ${HIGH} ${Math.round(place * 100)}%, ${LOW})`;

const shortened = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`);
