import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import classes from "./HomePage.module.css";
import { queries } from "@/api/queries";
import { totalsOf } from "@/pages/cluster/cells";
import { useLiveNodes } from "@/pages/cluster/live_nodes";
import { Legend } from "@/parts/Legend";
import { Meter } from "@/parts/Meter";
import { Section } from "@/parts/Section";
import { fill, useLanguage } from "@/words/language";

/** GPUs of each cluster: used, healthy and in all. */
export function ClusterLoad() {
  const { words } = useLanguage();
  const nodes = useQuery(queries.nodes());
  useLiveNodes();
  const items = nodes.data?.items ?? [];
  const clusters = [...new Set(items.filter((node) => node.gpus.length > 0).map((node) => node.cluster))].sort();
  return (
    <Section
      title={words.home.load}
      aside={
        <Anchor size="xs" renderRoot={(props) => <Link {...props} to="/cluster" />}>
          {words.navigation.cluster}
        </Anchor>
      }
    >
      <Text size="xs" className="soft" mb={4}>
        {clusters.length > 0 ? words.home.loadLegend : nodes.data && words.home.noGpus}
      </Text>
      {clusters.length > 0 && (
        <Legend
          entries={[
            { colour: "--load-3", meaning: words.home.used },
            { colour: "--load-1", meaning: words.home.free },
            { colour: "--sick", meaning: words.home.sick },
          ]}
        />
      )}
      <div className={classes.meters}>
        {clusters.map((cluster) => {
          const totals = totalsOf(items.filter((node) => node.cluster === cluster));
          return (
            <Meter
              key={cluster}
              label={cluster}
              text={fill(words.home.gpus, { used: totals.used, healthy: totals.healthy, total: totals.total })}
              most={totals.total}
              parts={[
                { tone: "--load-3", label: words.home.used, amount: totals.used },
                { tone: "--load-1", label: words.home.free, amount: Math.max(0, totals.healthy - totals.used) },
                { tone: "--sick", label: words.home.sick, amount: totals.total - totals.healthy },
              ]}
            />
          );
        })}
      </div>
    </Section>
  );
}
