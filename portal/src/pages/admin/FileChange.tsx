import { Alert, Paper, Text, Title } from "@mantine/core";

import { diffLines } from "./diff";
import classes from "./FileChange.module.css";
import type { Schemas } from "@/api/client";
import { Scrolled } from "@/parts/Scrolled";
import { ProblemList } from "@/parts/yaml/ProblemList";
import { plural, useLanguage } from "@/words/language";

interface FileChangeProps {
  change: Schemas["ClusterFileChange"];
  onGo: (line: number) => void;
}

/** What the check found, each problem at its line, and what would change. */
export function FileChange({ change, onGo }: FileChangeProps) {
  const { language, words } = useLanguage();
  return (
    <>
      {change.problems.length > 0 ? (
        <Alert color="red" role="alert" title={plural(language, words.admin.problems, change.problems.length)}>
          <ProblemList problems={change.problems} onGo={onGo} />
        </Alert>
      ) : (
        <Alert color="green" role="status" title={words.admin.noProblems} />
      )}
      {change.warnings.map((warning) => (
        <Alert key={warning} color="orange" title={warning} p="xs" />
      ))}
      <Paper withBorder p="xs">
        <Title order={3} size="h6">
          {words.admin.diff}
        </Title>
        {change.diff === "" ? (
          <Text size="sm" className="soft">
            {words.admin.noDiff}
          </Text>
        ) : (
          <Scrolled label={words.admin.diff}>
            <pre className={classes.diff}>
              {diffLines(change.diff).map((line, index) => (
                <span key={index} data-kind={line.kind}>
                  {line.text}
                  {"\n"}
                </span>
              ))}
            </pre>
          </Scrolled>
        )}
      </Paper>
    </>
  );
}
