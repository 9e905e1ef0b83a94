import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import type { SubmitView } from "./view";
import { queries } from "@/api/queries";

const STORED = "muster-draft";
const NO_FILES = {};
const FIRST = `name: my-job
command: echo "hello from $HOSTNAME"
resources: {cpu: 1}
`;

export interface Draft {
  text: string;
  /** The files of the template, if it begins with one. */
  files: Readonly<Record<string, string>>;
  setText: (text: string) => void;
  isLoading: boolean;
  error: unknown;
}

/** The text of the job: a job or template that the address names, else what was written here before. */
export function useDraft(view: SubmitView): Draft {
  const job = useQuery({ ...queries.jobSpec(view.from ?? ""), enabled: !!view.from });
  const template = useQuery({
    ...queries.template(view.template ?? "", view.builtIn ?? false),
    enabled: !!view.template,
  });
  const given = view.from ? job.data?.yaml : view.template ? (template.data?.files?.["job.yaml"] ?? "") : undefined;
  const key = `${STORED} ${view.from ?? ""} ${view.template ?? ""}`;
  const [drafts, setDrafts] = useState<Readonly<Record<string, string>>>({});
  const setText = useCallback(
    (text: string) => {
      setDrafts((old) => ({ ...old, [key]: text }));
      sessionStorage.setItem(key, text);
    },
    [key],
  );
  const text = drafts[key] ?? sessionStorage.getItem(key) ?? given ?? (view.from || view.template ? "" : FIRST);
  const isLoading = (!!view.from && job.isPending) || (!!view.template && template.isPending);
  return {
    text,
    files: template.data?.files ?? NO_FILES,
    setText,
    isLoading,
    error: view.from ? job.error : view.template ? template.error : null,
  };
}

/** A draft that was submitted is not kept. */
export const forgetDraft = (view: SubmitView): void =>
  sessionStorage.removeItem(`${STORED} ${view.from ?? ""} ${view.template ?? ""}`);
