import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import classes from "./HomePage.module.css";
import { queries } from "@/api/queries";
import { bytesText, numberText, rounded } from "@/parts/amounts";
import { Meter } from "@/parts/Meter";
import { Section } from "@/parts/Section";
import { named, plural, useLanguage } from "@/words/language";

/** The limits of which most is used, those of virtual clusters first. */
export function MyQuota() {
  const { language, words } = useLanguage();
  const quotas = useQuery(queries.quotas());
  const used = (quotas.data?.items ?? []).filter((quota) => quota.vc || quota.used > 0);
  const amount = (kind: string, n: number) =>
    kind.endsWith("Bytes") ? bytesText(n) : numberText(language, rounded(n));
  return (
    <Section title={words.home.quota}>
      {quotas.data && used.length === 0 && (
        <Text size="sm" className="soft">
          {words.home.noQuota}
        </Text>
      )}
      <div className={classes.meters}>
        {used.map((quota) => {
          const [kind = "", place] = quota.kind.split("/");
          const name = named(words.quotaKinds, kind);
          const where = quota.vc || place;
          const isFull = quota.used >= quota.limit;
          return (
            <div key={`${quota.vc} ${quota.user ?? ""} ${quota.kind}`}>
              <Meter
                label={where ? `${where}: ${name}` : name}
                text={`${amount(kind, quota.used)} / ${amount(kind, quota.limit)}`}
                most={quota.limit}
                parts={[{ tone: isFull ? "--sick" : "--load-3", label: name, amount: quota.used }]}
              />
              {quota.waiting > 0 && (
                <Text size="xs" className="soft">
                  {plural(language, words.home.waitingForQuota, quota.waiting)}
                </Text>
              )}
            </div>
          );
        })}
      </div>
    </Section>
  );
}
