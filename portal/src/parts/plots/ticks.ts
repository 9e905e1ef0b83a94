const MOST = 5;
const MOST_POWERS = 6;
const NEARLY = 1e-9;

/** Round values from `low` to `high`: 1, 2 or 5 times a power of ten, and whole ones for what is counted. */
export function ticksBetween(low: number, high: number, isWhole: boolean): number[] {
  const round = roundStep((high - low) / MOST);
  const step = isWhole ? Math.max(round, 1) : round;
  if (!(step > 0 && Number.isFinite(step))) return [];
  const [first, last] = [Math.ceil(low / step - NEARLY), Math.floor(high / step + NEARLY)];
  const decimals = Math.min(Math.max(-Math.floor(Math.log10(step) + NEARLY), 0), 100);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toFixed(decimals)));
}

/** Powers of ten, for a logarithmic axis. */
export function powersBetween(low: number, high: number): number[] {
  const [first, last] = [Math.ceil(Math.log10(low) - NEARLY), Math.floor(Math.log10(high) + NEARLY)];
  const apart = Math.max(Math.ceil((last - first + 1) / MOST_POWERS), 1);
  return Array.from({ length: Math.floor((last - first) / apart) + 1 }, (_, index) => 10 ** (first + index * apart));
}

function roundStep(least: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((part) => part * magnitude >= least * (1 - NEARLY)) ?? 10) * magnitude;
}
