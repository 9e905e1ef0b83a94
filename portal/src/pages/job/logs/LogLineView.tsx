import { memo, type MouseEvent } from "react";

import { marked, spansOf, type Span } from "./ansi";
import classes from "./Log.module.css";
import type { FoundLine } from "./LogSearch";
import type { LogLine } from "./WorkerLog";
import { fill, LOCALES, useLanguage } from "@/words/language";

const LONGEST_SHOWN = 10_000;

interface LogLineViewProps {
  line: LogLine | undefined;
  n: number;
  worker: string;
  /** The number of the worker's colour; null if the log is of one worker. */
  tone: number | null;
  reference: string;
  searched: string;
  hasTime: boolean;
  onLine: (line: FoundLine) => void;
}

/** One line: its number, which is a link to it, its time, its worker, and its text. */
export const LogLineView = memo(function LogLineView(props: LogLineViewProps) {
  const { language, words } = useLanguage();
  const { line, n, worker, tone, onLine } = props;
  const open = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onLine({ worker, n });
  };
  const search = new URLSearchParams({ tab: "logs", worker, line: String(n) });
  return (
    <>
      {tone !== null && (
        <span className={classes.worker} data-tone={tone}>
          {worker}
        </span>
      )}
      <a
        href={`#/jobs/${encodeURIComponent(props.reference)}?${search}`}
        className={classes.number}
        tabIndex={-1}
        aria-label={fill(words.job.logs.linkTo, { n })}
        onClick={open}
      >
        {n}
      </a>
      {props.hasTime && (
        <span className={classes.time}>{line?.at ? new Date(line.at).toLocaleTimeString(LOCALES[language]) : ""}</span>
      )}
      <span className={classes.text}>
        {line ? <Spans text={line.text} searched={props.searched} /> : "…"}
        {line?.cutBytes ? <i className="soft">{fill(words.job.logs.cut, { n: line.cutBytes })}</i> : null}
      </span>
    </>
  );
});

export function Spans({ text, searched }: { text: string; searched: string }) {
  const spans = marked(spansOf(text.length > LONGEST_SHOWN ? text.slice(0, LONGEST_SHOWN) : text), searched);
  // Elements make hidden characters visible, after matches have been found in the text as it is.
  return <>{spans.map((span, index) => (span.isMatch ? <mark key={index}>{look(span)}</mark> : look(span, index)))}</>;
}

function look(span: Span, key?: number) {
  const { colour, ground, isBold, isDim, isItalic, isUnderlined } = span;
  if (!colour && !ground && !isBold && !isDim && !isItalic && !isUnderlined) return span.text;
  return (
    <span
      key={key}
      data-colour={colour}
      data-ground={ground}
      data-bold={isBold}
      data-dim={isDim}
      data-italic={isItalic}
      data-underlined={isUnderlined}
    >
      {span.text}
    </span>
  );
}
