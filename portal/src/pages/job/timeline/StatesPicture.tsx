import { useElementSize } from "@mantine/hooks";

import { marksOf, type Lane, type Picture } from "./layout";
import classes from "./Timeline.module.css";
import { durationText } from "@/parts/amounts";
import { fill, LOCALES, named, useLanguage } from "@/words/language";

const NAME_WIDTH = 120;
const LANE = 20;
const BAR = 14;
const AXIS = 22;
const GAP = 8; // between attempts

/** The picture of states over time. The table beside it says the same to those who cannot see it. */
export function StatesPicture({ picture }: { picture: Picture }) {
  const { language, words } = useLanguage();
  const { ref, width } = useElementSize();
  const drawn = Math.max(200, width) - NAME_WIDTH - 8;
  const places = placesOf(picture.lanes);
  const height = AXIS + (places.at(-1) ?? 0) + LANE;
  const isLong = picture.to - picture.from > 86_400_000;
  const time = new Intl.DateTimeFormat(LOCALES[language], {
    hour: "2-digit",
    minute: "2-digit",
    ...(isLong ? { day: "numeric", month: "short" } : { second: "2-digit" }),
  });
  return (
    <div ref={ref} className={classes.picture}>
      <svg width={Math.max(200, width)} height={height} role="img" aria-label={words.job.timeline.picture}>
        {marksOf(picture.from, picture.to, Math.max(2, drawn / 110)).map((at) => {
          const x = NAME_WIDTH + ((at - picture.from) / (picture.to - picture.from)) * drawn;
          return (
            <g key={at}>
              <line x1={x} x2={x} y1={AXIS - 6} y2={height} className={classes.mark} />
              <text x={x} y={12} className={classes.tick}>
                {time.format(at)}
              </text>
            </g>
          );
        })}
        {picture.lanes.map((lane, index) => (
          <g key={`${lane.attempt} ${lane.name}`} transform={`translate(0 ${AXIS + places[index]!})`}>
            <text x={0} y={BAR - 2} className={classes.name}>
              {shortened(lane.name ? nameOf(lane, picture, words.job.timeline.attempt) : words.job.timeline.job)}
            </text>
            {lane.stretches.map((stretch) => {
              const label = `${named(words.states, stretch.state)}, ${durationText(words, (stretch.to - stretch.from) / 1000)}`;
              const room = stretch.width * drawn;
              return (
                <g key={stretch.from}>
                  <rect
                    x={NAME_WIDTH + stretch.left * drawn}
                    y={0}
                    width={Math.max(2, room)}
                    height={BAR}
                    rx={2}
                    data-state={stretch.state}
                    className={classes.bar}
                  >
                    <title>{`${lane.name} ${label}`}</title>
                  </rect>
                  {room > 90 && (
                    <text x={NAME_WIDTH + stretch.left * drawn + 5} y={BAR - 3} className={classes.inside}>
                      {named(words.states, stretch.state)}
                    </text>
                  )}
                </g>
              );
            })}
          </g>
        ))}
      </svg>
    </div>
  );
}

/** The vertical place of each lane: attempts are set apart. */
function placesOf(lanes: Lane[]): number[] {
  let y = 0;
  return lanes.map((lane, index) => {
    if (index > 0) y += LANE + (lane.attempt !== lanes[index - 1]!.attempt ? GAP : 0);
    return y;
  });
}

function nameOf(lane: Lane, picture: Picture, attemptText: string): string {
  const isFirst = picture.lanes.find((each) => each.attempt === lane.attempt) === lane;
  const hasSeveral = picture.lanes.some((each) => each.attempt > 1);
  return isFirst && hasSeveral ? `${lane.name} · ${fill(attemptText, { n: lane.attempt })}` : lane.name;
}

const shortened = (name: string): string => (name.length > 20 ? `${name.slice(0, 19)}…` : name);
