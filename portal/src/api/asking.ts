import { QueryCache, QueryClient } from "@tanstack/react-query";

import { ApiProblem, isPassing } from "./client";
import { watchForGaps } from "./gaps";
import { live } from "./live";

const RETRIES = 3;
const FIRST_RETRY_MS = 500;
const ASK_AGAIN_MS = 5_000;

/** Whether the server does not know who asks: nobody is logged in here, or no longer. */
export const isUnknown = (error: unknown): boolean => error instanceof ApiProblem && error.status === 401;

/**
 * How pages ask. What fails because the server does not answer is asked again until it does, without anybody's help;
 * what is refused is not. A browser that believes to be offline asks all the same: the server may be on its machine.
 */
export function newQueryClient(): QueryClient {
  const client = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        // a login that has ended leads to the login page, and from there back to this page
        if (isUnknown(error) && query.queryKey[0] !== "whoami") askWhoIsHere(client);
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        networkMode: "always",
        refetchOnReconnect: "always",
        refetchOnWindowFocus: false,
        retry: (count, error) => isPassing(error) && count < RETRIES,
        retryDelay: (count) => FIRST_RETRY_MS * 2 ** count,
        refetchInterval: (query) => (isPassing(query.state.error) ? ASK_AGAIN_MS : false),
      },
      mutations: { networkMode: "always" },
    },
  });
  live.onResync(() => askAgain(client));
  watchForGaps(client);
  live.onBroken(() => askWhoIsHere(client));
  live.onBack(() => void client.refetchQueries({ type: "active", predicate: ({ state }) => isPassing(state.error) }));
  return client;
}

/** Asks again for everything that is on the screen. */
const askAgain = (client: QueryClient): void =>
  void client.invalidateQueries({ type: "active", predicate: (query) => !query.meta?.asksItself });

/** The server ends streams of a login that is over, and of a user who got other rights. */
const askWhoIsHere = (client: QueryClient): void => void client.invalidateQueries({ queryKey: ["whoami"] });
