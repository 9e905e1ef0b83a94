import { Anchor, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

import { isWaiting } from "../acts";
import classes from "../JobPage.module.css";
import type { TabProps } from "../JobPage";
import { plainText } from "../logs/folding";
import { workerOf } from "../naming";
import type { Job, Schemas } from "@/api/client";
import { useWhenDue } from "@/api/due";
import { SELDOM } from "@/api/pacing";
import { queries } from "@/api/queries";
import { useMayRead } from "@/app/session";
import { useLiveQueue } from "@/pages/queue/live_queue";
import { ProblemBox } from "@/parts/feedback";
import { Reason } from "@/parts/Reason";
import { Ago, Expected } from "@/parts/Time";
import { WithCode } from "@/parts/WithCode";
import { adviceText, reasonText, stopText } from "@/words/coded";
import { fill, named, useLanguage } from "@/words/language";

type Explanation = Schemas["ExplainOut"];

/** Why the job waits, or why it failed: causes, figures, evidence, and what to do. Nothing for a job that just runs. */
export function Why({ reference, job }: TabProps) {
  const mayRead = useMayRead(job);
  const hasStory = isWaiting(job) || job.state === "Failed" || !!job.reason || job.preemptions > 0;
  const isAsked = mayRead && job.origin === "muster" && hasStory;
  const found = useQuery({ ...queries.explanation(reference), enabled: isAsked });
  const shown = useMemo(() => [queries.explanation(reference).queryKey], [reference]);
  useLiveQueue(shown, SELDOM, isAsked && job.state === "Queued");
  const { refetch } = found;
  useWhenDue(
    job.state === "Queued" ? found.data?.startsAt : null,
    useCallback(() => void refetch(), [refetch]),
  );
  if (!isAsked || (!found.data && !found.error)) return <ShortReason job={job} />;
  if (!found.data) return <ProblemBox error={found.error} />;
  if (found.data.fault) return <Failure reference={reference} job={job} found={found.data} />;
  if (job.state === "Held") return <OnHold job={job} found={found.data} />;
  if (found.data.reasons.length || isWaiting(job)) return <Waiting found={found.data} />;
  if (job.reason) return <PlainReason job={job} summary={found.data.summary} />;
  return <Stops attempts={found.data.attempts} />;
}

/** What the list says, which everybody who sees the job may read. */
function ShortReason({ job }: { job: Job }) {
  return job.reason ? (
    <Text size="sm" className={classes.why ?? ""}>
      <Reason job={job} />
    </Text>
  ) : null;
}

function PlainReason({ job, summary }: { job: Job; summary: string }) {
  return (
    <Text size="sm" className={classes.why ?? ""}>
      <Summary job={job} summary={summary} />
    </Text>
  );
}

/** The server's sentence about the job, or that about its reason in the reader's language. */
function Summary({ job, summary }: { job: Job; summary: string }) {
  const { language } = useLanguage();
  const reason = reasonText(language, { code: job.reasonCode, numbers: job.reasonNumbers, message: job.reason });
  return (
    <span title={summary}>
      <WithCode text={reason === job.reason ? summary : reason} />
    </span>
  );
}

/** By whom or why the job is held, and what lets it run. */
function OnHold({ job, found }: { job: Job; found: Explanation }) {
  const { words } = useLanguage();
  const why = words.job.why;
  const isBySomebody = job.reasonCode === "held";
  return (
    <section className={classes.why} data-kind="waits" aria-label={why.waits}>
      <Title order={2} size="h6">
        {why.waits}
      </Title>
      <Text size="sm" mt={4}>
        <Summary job={job} summary={found.summary} />
      </Text>
      <Text size="sm" mt={4}>
        <b>{why.next}</b> <WithCode text={isBySomebody ? fill(why.resume, { command: found.next }) : found.next} />
      </Text>
      <Stops attempts={found.attempts} />
    </section>
  );
}

function Waiting({ found }: { found: Explanation }) {
  const { words } = useLanguage();
  const why = words.job.why;
  return (
    <section className={classes.why} data-kind="waits" aria-label={why.waits}>
      <Title order={2} size="h6">
        {why.waits}
      </Title>
      <Reasons reasons={found.reasons} />
      <Start startsAt={found.startsAt} startsBy={found.startsBy} />
      <Stops attempts={found.attempts} />
    </section>
  );
}

const SHOWN_STOPS = 3;

/** By whom and why earlier attempts were stopped, the last one first. */
function Stops({ attempts }: { attempts: Explanation["attempts"] }) {
  const { language, words } = useLanguage();
  const stopped = attempts.filter(({ stoppedBecause, endedAt }) => stoppedBecause && endedAt).reverse();
  return stopped.slice(0, SHOWN_STOPS).map(({ attempt, endedAt, stoppedBecause }) => (
    <Text key={attempt} size="sm" mt={4} className={classes.why ?? ""}>
      {fill(words.job.why.stopped, { n: attempt })} <Ago at={endedAt} />: {stopText(language, stoppedBecause)}
    </Text>
  ));
}

export function Reasons({ reasons }: { reasons: Schemas["ReasonOut"][] }) {
  const { language } = useLanguage();
  return (
    <Stack gap={4} mt={4}>
      {reasons.map((reason) => {
        const shown = {
          message: reasonText(language, reason),
          change: reason.change && adviceText(language, { ...reason, message: reason.change }),
        };
        return (
          <div key={reason.code + reason.message}>
            <Text size="sm" title={reason.message}>
              <WithCode text={shown.message} />
            </Text>
            {shown.change && (
              <Text size="sm" className="soft">
                <WithCode text={shown.change} />
              </Text>
            )}
          </div>
        );
      })}
    </Stack>
  );
}

/** When the job is expected to start. */
export function Start({ startsAt, startsBy }: { startsAt: string | null; startsBy: string | null }) {
  const { words } = useLanguage();
  const why = words.job.why;
  if (!startsAt && !startsBy) {
    return (
      <Text size="sm" mt={4} className="soft">
        {why.startUnknown}
      </Text>
    );
  }
  return (
    <Text size="sm" mt={4} fw={600}>
      {startsAt && <Around text={why.startsAt} at={startsAt} />}
      {startsAt && startsBy && startsAt !== startsBy && " · "}
      {startsBy && startsAt !== startsBy && <Around text={why.startsBy} at={startsBy} />}
    </Text>
  );
}

/** A text with a time that counts down where `{time}` is. */
function Around({ text, at }: { text: string; at: string }) {
  const [before, after] = text.split("{time}");
  return (
    <>
      {before}
      <Expected at={at} />
      {after}
    </>
  );
}

function Failure({ reference, job, found }: TabProps & { found: Explanation }) {
  const { language, words } = useLanguage();
  const why = words.job.why;
  const fault = found.fault!;
  const numbers = fault.words;
  const cause = reasonText(language, { code: fault.code, numbers, message: fault.cause });
  const advice = adviceText(language, { code: fault.code, numbers, message: found.next || fault.advice });
  const worker = fault.task ? workerOf(job.name, fault.task) : undefined;
  const facts = [
    named(words.job.faultKinds, fault.kind),
    fault.task,
    fault.exitCode !== null && fill(why.exitCode, { n: fault.exitCode }),
    fault.signal !== null && fill(why.signal, { n: fault.signal }),
    fault.retryable ? why.retryable : why.notRetryable,
  ].filter(Boolean);
  return (
    <section className={classes.why} data-kind="failed" aria-label={why.failed}>
      <Title order={2} size="h6">
        {why.failed}
      </Title>
      <Text size="sm" mt={4} fw={600}>
        <WithCode text={cause} />
      </Text>
      {cause !== fault.cause && (
        <Text size="xs" className="soft">
          <WithCode text={fill(why.server, { text: fault.cause })} />
        </Text>
      )}
      <Text size="xs" className="soft">
        {facts.join(" · ")}
      </Text>
      {advice && (
        <Text size="sm" mt={4}>
          <b>{why.next}</b> <WithCode text={advice} />
        </Text>
      )}
      {found.evidence.length > 0 && (
        <>
          <Group justify="space-between" mt={6}>
            <Text size="xs" className="soft">
              {why.evidence}
            </Text>
            <Anchor
              size="xs"
              renderRoot={(props) => (
                <Link
                  {...props}
                  to="/jobs/$ref"
                  params={{ ref: reference }}
                  search={{ tab: "logs", ...(worker && { worker }) }}
                />
              )}
            >
              {why.inLog}
            </Anchor>
          </Group>
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
          <pre className={classes.evidence} tabIndex={0} aria-label={why.evidence}>
            {found.evidence.map(plainText).join("\n")}
          </pre>
        </>
      )}
    </section>
  );
}
