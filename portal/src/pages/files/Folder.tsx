import { Anchor, Button, Group, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useRef, useState, type DragEvent } from "react";

import { FileActs, type Act } from "./FileActs";
import { FilePanel } from "./FilePanel";
import { Transfers } from "./Transfers";
import { useUploads } from "./useUploads";
import { joined, type Place } from "./view";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayWork } from "@/app/session";
import { bytesText } from "@/parts/amounts";
import type { Column } from "@/parts/columns";
import { DataTable } from "@/parts/DataTable";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { FileIcon, FilesIcon, PlusIcon, UploadIcon } from "@/parts/icons";
import { useSelection } from "@/parts/selection";
import { Ago } from "@/parts/Time";
import { plural, useLanguage } from "@/words/language";

export type Entry = Schemas["FileOut"];

interface FolderProps {
  place: Place;
  open: string | undefined;
  onOpen: (name: string | null) => void;
}

/** What is in a folder, in order of name; more is fetched as the reader comes near the end. */
export function Folder({ place, open, onOpen }: FolderProps) {
  const { language, words } = useLanguage();
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [act, setAct] = useState<Act | null>(null);
  const list = useInfiniteQuery(queries.files(place));
  const folders = useQuery(queries.folders(place.cluster));
  const entries = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const selection = useSelection(useMemo(() => entries.map((entry) => entry.name), [entries]));
  const refresh = useCallback(
    () => void client.invalidateQueries({ queryKey: ["files", place.cluster] }),
    [client, place],
  );
  const uploads = useUploads(place, refresh);
  const root = place.path.split("/")[0];
  const mayWork = useMayWork();
  const mayWrite = mayWork && folders.data?.items.find((folder) => folder.name === root)?.readOnly === false;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onNearEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const columns = useColumnsOf(place);
  if (list.error && !list.data) return <ProblemBox error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <Loading />;
  const chosen = entries.filter((entry) => selection.keys.has(entry.name));
  const opened = open ? entries.find((entry) => entry.name === open) : undefined;
  const drop = (event: DragEvent) => {
    event.preventDefault();
    if (mayWrite) uploads.start([...event.dataTransfer.files]);
  };
  return (
    <>
      <Group gap="xs" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
        {mayWrite && (
          <>
            <Button leftSection={<UploadIcon />} onClick={() => input.current?.click()}>
              {words.files.upload}
            </Button>
            <input
              ref={input}
              type="file"
              multiple
              hidden
              aria-label={words.files.upload}
              onChange={(event) => {
                uploads.start([...(event.currentTarget.files ?? [])]);
                event.currentTarget.value = "";
              }}
            />
            <Button variant="default" leftSection={<PlusIcon />} onClick={() => setAct({ kind: "mkdir" })}>
              {words.files.newFolder}
            </Button>
          </>
        )}
        {mayWrite && chosen.length === 1 && chosen[0] && (
          <>
            <Button variant="default" onClick={() => setAct({ kind: "move", entry: chosen[0]! })}>
              {words.files.move}
            </Button>
            <Button variant="default" onClick={() => setAct({ kind: "copy", entry: chosen[0]! })}>
              {words.files.copy}
            </Button>
          </>
        )}
        {mayWrite && chosen.length > 0 && (
          <Button variant="default" color="red" onClick={() => setAct({ kind: "remove", entries: chosen })}>
            {words.files.remove}
          </Button>
        )}
        <Text size="sm" className="soft" role="status" ml="auto">
          {plural(language, hasNextPage ? words.files.moreThan : words.files.entries, entries.length)}
        </Text>
      </Group>
      <Transfers uploads={uploads} />
      {list.error && <ProblemBox error={list.error} onRetry={() => void list.refetch()} />}
      {open && opened && (
        <FilePanel
          key={open}
          place={{ ...place, path: joined(place.path, open) }}
          entry={opened}
          mayWrite={mayWrite}
          onClose={() => onOpen(null)}
          onSaved={refresh}
        />
      )}
      {entries.length === 0 ? (
        <EmptyState title={words.files.empty} />
      ) : (
        <DataTable
          label={words.files.title}
          columns={columns}
          rows={entries}
          keyOf={nameOf}
          nameOf={nameOf}
          selection={mayWrite ? selection : undefined}
          onNearEnd={onNearEnd}
          card={(entry) => <Card place={place} entry={entry} />}
        />
      )}
      {act && <FileActs act={act} place={place} onClose={() => setAct(null)} onDone={refresh} />}
    </>
  );
}

const nameOf = (entry: Entry) => entry.name;

function useColumnsOf(place: Place): Column<Entry>[] {
  const { words } = useLanguage();
  return useMemo(
    () => [
      {
        id: "name",
        label: words.files.name,
        width: 220,
        isWide: true,
        isFixed: true,
        cell: (entry) => <Name place={place} entry={entry} />,
      },
      { id: "kind", label: words.files.kind, width: 110, cell: (entry) => words.files.kinds[entry.kind] },
      {
        id: "size",
        label: words.files.size,
        width: 100,
        isNumber: true,
        cell: (entry) => (entry.kind === "folder" ? "" : bytesText(entry.size)),
      },
      { id: "modified", label: words.files.modified, width: 150, cell: (entry) => <Ago at={entry.modifiedAt} /> },
      { id: "mode", label: words.files.mode, width: 70, cell: (entry) => entry.mode },
    ],
    [place, words],
  );
}

function Name({ place, entry }: { place: Place; entry: Entry }) {
  const shared = place.node ? { cluster: place.cluster, node: place.node } : { cluster: place.cluster };
  const isFolder = entry.kind === "folder";
  const search = isFolder
    ? { ...shared, path: joined(place.path, entry.name) }
    : { ...shared, path: place.path, open: entry.name };
  return (
    <span className="one-line">
      {isFolder ? <FilesIcon /> : <FileIcon />}{" "}
      {isFolder || entry.kind === "file" || entry.kind === "link" ? (
        <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/files" search={search} />}>
          {entry.name}
        </Anchor>
      ) : (
        entry.name
      )}
      {entry.target ? <span className="soft"> → {entry.target}</span> : null}
    </span>
  );
}

function Card({ place, entry }: { place: Place; entry: Entry }) {
  const { words } = useLanguage();
  return (
    <>
      <Name place={place} entry={entry} />
      <Text size="xs" className="soft">
        {words.files.kinds[entry.kind]}
        {entry.kind === "folder" ? "" : ` · ${bytesText(entry.size)}`} · <Ago at={entry.modifiedAt} />
      </Text>
    </>
  );
}
