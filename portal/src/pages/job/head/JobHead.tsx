import { Anchor, Group, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Actions } from "./Actions";
import { Facts } from "./Facts";
import classes from "../JobPage.module.css";
import type { TabProps } from "../JobPage";
import { StateBadge } from "@/parts/StateBadge";
import { useWords } from "@/words/language";

/** What the job is, how it stands, and what can be done with it. */
export function JobHead({ reference, job }: TabProps) {
  const words = useWords();
  return (
    <>
      <Group justify="space-between" gap="xs">
        <Group gap="sm">
          <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/jobs" />}>
            {words.job.all}
          </Anchor>
          <Title order={1} size="h3" className={classes.title ?? ""}>
            {job.name}
          </Title>
          <StateBadge state={job.state} />
        </Group>
        <Actions reference={reference} job={job} />
      </Group>
      <Facts job={job} />
    </>
  );
}
