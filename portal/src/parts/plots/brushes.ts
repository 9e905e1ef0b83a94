import type { Scale } from "./scales";

/** A part of an axis, from 0 to 1. */
export interface Brush {
  low: number;
  high: number;
}

export type Brushes = Readonly<Record<string, Brush | undefined>>;

/** Whether a run passes through the chosen part of every axis that has one. */
export const isWithin = (scales: readonly Scale[], brushes: Brushes, run: number): boolean =>
  scales.every(({ name, places }) => {
    const brush = brushes[name];
    const place = places[run];
    return !brush || (place !== null && place !== undefined && place >= brush.low && place <= brush.high);
  });
