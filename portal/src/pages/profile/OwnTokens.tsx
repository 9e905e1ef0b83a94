import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { NewToken } from "./NewToken";
import { TokenTable } from "./TokenTable";
import { queries } from "@/api/queries";
import { useMayDoAll, useMe } from "@/app/session";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PlusIcon } from "@/parts/icons";
import { Section } from "@/parts/Section";
import { useWords } from "@/words/language";

/** The reader's logins, and the tokens of their programs. */
export function OwnTokens() {
  const words = useWords();
  const me = useMe();
  const mayDoAll = useMayDoAll();
  const [isMaking, setMaking] = useState(false);
  const tokens = useQuery(queries.tokens(me.user));
  if (tokens.error && !tokens.data) return <ProblemBox error={tokens.error} onRetry={() => void tokens.refetch()} />;
  if (!tokens.data) return <Loading />;
  const logins = tokens.data.items.filter((token) => token.isSession);
  const made = tokens.data.items.filter((token) => !token.isSession);
  return (
    <>
      {logins.length > 0 && (
        <Section title={words.profile.sessions}>
          <TokenTable label={words.profile.sessions} tokens={logins} />
        </Section>
      )}
      <Section
        title={words.profile.tokens}
        text={words.profile.tokensWhy}
        aside={
          mayDoAll && (
            <Button variant="default" leftSection={<PlusIcon />} onClick={() => setMaking(true)}>
              {words.profile.newToken}
            </Button>
          )
        }
      >
        {made.length === 0 ? (
          <EmptyState title={words.profile.noTokens} />
        ) : (
          <TokenTable label={words.profile.tokens} tokens={made} />
        )}
      </Section>
      {isMaking && <NewToken onClose={() => setMaking(false)} />}
    </>
  );
}
