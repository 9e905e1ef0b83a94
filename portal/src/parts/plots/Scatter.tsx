import { Paper, Text } from "@mantine/core";

import classes from "./Plots.module.css";
import { scaleOf, valueText, type Scale } from "./scales";

interface ScatterProps {
  title: string;
  x: Scale;
  values: readonly number[];
  /** The point that stands out. */
  best?: number;
  /** Whether a line of the best value so far is drawn; the points are in order then. */
  soFar?: "min" | "max" | undefined;
}

const [WIDTH, HEIGHT] = [400, 220];
const BOX = { left: 58, top: 10, right: 388, bottom: 190 };
const MOST_TICKS = 5;
const LONGEST = 12;
const NEAR_EDGE = 0.9;

/** A point for each value. What it shows stands in a table beside it, so that screen readers are told the title only. */
export function Scatter({ title, x, values, best = -1, soFar }: ScatterProps) {
  const y = scaleOf("", values);
  const across = (place: number) => BOX.left + place * (BOX.right - BOX.left);
  const up = (place: number | null | undefined) => BOX.bottom - (place ?? 0.5) * (BOX.bottom - BOX.top);
  const apart = Math.ceil(x.ticks.length / MOST_TICKS);
  return (
    <Paper withBorder p="xs" component="figure" m={0}>
      <Text size="xs" fw={600} component="figcaption">
        {title}
        {x.isLog && " (log)"}
      </Text>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className={classes.picture} role="img" aria-label={title}>
        <path className={classes.axis} fill="none" d={`M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}`} />
        {y.ticks.map(({ place, label }) => (
          <text key={place} x={BOX.left - 6} y={up(place) + 4} textAnchor="end">
            {label}
          </text>
        ))}
        {x.ticks
          .filter((_, index) => index % apart === 0)
          .map(({ place, label }) => (
            <text
              key={place}
              x={place > NEAR_EDGE ? WIDTH : across(place)}
              y={BOX.bottom + 18}
              textAnchor={place > NEAR_EDGE ? "end" : "middle"}
            >
              {shortened(label)}
            </text>
          ))}
        {soFar && <path className={classes.step} d={stepsOf(x, y, values, soFar, across, up)} />}
        {values.map((value, index) => {
          const place = x.places[index];
          if (place === null || place === undefined) return null;
          return (
            <circle
              key={index}
              className={index === best ? classes.best : classes.point}
              cx={across(place)}
              cy={up(y.places[index])}
              r={index === best ? 5 : 3}
            >
              <title>{valueText(value)}</title>
            </circle>
          );
        })}
      </svg>
    </Paper>
  );
}

function stepsOf(
  x: Scale,
  y: Scale,
  values: readonly number[],
  goal: "min" | "max",
  across: (place: number) => number,
  up: (place: number | null | undefined) => number,
): string {
  return bestSoFar(values, goal)
    .map((best, index) => {
      const at = across(x.places[index] ?? 0).toFixed(1);
      const height = up(y.places[best]).toFixed(1);
      return index === 0 ? `M${at} ${height}` : `H${at}V${height}`;
    })
    .join("");
}

/** For each value the place of the best one up to it. */
export function bestSoFar(values: readonly number[], goal: "min" | "max"): number[] {
  let best = 0;
  return values.map((value, index) => {
    const other = values[best]!;
    if (goal === "max" ? value > other : value < other) best = index;
    return best;
  });
}

const shortened = (text: string): string => (text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`);
