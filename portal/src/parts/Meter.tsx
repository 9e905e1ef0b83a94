import { Progress } from "@mantine/core";

import classes from "./Meter.module.css";

export interface MeterPart {
  /** The token of the colour, such as `--accent`. */
  tone: string;
  label: string;
  amount: number;
}

interface MeterProps {
  /** Empty where the place of the bar says it, such as in a table. */
  label: string;
  /** The figures in words; they stand beside the bar, which only draws them. */
  text: string;
  parts: MeterPart[];
  most: number;
}

/** A bar of what is used of something, such as a quota or the GPUs of a cluster, with its figures as text. */
export function Meter({ label, text, parts, most }: MeterProps) {
  const whole = Math.max(
    most,
    parts.reduce((sum, part) => sum + part.amount, 0),
    Number.EPSILON,
  );
  return (
    <div className={classes.meter} data-plain={label === "" || undefined}>
      {label && (
        <span className={classes.label} title={label}>
          {label}
        </span>
      )}
      <Progress.Root size="md" aria-hidden="true" className={classes.bar ?? ""}>
        {parts.map((part) => (
          <Progress.Section
            key={part.label}
            withAria={false}
            value={(100 * part.amount) / whole}
            color={`var(${part.tone})`}
            title={`${part.label}: ${part.amount}`}
          />
        ))}
      </Progress.Root>
      <span className={classes.text}>{text}</span>
    </div>
  );
}
