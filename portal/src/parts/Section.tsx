import { Group, Paper, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

import classes from "./Section.module.css";

interface SectionProps {
  title: string;
  /** What it is for, in a sentence. */
  text?: string;
  /** A number, a link or a button beside the title. */
  aside?: ReactNode;
  children: ReactNode;
}

/** A part of a page under its own title. */
export function Section({ title, text, aside, children }: SectionProps) {
  return (
    <Paper withBorder p="sm" component="section" aria-label={title}>
      <Group justify="space-between" mb={6} gap="xs">
        <div className={classes.title}>
          <Title order={2} size="h5">
            {title}
          </Title>
          {text && (
            <Text size="xs" className="soft">
              {text}
            </Text>
          )}
        </div>
        {aside}
      </Group>
      {children}
    </Paper>
  );
}
