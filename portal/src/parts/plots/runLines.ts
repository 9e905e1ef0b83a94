import type { Scale } from "./scales";

interface RunLine {
  /** As SVG writes it. */
  path: string;
  /** Values without a neighbour, which no line shows. */
  points: { axis: number; place: number }[];
}

/** A run that lacks a value has a gap there. A value without a neighbour is a point, so that no run is unseen. */
export function lineOf(
  scales: readonly Scale[],
  run: number,
  across: (axis: number) => number,
  up: (place: number) => number,
): RunLine {
  const places = scales.map((scale) => scale.places[run] ?? null);
  const line: RunLine = { path: "", points: [] };
  places.forEach((place, axis) => {
    if (place === null) return;
    const [before, after] = [places[axis - 1] ?? null, places[axis + 1] ?? null];
    if (before === null && after === null) line.points.push({ axis, place });
    else line.path += `${before === null ? "M" : "L"}${across(axis).toFixed(1)} ${up(place).toFixed(1)}`;
  });
  return line;
}
