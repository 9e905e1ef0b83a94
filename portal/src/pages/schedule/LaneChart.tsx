import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";

import classes from "./LaneChart.module.css";
import { barsOf, inOrder, ticksOf, type Bar, type Lane } from "./lanes";
import type { Schemas } from "@/api/client";
import { ownerTone } from "@/pages/cluster/cells";
import { timeText } from "@/parts/amounts";
import { fill, LOCALES, named, useLanguage } from "@/words/language";

const ROW_PX = 18;

/** One lane per GPU; only those in view are drawn. A span is a link to its job. */
export function LaneChart({ schedule }: { schedule: Schemas["ScheduleOut"] }) {
  const { language, words } = useLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const lanes = useMemo(() => inOrder(schedule.lanes), [schedule]);
  const since = Date.parse(schedule.since);
  const until = Date.parse(schedule.until);
  const rows = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  });
  const isLong = until - since > 86_400_000;
  const clock = new Intl.DateTimeFormat(
    LOCALES[language],
    isLong ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit" },
  );
  return (
    <div className={classes.chart} role="figure" aria-label={words.schedule.title}>
      <div className={classes.ticks}>
        {ticksOf(since, until).map((tick) => (
          <span key={tick.left} className={classes.tick} style={{ left: `${tick.left}%` }}>
            {clock.format(tick.at)}
          </span>
        ))}
      </div>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div ref={scroller} className={classes.scroller} tabIndex={0} role="group" aria-label={words.schedule.lane}>
        <div className={classes.lanes} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const lane = lanes[row.index];
            if (!lane) return null;
            return (
              <div key={row.key} className={classes.lane} style={{ transform: `translateY(${row.start}px)` }}>
                <LaneName lane={lane} isFirst={lanes[row.index - 1]?.node !== lane.node} />
                <div className={classes.track}>
                  {barsOf(lane, since, until).map((bar) => (
                    <SpanBar key={`${bar.span.task ?? ""} ${bar.span.from}`} bar={bar} />
                  ))}
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function LaneName({ lane, isFirst }: { lane: Lane; isFirst: boolean }) {
  const { words } = useLanguage();
  const device = lane.device === null ? words.schedule.cpuOnly : `GPU ${lane.device}`;
  return (
    <span className={classes.name} title={`${lane.cluster} / ${lane.node} · ${device}`}>
      {isFirst && <b>{lane.node}</b>}
      <span className="soft"> {lane.device ?? "–"}</span>
    </span>
  );
}

function SpanBar({ bar: { left, width, span, lane } }: { bar: Bar }) {
  const { language, words } = useLanguage();
  const navigate = useNavigate();
  const title = fill(words.schedule.spanOf, {
    name: span.name,
    owner: span.owner ?? words.schedule.hidden,
    node: lane.node,
    state: named(words.states, span.state),
    from: timeText(language, span.from),
    to: span.to ? timeText(language, span.to) : words.schedule.now,
  });
  const { job } = span;
  return (
    <button
      type="button"
      className={classes.span}
      style={{ left: `${left}%`, width: `${width}%` }}
      data-tone={span.owner ? ownerTone(span.owner) : "held"}
      data-ended={span.to ? "" : undefined}
      data-state={span.state}
      title={title}
      aria-label={title}
      disabled={!job}
      onClick={() => void (job && navigate({ to: "/jobs/$ref", params: { ref: job } }))}
    >
      {span.name}
    </button>
  );
}
