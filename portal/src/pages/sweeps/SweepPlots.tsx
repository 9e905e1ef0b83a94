import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";

import { measured, paramOf, type Sweep } from "./view";
import type { SweepMember } from "@/api/queries";
import { durationText } from "@/parts/amounts";
import { Parallel } from "@/parts/plots/Parallel";
import classes from "@/parts/plots/Plots.module.css";
import { scaleOf, type Scale } from "@/parts/plots/scales";
import { Scatter } from "@/parts/plots/Scatter";
import { fill, useWords } from "@/words/language";
import type { Words } from "@/words/shape";

const MOST_PARAMS = 8;

/** The best so far over time, the value of each member and over each param, and all of it as lines over axes. */
export function SweepPlots({ sweep, members }: { sweep: Sweep; members: SweepMember[] }) {
  const words = useWords();
  const w = words.sweeps;
  const goal = sweep.goal ?? "min";
  const { found, values, best, ended } = useMemo(() => measured(members, goal), [members, goal]);
  const columns = useMemo(
    () => [
      ...sweep.params.map((name) => ({ name, values: found.map((member) => paramOf(member, name)) })),
      { name: sweep.metric, values },
    ],
    [sweep.params, sweep.metric, found, values],
  );
  if (found.length === 0) return <Text size="sm">{fill(w.noValue, { metric: sweep.metric })}</Text>;
  return (
    <Stack gap="xs">
      <div className={classes.plots}>
        {ended.length > 0 && (
          <Scatter
            title={fill(w.soFar, { metric: sweep.metric })}
            x={timeScale(words, sweep, ended)}
            values={ended.map((member) => member.value ?? 0)}
            soFar={goal}
          />
        )}
        <Scatter
          title={fill(w.overMembers, { metric: sweep.metric })}
          x={scaleOf(
            "member",
            found.map((member) => member.member),
          )}
          values={values}
          best={best}
        />
        {sweep.params.slice(0, MOST_PARAMS).map((name) => (
          <Scatter
            key={name}
            title={fill(w.overParam, { metric: sweep.metric, param: name })}
            x={scaleOf(
              name,
              found.map((member) => paramOf(member, name)),
            )}
            values={values}
            best={best}
          />
        ))}
      </div>
      <Parallel title={w.parallel} columns={columns} names={found.map((member) => member.name)} />
    </Stack>
  );
}

const PARTS = [0, 0.25, 0.5, 0.75, 1];

/** When members ended, since the sweep began. */
function timeScale(words: Words, sweep: Sweep, ended: readonly SweepMember[]): Scale {
  const begun = Date.parse(sweep.createdAt);
  const after = ended.map((member) => (Date.parse(member.endedAt ?? "") - begun) / 1000);
  const longest = Math.max(after.at(-1) ?? 0, 1);
  return {
    name: "time",
    places: after.map((seconds) => Math.max(seconds, 0) / longest),
    ticks: PARTS.map((place) => ({ place, label: durationText(words, longest * place) })),
    isLog: false,
  };
}
