import { Anchor, Breadcrumbs, Group, Select, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { Folder } from "./Folder";
import { crumbsOf, remote, type FilesView } from "./view";
import { queries } from "@/api/queries";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PageFrame } from "@/parts/PageFrame";
import { useWords } from "@/words/language";

const route = getRouteApi("/files");

/** The folders of a cluster: what is in them, and what can be done with it. */
export function FilesPage() {
  const words = useWords();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/files" });
  const clusters = useQuery(queries.clusters());
  const names = (clusters.data?.items ?? []).map((each) => each.name);
  const cluster = view.cluster ?? clusters.data?.items.find((each) => each.default)?.name ?? names[0];
  const go = (search: FilesView) => void navigate({ search });
  return (
    <PageFrame
      title={words.files.title}
      tools={
        <Select
          aria-label={words.files.cluster}
          data={names}
          value={cluster ?? null}
          onChange={(chosen) => go(chosen ? { cluster: chosen } : {})}
          allowDeselect={false}
        />
      }
    >
      {clusters.error && <ProblemBox error={clusters.error} onRetry={() => void clusters.refetch()} />}
      {clusters.isPending && <Loading />}
      {cluster && <Crumbs view={view} cluster={cluster} />}
      {cluster && !view.path && <Folders cluster={cluster} />}
      {cluster && view.path && (
        <Folder
          key={`${cluster} ${view.node ?? ""} ${view.path}`}
          place={{ cluster, path: view.path, node: view.node }}
          open={view.open}
          onOpen={(open) => go({ ...view, cluster, ...(open ? { open } : { open: "" }) })}
        />
      )}
    </PageFrame>
  );
}

function Crumbs({ view, cluster }: { view: FilesView; cluster: string }) {
  const words = useWords();
  const shared = view.node ? { cluster, node: view.node } : { cluster };
  return (
    <Group gap="md" justify="space-between">
      <nav aria-label={words.files.path}>
        <Breadcrumbs>
          <Anchor renderRoot={(props) => <Link {...props} to="/files" search={{ cluster }} />}>
            {view.node ? `${cluster}/${view.node}` : cluster}
          </Anchor>
          {crumbsOf(view.path ?? "").map((crumb) => (
            <Anchor
              key={crumb.path}
              renderRoot={(props) => <Link {...props} to="/files" search={{ ...shared, path: crumb.path }} />}
            >
              {crumb.name}
            </Anchor>
          ))}
        </Breadcrumbs>
      </nav>
      <Command line={`muster fs ls -l ${remote({ cluster, path: view.path ?? "", node: view.node })}`} />
    </Group>
  );
}

/** The folders that the cluster shows. Where each node has its own files, the node is chosen first. */
function Folders({ cluster }: { cluster: string }) {
  const words = useWords();
  const folders = useQuery(queries.folders(cluster));
  const nodes = useQuery(queries.nodes());
  const navigate = useNavigate({ from: "/files" });
  if (folders.error && !folders.data) return <ProblemBox error={folders.error} />;
  if (!folders.data) return <Loading />;
  if (folders.data.items.length === 0) return <EmptyState title={words.files.noFolders} />;
  const onCluster = (nodes.data?.items ?? []).filter((node) => node.cluster === cluster).map((node) => node.name);
  return (
    <Table aria-label={words.files.folders}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{words.files.name}</Table.Th>
          <Table.Th>{words.files.shared}</Table.Th>
          <Table.Th>{words.files.writable}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {folders.data.items.map((folder) => (
          <Table.Tr key={folder.name}>
            <Table.Td>
              {folder.shared ? (
                <Anchor renderRoot={(props) => <Link {...props} to="/files" search={{ cluster, path: folder.name }} />}>
                  {folder.name}
                </Anchor>
              ) : (
                <Group gap="xs">
                  {folder.name}
                  <Select
                    aria-label={`${folder.name}: ${words.files.chooseNode}`}
                    placeholder={words.files.chooseNode}
                    data={onCluster}
                    searchable
                    value={null}
                    onChange={(node) => node && void navigate({ search: { cluster, path: folder.name, node } })}
                  />
                </Group>
              )}
            </Table.Td>
            <Table.Td>{folder.shared ? words.common.yes : words.files.ownFiles}</Table.Td>
            <Table.Td>
              <Text size="sm">{folder.readOnly ? words.common.no : words.common.yes}</Text>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
