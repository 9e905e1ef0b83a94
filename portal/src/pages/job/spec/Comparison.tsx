import { Button, Group, Table, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState, type KeyboardEvent } from "react";

import { diffLines, withContext } from "./diff";
import { valueText } from "./paths";
import classes from "./Spec.module.css";
import { yamlOf } from "./yamlText";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Scrolled } from "@/parts/Scrolled";
import { useWords } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

/** The spec against that of another job: the values that differ, and line by line. */
export function Comparison({ reference }: { reference: string }) {
  const words = useWords();
  const w = words.job.spec;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const [typed, setTyped] = useState(view.with ?? "");
  const other = view.with ?? "";
  const found = useQuery({ ...queries.specDiff(reference, other), enabled: !!other });
  const mine = useQuery(queries.jobSpec(reference));
  const theirs = useQuery({ ...queries.jobSpec(other), enabled: !!other && !!found.data });
  const compare = () => void navigate({ search: (old) => ({ ...old, with: typed.trim() }), replace: true });
  return (
    <>
      <Group gap="xs" align="end">
        <TextInput
          label={w.with}
          placeholder={w.withHint}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event: KeyboardEvent) => event.key === "Enter" && typed.trim() && compare()}
        />
        <Button variant="default" disabled={!typed.trim()} onClick={compare}>
          {w.diff}
        </Button>
      </Group>
      {!other && <EmptyState title={w.choose} />}
      {found.error && <ProblemBox error={found.error} />}
      {found.isLoading && <Loading />}
      {found.data?.items.length === 0 && <EmptyState title={w.same} />}
      {!!found.data?.items.length && <Differences found={found.data} other={other} />}
      {!!found.data?.items.length && mine.data && theirs.data && (
        <LineByLine before={yamlOf(theirs.data.spec)} after={yamlOf(mine.data.spec)} />
      )}
    </>
  );
}

function Differences({ found, other }: { found: Schemas["SpecDiffOut"]; other: string }) {
  const words = useWords();
  const w = words.job.spec;
  const shown = (value: unknown) =>
    value === null || value === undefined ? <span className="soft">{w.unset}</span> : valueText(value);
  return (
    <Scrolled label={w.diff}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{w.path}</Table.Th>
            <Table.Th>{w.mine}</Table.Th>
            <Table.Th>{`${w.other} (${other})`}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.items.map(({ path, mine, other: theirs }) => (
            <Table.Tr key={path}>
              <Table.Th scope="row">{path}</Table.Th>
              <Table.Td className={classes.value ?? ""}>{shown(mine)}</Table.Td>
              <Table.Td className={classes.value ?? ""}>{shown(theirs)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {found.isCut && (
        <Text size="xs" className="soft">
          {w.cut}
        </Text>
      )}
    </Scrolled>
  );
}

const SIGNS = { same: " ", gone: "-", new: "+" };
const AROUND = 3;

function LineByLine({ before, after }: { before: string; after: string }) {
  const words = useWords();
  const w = words.job.spec;
  return (
    <>
      <Title order={2} size="h6">
        {w.lines}
      </Title>
      <Text size="xs" className="soft">
        {`− ${w.other} · + ${w.mine}`}
      </Text>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
      <pre className={classes.text} tabIndex={0} aria-label={w.lines}>
        {withContext(diffLines(before, after), AROUND).map((line, index) => (
          <div key={index} data-kind={line?.kind ?? "cut"} className={classes.line}>
            {line ? `${SIGNS[line.kind]} ${line.text}` : "…"}
          </div>
        ))}
      </pre>
    </>
  );
}
