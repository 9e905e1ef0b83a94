import type { ComponentType } from "react";

import { isAdmin, mayWork, useMe } from "./session";
import {
  AdminIcon,
  ClusterIcon,
  ExperimentsIcon,
  EnvironmentsIcon,
  FilesIcon,
  HomeIcon,
  JobsIcon,
  ModelsIcon,
  QueueIcon,
  ScheduleIcon,
  ShareIcon,
  SubmitIcon,
  SweepsIcon,
  SimulateIcon,
} from "@/parts/icons";
import type { Words } from "@/words/shape";

/** The entries of the navigation and the command bar. */
export interface Place {
  to: string;
  name: keyof Words["navigation"];
  Icon: ComponentType;
  isForAdmins?: boolean;
  /** It is of no use to a login that may only read. */
  isForWork?: boolean;
  /** Pressed after `g`. */
  key?: string;
}

const PLACES: Place[] = [
  { to: "/", name: "home", Icon: HomeIcon, key: "h" },
  { to: "/jobs", name: "jobs", Icon: JobsIcon, key: "j" },
  { to: "/queue", name: "queue", Icon: QueueIcon, key: "q" },
  { to: "/virtual-clusters", name: "virtualClusters", Icon: ShareIcon, key: "v" },
  { to: "/submit", name: "submit", Icon: SubmitIcon, key: "s", isForWork: true },
  { to: "/experiments", name: "experiments", Icon: ExperimentsIcon, key: "r" },
  { to: "/sweeps", name: "sweeps", Icon: SweepsIcon, key: "w" },
  { to: "/models", name: "models", Icon: ModelsIcon, key: "m" },
  { to: "/cluster", name: "cluster", Icon: ClusterIcon, key: "c" },
  { to: "/schedule", name: "schedule", Icon: ScheduleIcon },
  { to: "/files", name: "files", Icon: FilesIcon, key: "f" },
  { to: "/environments", name: "environments", Icon: EnvironmentsIcon, key: "e" },
  { to: "/simulate", name: "simulate", Icon: SimulateIcon },
  { to: "/admin", name: "admin", Icon: AdminIcon, isForAdmins: true },
];

/** Those that the reader can use. */
export function usePlaces(): Place[] {
  const me = useMe();
  return PLACES.filter((place) => (isAdmin(me) || !place.isForAdmins) && (mayWork(me) || !place.isForWork));
}
