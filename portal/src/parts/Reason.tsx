import { WithCode } from "./WithCode";
import type { Job } from "@/api/client";
import { reasonText } from "@/words/coded";
import { useLanguage } from "@/words/language";

type Reasoned = Pick<Job, "reason" | "reasonCode" | "reasonNumbers">;

/** Why a job waits, was stopped or failed, in the reader's language; the server's own sentence is its title. */
export function Reason({ job }: { job: Reasoned }) {
  const { language } = useLanguage();
  if (!job.reason) return null;
  const text = reasonText(language, { code: job.reasonCode, numbers: job.reasonNumbers, message: job.reason });
  return (
    <span title={job.reason}>
      <WithCode text={text} />
    </span>
  );
}
