import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";

import { beginAnew, isMissingCode } from "./code";
import { Unreachable } from "@/api/client";
import { EmptyState, ProblemBox } from "@/parts/feedback";
import { useWords } from "@/words/language";

export function NotFound() {
  const words = useWords();
  return (
    <EmptyState title={words.common.notFound}>
      <Anchor renderRoot={(props) => <Link {...props} to="/" />}>{words.common.backHome}</Anchor>
    </EmptyState>
  );
}

/** A page that could not be shown. One whose code is missing waits for the server and begins anew by itself. */
export function PageError({ error }: { error: unknown }) {
  const words = useWords();
  const isMissing = isMissingCode(error);
  const [isWaiting, setWaiting] = useState(isMissing);
  useEffect(() => {
    if (isMissing) void beginAnew().then(setWaiting);
  }, [isMissing]);
  const shown = isWaiting ? new Unreachable() : isMissing ? new Error(words.common.codeMissing) : error;
  return <ProblemBox error={shown} onRetry={() => window.location.reload()} />;
}
