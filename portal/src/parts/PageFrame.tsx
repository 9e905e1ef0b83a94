import { Group, Title } from "@mantine/core";
import type { ReactNode } from "react";

import classes from "./PageFrame.module.css";

/** A page with its title and tools, whose content fills the rest of the window, such as a table that scrolls itself. */
export function PageFrame({ title, tools, children }: { title: ReactNode; tools?: ReactNode; children: ReactNode }) {
  return (
    <div className={classes.page}>
      <Group justify="space-between" gap="xs" className={classes.head ?? ""}>
        <Title order={1} size="h3">
          {title}
        </Title>
        {tools && <Group gap={6}>{tools}</Group>}
      </Group>
      {children}
    </div>
  );
}
