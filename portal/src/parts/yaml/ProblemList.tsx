import { Anchor, Code, List, Text } from "@mantine/core";

import type { LineProblem } from "./problem_marks";
import type { Schemas } from "@/api/client";
import { WithCode } from "@/parts/WithCode";
import { fill, useWords } from "@/words/language";

type Problem = Pick<Schemas["ProblemItem"], "line" | "path" | "message" | "hint">;

/** What is wrong in a file, each with its line, which leads there, and with what to do about it. */
export function ProblemList({ problems, onGo }: { problems: readonly Problem[]; onGo: (line: number) => void }) {
  const words = useWords();
  if (problems.length === 0) return null;
  return (
    <List size="sm">
      {problems.map((each) => (
        <List.Item key={`${each.line} ${each.path} ${each.message}`}>
          {each.line !== null && (
            <>
              <Anchor component="button" type="button" size="sm" onClick={() => onGo(each.line ?? 1)}>
                {fill(words.submit.line, { n: each.line })}
              </Anchor>{" "}
            </>
          )}
          {each.path && <Code>{each.path}</Code>} <WithCode text={each.message} />
          {each.hint && (
            <Text size="sm" className="soft">
              <WithCode text={each.hint} />
            </Text>
          )}
        </List.Item>
      ))}
    </List>
  );
}

/** Those that have a line, as the editor marks them. */
export const lineProblems = (problems: readonly Problem[]): LineProblem[] =>
  problems.flatMap(({ line, path, message }) =>
    line === null ? [] : [{ line, message: path ? `${path}: ${message}` : message }],
  );
