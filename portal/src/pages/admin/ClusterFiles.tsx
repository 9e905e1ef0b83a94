import { Anchor, Badge, Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";

import { FileEditor } from "./FileEditor";
import { NEW_FILE } from "./view";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PlusIcon } from "@/parts/icons";
import { Listing, type Part } from "@/parts/Listing";
import { Ago } from "@/parts/Time";
import { plural, useLanguage } from "@/words/language";

type File = Schemas["ClusterFileOut"];

const route = getRouteApi("/admin");

/** The files that describe clusters. One that is named in the address is open. */
export function ClusterFiles() {
  const { language, words } = useLanguage();
  const { file } = route.useSearch();
  const files = useQuery({ ...queries.clusterFiles(), enabled: file === undefined });
  if (file !== undefined) return <FileEditor key={file} name={file === NEW_FILE ? null : file} />;
  if (files.error && !files.data) return <ProblemBox error={files.error} onRetry={() => void files.refetch()} />;
  if (!files.data) return <Loading />;
  const parts: Part<File>[] = [
    {
      label: words.admin.file,
      cell: (each) => (
        <Anchor
          size="sm"
          renderRoot={(props) => <Link {...props} to="/admin" search={{ tab: "files", file: each.name }} />}
        >
          {each.name}
        </Anchor>
      ),
    },
    { label: words.admin.clusters, cell: (each) => each.clusters.join(", ") || "–" },
    {
      label: words.admin.state,
      cell: (each) => (
        <Group gap={4}>
          <Badge size="sm" variant="default" tt="none">
            {each.isInForce ? words.admin.inForce : words.admin.notInForce}
          </Badge>
          {each.problems.length > 0 && (
            <Badge size="sm" variant="default" tt="none">
              {plural(language, words.admin.problems, each.problems.length)}
            </Badge>
          )}
        </Group>
      ),
    },
    { label: words.admin.changedAt, cell: (each) => <Ago at={each.modifiedAt} /> },
  ];
  return (
    <>
      <Group mb="xs">
        <Button
          leftSection={<PlusIcon />}
          renderRoot={(props) => <Link {...props} to="/admin" search={{ tab: "files", file: NEW_FILE }} />}
        >
          {words.admin.newFile}
        </Button>
        <Command line="muster cluster check" />
      </Group>
      {files.data.items.length === 0 ? (
        <EmptyState title={words.admin.noFiles} />
      ) : (
        <Listing label={words.admin.files} parts={parts} rows={files.data.items} keyOf={(each) => each.name} />
      )}
    </>
  );
}
