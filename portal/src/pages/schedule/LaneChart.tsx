import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";

import classes from "./LaneChart.module.css";
import {
  comingLanes,
  inOrder,
  placeOf,
  placeOfSpan,
  shownOf,
  ticksOf,
  type Ahead,
  type Coming,
  type ComingLane,
  type Lane,
  type Place,
  type Schedule,
  type Shown,
  type Span,
} from "./lanes";
import { ownerTone } from "@/pages/cluster/cells";
import { timeText } from "@/parts/amounts";
import { fill, LOCALES, named, useLanguage } from "@/words/language";

const ROW_PX = 18;

/** A lane for each GPU, and one for each node to which something comes; only those in view are drawn. A span is a link
 * to its job. */
export function LaneChart({ schedule, ahead }: { schedule: Schedule; ahead: Ahead }) {
  const { language, words } = useLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useMemo(() => shownOf(schedule, ahead), [schedule, ahead]);
  const lanes = useMemo(() => inOrder([...schedule.lanes, ...comingLanes(schedule, shown)]), [schedule, shown]);
  const { since, now, end } = shown;
  const rows = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  });
  const isLong = end - since > 2 * 86_400_000;
  const clock = new Intl.DateTimeFormat(
    LOCALES[language],
    isLong ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit" },
  );
  return (
    <div className={classes.chart} role="figure" aria-label={words.schedule.title}>
      <div className={classes.ticks}>
        {ticksOf(since, end).map((tick) => (
          <span key={tick.left} className={classes.tick} style={{ left: `${tick.left}%` }}>
            {clock.format(tick.at)}
          </span>
        ))}
      </div>
      {/* A region that scrolls must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div ref={scroller} className={classes.scroller} tabIndex={0} role="group" aria-label={words.schedule.lane}>
        <div className={classes.lanes} style={{ height: rows.getTotalSize() }}>
          {now < end && (
            <div className={classes.future}>
              <div
                className={classes.now}
                style={{ left: `${placeOf(now, now, shown).left}%` }}
                title={words.schedule.now}
              />
            </div>
          )}
          {rows.getVirtualItems().map((row) => {
            const lane = lanes[row.index];
            if (!lane) return null;
            return (
              <div key={row.key} className={classes.lane} style={{ transform: `translateY(${row.start}px)` }}>
                <LaneName lane={lane} isFirst={lanes[row.index - 1]?.node !== lane.node} />
                <div className={classes.track}>
                  <Bars lane={lane} shown={shown} />
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function LaneName({ lane, isFirst }: { lane: Lane | ComingLane; isFirst: boolean }) {
  const { words } = useLanguage();
  const [sign, meaning] =
    "coming" in lane
      ? ["»", words.schedule.expected]
      : lane.device === null
        ? ["–", words.schedule.cpuOnly]
        : [lane.device, `GPU ${lane.device}`];
  return (
    <span className={classes.name} title={`${lane.cluster} / ${lane.node} · ${meaning}`}>
      {isFirst && <b>{lane.node}</b>}
      <span className="soft"> {sign}</span>
    </span>
  );
}

function Bars({ lane, shown }: { lane: Lane | ComingLane; shown: Shown }) {
  if ("coming" in lane) {
    return lane.coming.map((coming, index) => (
      <ComingBar
        key={coming.job ?? index}
        coming={coming}
        place={placeOf(coming.from, coming.to, shown)}
        node={lane.node}
      />
    ));
  }
  return lane.spans.map((span) => (
    <SpanBar key={`${span.task ?? ""} ${span.from}`} span={span} place={placeOfSpan(span, shown)} node={lane.node} />
  ));
}

function SpanBar({ span, place, node }: { span: Span; place: Place; node: string }) {
  const { language, words } = useLanguage();
  const title = fill(words.schedule.spanOf, {
    name: span.name,
    owner: span.owner ?? words.schedule.hidden,
    node,
    state: named(words.states, span.state),
    from: timeText(language, span.from),
    to: span.to ? timeText(language, span.to) : words.schedule.now,
  });
  return (
    <JobBar
      job={span.job}
      name={span.name}
      title={title}
      place={place}
      data-tone={span.owner ? ownerTone(span.owner) : "held"}
      data-ended={span.to ? "" : undefined}
      data-state={span.state}
    />
  );
}

function ComingBar({ coming, place, node }: { coming: Coming; place: Place; node: string }) {
  const { language, words } = useLanguage();
  const { kind, name, owner, from, to } = coming;
  const title = fill(words.schedule.comingOf[kind], {
    name,
    owner: owner ?? words.schedule.hidden,
    node,
    from: timeText(language, new Date(from).toISOString()),
    to: to === Infinity ? "?" : timeText(language, new Date(to).toISOString()),
  });
  return <JobBar job={coming.job} name={name} title={title} place={place} data-coming={kind} />;
}

interface JobBarProps {
  job: string | null;
  name: string;
  title: string;
  place: Place;
  "data-tone"?: string;
  "data-ended"?: string | undefined;
  "data-state"?: string;
  "data-coming"?: Coming["kind"];
}

function JobBar({ job, name, title, place, ...data }: JobBarProps) {
  const navigate = useNavigate();
  return (
    <button
      type="button"
      className={classes.span}
      style={{ left: `${place.left}%`, width: `${place.width}%` }}
      {...data}
      title={title}
      aria-label={title}
      disabled={!job}
      onClick={() => void (job && navigate({ to: "/jobs/$ref", params: { ref: job } }))}
    >
      {name}
    </button>
  );
}
