import { createSpotlight, Spotlight } from "@mantine/spotlight";
import { useNavigate } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";

import { usePlaces } from "./places";
import { queries } from "@/api/queries";
import { JobsIcon, SearchIcon } from "@/parts/icons";
import { named, useLanguage } from "@/words/language";

const [store, spotlight] = createSpotlight();
export const openCommandBar = spotlight.open;

/** Ctrl+K: pages by name, and jobs by what the server finds. */
export function CommandBar() {
  const { words } = useLanguage();
  const places = usePlaces();
  const navigate = useNavigate();
  const [asked, setAsked] = useState("");
  const [text] = useDebouncedValue(asked.trim(), 150);
  const found = useQuery({ ...queries.jobs({ text, limit: 8 }), enabled: text.length > 1 });
  const pages = places.map((place) => ({
    id: place.to,
    label: words.navigation[place.name],
    leftSection: <place.Icon />,
    onClick: () => void navigate({ to: place.to }),
  }));
  const jobs = (text.length > 1 ? (found.data?.items ?? []) : []).map((job) => ({
    id: job.id,
    label: job.name,
    description: `${named(words.states, job.state)} · ${job.owner} · ${job.id}`,
    leftSection: <JobsIcon />,
    onClick: () => void navigate({ to: "/jobs/$ref", params: { ref: job.id } }),
  }));
  const matching = pages.filter((page) => page.label.toLowerCase().includes(asked.trim().toLowerCase()));
  const actions = [...matching, ...jobs];
  const first = asked.trim() === "" ? undefined : actions[0]?.id;
  useEffect(() => {
    if (first !== undefined) selectFirst();
  }, [first]);
  return (
    <Spotlight
      store={store}
      actions={actions}
      query={asked}
      onQueryChange={setAsked}
      filter={(_, actions) => actions}
      nothingFound={words.shell.nothingFound}
      shortcut={["mod + K"]}
      tagsToIgnore={[]}
      lockScroll={false}
      searchProps={{
        placeholder: words.shell.findCommand,
        "aria-label": words.shell.findCommand,
        leftSection: <SearchIcon />,
      }}
    />
  );
}

/** Enter opens what is selected, and Mantine selects only when something is typed: jobs are found a moment later. */
function selectFirst(): void {
  const list = document.getElementById(store.getState().listId);
  list?.querySelector("[data-selected]")?.removeAttribute("data-selected");
  list?.querySelector("[data-action]")?.setAttribute("data-selected", "true");
  store.updateState((state) => ({ ...state, selected: 0 }));
}
