import { useQuery } from "@tanstack/react-query";

import { queries } from "@/api/queries";
import { TokenTable } from "@/pages/profile/TokenTable";
import { Loading, ProblemBox } from "@/parts/feedback";
import { useWords } from "@/words/language";

/** Tokens and logins of everybody. */
export function AllTokens() {
  const words = useWords();
  const tokens = useQuery(queries.tokens(undefined));
  if (tokens.error && !tokens.data) return <ProblemBox error={tokens.error} onRetry={() => void tokens.refetch()} />;
  if (!tokens.data) return <Loading />;
  return <TokenTable label={words.profile.tokens} tokens={tokens.data.items} hasUsers />;
}
