import { ActionIcon, Group, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";

import classes from "./Log.module.css";
import { without } from "../address";
import { answer, api } from "@/api/client";
import { ProblemBox } from "@/parts/feedback";
import { ChevronIcon, SearchIcon } from "@/parts/icons";
import { fill, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

export interface FoundLine {
  worker: string;
  n: number;
}

interface LogSearchProps {
  reference: string;
  attempt: number;
  /** The workers whose logs are on the screen. */
  shown: string[];
  /** Whether these logs are open, so that lines of them can be gone to. */
  isReady: boolean;
  /** The line that is gone to. */
  current: FoundLine | null;
  onGoTo: (line: FoundLine) => void;
}

/**
 * Searches the logs of all workers on the server, and goes to the first line found. Enter goes to the next one,
 * Shift+Enter to the one before, whichever worker has printed it.
 */
export function LogSearch({ reference, attempt, shown, isReady, current, onGoTo }: LogSearchProps) {
  const { words } = useLanguage();
  const w = words.job.logs;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const searched = view.q ?? "";
  const [typed, setTyped] = useState(searched);
  const gone = useRef("");
  const asked = useRef(searched); // what the address said; what is typed later may lead to another worker
  const found = useInfiniteQuery({
    queryKey: ["job", reference, "log-search", attempt, searched],
    queryFn: ({ pageParam }) =>
      answer(
        api.GET("/api/v1/jobs/{ref}/logs/search", {
          params: {
            path: { ref: reference },
            query: { q: searched, attempt, ...(pageParam && { cursor: pageParam }) },
          },
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextCursor,
    enabled: searched !== "",
    retry: false,
  });
  const items = useMemo(() => found.data?.pages.flatMap((page) => page.items) ?? [], [found.data]);
  const place = items.findIndex((item) => item.worker === current?.worker && item.n === current.n);

  useEffect(() => {
    if (!isReady || !items.length || gone.current === searched) return;
    gone.current = searched;
    const first = items.find((item) => shown.includes(item.worker));
    const target = first ?? (asked.current === searched ? undefined : items[0]);
    if (target && !current) onGoTo(target);
  }, [isReady, items, searched, shown, current, onGoTo]);

  /** What was found belongs to the text that was searched for. */
  const type = (text: string) => {
    setTyped(text);
    if (searched === "" || text.trim() === searched) return;
    gone.current = asked.current = "";
    void navigate({ search: (old) => without(old, "q"), replace: true });
  };
  const step = async (by: 1 | -1) => {
    if (typed.trim() !== searched) {
      await navigate({
        search: (old) => ({ ...without(old, "q", "line", "of"), ...(typed.trim() && { q: typed.trim() }) }),
        replace: true,
      });
      return;
    }
    let known = items;
    if (by > 0 && place + 1 >= known.length && found.hasNextPage) {
      known = (await found.fetchNextPage()).data?.pages.flatMap((page) => page.items) ?? known;
    }
    if (!known.length) return;
    const next = place < 0 && by < 0 ? known.length - 1 : (place + by + known.length) % known.length;
    if (known[next]) onGoTo(known[next]);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    void step(event.shiftKey ? -1 : 1);
  };
  return (
    <Group gap={4} wrap="nowrap" className={classes.search ?? ""}>
      <TextInput
        type="search"
        data-page-search
        aria-label={w.search}
        placeholder={w.search}
        leftSection={<SearchIcon />}
        maxLength={200}
        value={typed}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <ActionIcon aria-label={w.previous} title={w.previous} onClick={() => void step(-1)} className={classes.up ?? ""}>
        <ChevronIcon />
      </ActionIcon>
      <ActionIcon aria-label={w.next} title={w.next} onClick={() => void step(1)} className={classes.down ?? ""}>
        <ChevronIcon />
      </ActionIcon>
      {searched && <Count pages={found.data?.pages} place={place} isSearching={found.isFetching} />}
      {found.error && <ProblemBox error={found.error} />}
    </Group>
  );
}

interface CountProps {
  pages: { total: number; isCut: boolean; unread: string[] }[] | undefined;
  place: number;
  isSearching: boolean;
}

function Count({ pages, place, isSearching }: CountProps) {
  const { language, words } = useLanguage();
  const w = words.job.logs;
  const [first] = pages ?? [];
  const last = pages?.at(-1);
  if (!first || !last) return isSearching ? <Text size="xs">…</Text> : null;
  const unread = first.unread.length ? ` ${fill(w.unread, { workers: first.unread.join(", ") })}` : "";
  const at = place < 0 ? "–" : String(place + 1);
  const text =
    first.total === 0 && !first.isCut
      ? w.notFound
      : last.isCut
        ? fill(w.foundMore, { at, n: first.total })
        : plural(language, w.found, first.total, { at });
  return (
    <Text size="xs" role="status" className={classes.count ?? ""}>
      {text}
      {unread}
    </Text>
  );
}
