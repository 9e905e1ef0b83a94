import { Button, Group, Text } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";

import classes from "./Log.module.css";
import { LogLineView } from "./LogLineView";
import type { Target } from "./LogPane";
import type { FoundLine } from "./LogSearch";
import type { LogSession } from "./LogSession";
import { numberText } from "@/parts/amounts";
import { fill, useLanguage } from "@/words/language";

const ROW_HEIGHT = 18; // --log-row-height
/** An element of Chromium ends at 33,554,428 px, so that longer logs are shown in parts. */
const MOST_ROWS = 1_500_000;
const AT_END_PX = 24;

interface LogViewerProps {
  session: LogSession;
  reference: string;
  label: string;
  target: Target | null;
  searched: string;
  isWrapped: boolean;
  hasTimes: boolean;
  isFollowing: boolean;
  onFollow: (follow: boolean) => void;
  onLine: (line: FoundLine) => void;
}

/** The lines of a log of any length, of which only those in view are drawn and loaded. */
export function LogViewer(props: LogViewerProps) {
  const { session, target, isFollowing, isWrapped, onFollow } = props;
  const { language, words } = useLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const lastTop = useRef(0);
  const total = session.count;
  const targetIndex = target ? session.indexOf(target.worker, target.n) : -1;
  const [chosenPart, choosePart] = useState<number | null>(null);
  const lastPart = Math.floor(Math.max(0, total - 1) / MOST_ROWS);
  const part = isFollowing ? lastPart : Math.min(lastPart, chosenPart ?? lastPart);
  const first = part * MOST_ROWS;
  const count = Math.min(MOST_ROWS, total - first);

  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
    // so that lines at the beginning are not loaded only to be left again
    initialOffset: () => Math.max(0, targetIndex < 0 ? count : targetIndex - first) * ROW_HEIGHT,
  });
  const items = virtual.getVirtualItems();
  const from = first + (items[0]?.index ?? 0);
  const to = first + (items.at(-1)?.index ?? -1);

  useEffect(() => virtual.measure(), [virtual, isWrapped]);
  useEffect(() => {
    if (to >= from) session.want(from, to);
  }, [session, from, to, total]);
  useLayoutEffect(() => {
    if (!isFollowing || count === 0) return;
    virtual.scrollToIndex(count - 1, { align: "end" });
  }, [virtual, isFollowing, count, isWrapped]);
  useEffect(() => {
    if (targetIndex < 0) return;
    const wanted = Math.floor(targetIndex / MOST_ROWS);
    choosePart(wanted);
    virtual.scrollToIndex(targetIndex - wanted * MOST_ROWS, { align: "center" });
    scroller.current?.scrollIntoView({ block: "nearest" }); // the page may have scrolled, too
  }, [virtual, target, targetIndex, part]);

  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX;
    const wentUp = element.scrollTop < lastTop.current - 2;
    lastTop.current = element.scrollTop;
    if (isFollowing && wentUp && !isAtEnd) {
      choosePart(part);
      onFollow(false);
    } else if (!isFollowing && isAtEnd && part === lastPart && !wentUp && !target) onFollow(true);
  };
  const showEarlier = () => {
    onFollow(false);
    if (session.merged) session.merged.loadEarlier();
    else choosePart(part - 1);
  };
  return (
    <>
      {(lastPart > 0 || session.merged?.hasEarlier) && (
        <Group gap="xs" className={classes.parts ?? ""}>
          <Button
            variant="default"
            size="compact-xs"
            disabled={session.merged ? session.merged.isFull : part === 0}
            onClick={showEarlier}
          >
            {words.job.logs.earlier}
          </Button>
          {!session.merged && (
            <>
              <Text size="xs">
                {fill(words.job.logs.part, {
                  from: numberText(language, first + 1),
                  to: numberText(language, first + count),
                })}
              </Text>
              <Button
                variant="default"
                size="compact-xs"
                disabled={part === lastPart}
                onClick={() => choosePart(part + 1)}
              >
                {words.job.logs.later}
              </Button>
            </>
          )}
        </Group>
      )}
      <div
        ref={scroller}
        className={classes.scroller}
        data-wrap={isWrapped || undefined}
        onScroll={onScroll}
        role="log"
        aria-label={props.label}
        aria-live={isFollowing ? "polite" : "off"}
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it
        tabIndex={0}
        data-testid="log"
      >
        <div className={classes.rows} style={{ height: virtual.getTotalSize() }}>
          <div className={classes.shown} style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
            {items.map((item) => {
              const row = session.row(first + item.index);
              return (
                <div
                  key={item.key}
                  data-index={item.index}
                  ref={isWrapped ? virtual.measureElement : null}
                  className={classes.row}
                  data-target={first + item.index === targetIndex || undefined}
                >
                  <LogLineView
                    line={row.line}
                    n={row.n}
                    worker={session.logs[row.worker]?.worker ?? ""}
                    tone={session.merged ? row.worker % 8 : null}
                    reference={props.reference}
                    searched={props.searched}
                    hasTime={props.hasTimes}
                    onLine={props.onLine}
                  />
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </>
  );
}
