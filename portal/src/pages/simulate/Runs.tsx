import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useIsAdmin } from "@/app/session";
import { timeText } from "@/parts/amounts";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { Section } from "@/parts/Section";
import { useLanguage } from "@/words/language";

/** What was simulated before. The server keeps the newest until it restarts. */
export function Runs() {
  const { language, words } = useLanguage();
  const isAdmin = useIsAdmin();
  const runs = useQuery(queries.simulations());
  const parts: Part<Schemas["SimulationOut"]>[] = [
    {
      label: words.admin.when,
      cell: (run) => (
        <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/simulate" search={{ id: run.id }} />}>
          {timeText(language, run.createdAt)}
        </Anchor>
      ),
    },
    { label: words.simulate.cluster, cell: (run) => run.asked.cluster },
    { label: words.simulate.variants, cell: (run) => run.asked.variants.map(variantText).join(", ") },
    { label: words.navigation.jobs, cell: (run) => run.jobs, isNumber: true },
    { label: words.admin.state, cell: (run) => words.simulate.states[run.state] },
  ];
  if (isAdmin) parts.splice(1, 0, { label: words.admin.user, cell: (run) => run.owner });
  return (
    <Section title={words.simulate.runs}>
      {runs.error && <ProblemBox error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.isPending && <Loading />}
      {runs.data?.items.length === 0 && <EmptyState title={words.simulate.noRuns} />}
      {!!runs.data?.items.length && (
        <Listing label={words.simulate.runs} parts={parts} rows={runs.data.items} keyOf={(run) => run.id} />
      )}
    </Section>
  );
}

const variantText = ({ policy, moreGpus }: Schemas["VariantOut"]): string =>
  [policy, ...Object.entries(moreGpus).map(([model, more]) => `${more > 0 ? "+" : ""}${more} ${model}`)].join(" ");
