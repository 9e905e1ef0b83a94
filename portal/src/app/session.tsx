import { Center, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, type ReactNode } from "react";

import { isUnknown } from "@/api/asking";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { LoginPage } from "@/pages/login/LoginPage";
import { Loading, ProblemBox } from "@/parts/feedback";
import { useWords } from "@/words/language";

export type Me = Schemas["WhoAmIOut"];

const Context = createContext<Me | null>(null);

/** Shows the login page until the server knows who asks, and again when it no longer does. */
export function Session({ entryProblem, children }: { entryProblem: unknown; children: ReactNode }) {
  const me = useQuery(queries.whoami());
  if (isUnknown(me.error)) return <LoginPage entryProblem={entryProblem} />;
  if (me.data) return <Context.Provider value={me.data}>{children}</Context.Provider>;
  const problem = me.error ?? me.failureReason;
  if (problem) return <NoAnswer error={problem} onRetry={() => void me.refetch()} />;
  return <Loading />;
}

function NoAnswer({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const words = useWords();
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w={400} maw="100%">
        <Title order={1} size="h3">
          {words.common.product}
        </Title>
        <ProblemBox error={error} onRetry={onRetry} />
      </Stack>
    </Center>
  );
}

export function useMe(): Me {
  const me = useContext(Context);
  if (!me) throw new Error("this part is shown without a session");
  return me;
}

/** A login by a token may allow less than its user may do. */
export const isAdmin = (me: Me): boolean => me.role === "admin" && me.scope === "admin";

export const useIsAdmin = (): boolean => isAdmin(useMe());

/** Whether the login allows work with jobs, sweeps, models and files, and not only looking at them. */
export const mayWork = (me: Me): boolean => me.scope !== "read";

export const useMayWork = (): boolean => mayWork(useMe());

/** Whether the login allows all that its user may do: also passwords, tokens, secrets, notices and simulations. */
export const useMayDoAll = (): boolean => useMe().scope === "admin";

interface Owned {
  owner: string;
  origin: string;
}

/** Whether the reader may change the job. The server decides; this only hides what it would refuse. */
export const mayChange = (me: Me, job: Owned): boolean =>
  job.origin === "muster" && mayWork(me) && (isAdmin(me) || me.user === job.owner);

export const useMayChange = (job: Owned): boolean => mayChange(useMe(), job);

/** Whether the reader may see what is in the job: its logs, spec and why it waits or failed. */
export function useMayRead(job: { owner: string }): boolean {
  const me = useMe();
  return isAdmin(me) || me.user === job.owner;
}
