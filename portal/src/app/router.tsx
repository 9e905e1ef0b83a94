import { createHashHistory, createRootRoute, createRoute, createRouter, redirect } from "@tanstack/react-router";

import { page } from "./code";
import { labelsOfExperiment } from "./mlflow";
import { NotFound, PageError } from "./PageError";
import { Shell } from "./Shell";
import { HomePage } from "@/pages/home/HomePage";
import { readAdminView } from "@/pages/admin/view";
import { readClusterView } from "@/pages/cluster/cells";
import { readJobView } from "@/pages/job/address";
import { readScheduleView } from "@/pages/schedule/lanes";
import { readJobsView } from "@/pages/jobs/view";
import { readCompareView, readExperimentsView } from "@/pages/experiments/view";
import { readModelsView, readModelView } from "@/pages/models/view";
import { readSweepsView, readSweepView } from "@/pages/sweeps/view";
import { readQueueView } from "@/pages/queue/view";
import { readSubmitView } from "@/pages/submit/view";
import { readFilesView } from "@/pages/files/view";
import { readEnvironmentsView } from "@/pages/environments/view";

/** Left to itself, the router also gives a page what its reader has left out of the address, because it is not valid. */
function onlyKnown<View extends object>(
  read: (search: Record<string, unknown>) => View,
): (search: Record<string, unknown>) => View {
  return (search) => ({ ...Object.fromEntries(Object.keys(search).map((key) => [key, undefined])), ...read(search) });
}

/** Addresses stand behind `#`: those that people kept of the earlier page stay valid, and the server needs no rule for them. */
const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageError });

const home = createRoute({ getParentRoute: () => root, path: "/", component: HomePage });
const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  validateSearch: onlyKnown(readJobsView),
  component: page(() => import("@/pages/jobs/JobsPage"), "JobsPage"),
});
const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$ref",
  validateSearch: onlyKnown(readJobView),
  component: page(() => import("@/pages/job/JobPage"), "JobPage"),
});
/** Where the server sends addresses of pages of jobs that people have kept: /jobs/JOB/proxy/PORT/PATH */
const open = createRoute({
  getParentRoute: () => root,
  path: "/open/$ref/$port/$",
  component: page(() => import("@/pages/open/OpenPage"), "OpenPage"),
});

const cluster = createRoute({
  getParentRoute: () => root,
  path: "/cluster",
  validateSearch: onlyKnown(readClusterView),
  component: page(() => import("@/pages/cluster/ClusterPage"), "ClusterPage"),
});
const nodes = createRoute({
  getParentRoute: () => root,
  path: "/nodes",
  validateSearch: onlyKnown(readClusterView),
  beforeLoad: ({ search }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's way to say it
    throw redirect({ to: "/cluster", search }); // as the earlier page called it
  },
});
const node = createRoute({
  getParentRoute: () => root,
  path: "/nodes/$name",
  validateSearch: onlyKnown((search): { cluster?: string } =>
    typeof search.cluster === "string" ? { cluster: search.cluster } : {},
  ),
  component: page(() => import("@/pages/node/NodePage"), "NodePage"),
});
const schedule = createRoute({
  getParentRoute: () => root,
  path: "/schedule",
  validateSearch: onlyKnown(readScheduleView),
  component: page(() => import("@/pages/schedule/SchedulePage"), "SchedulePage"),
});

const queue = createRoute({
  getParentRoute: () => root,
  path: "/queue",
  validateSearch: onlyKnown(readQueueView),
  component: page(() => import("@/pages/queue/QueuePage"), "QueuePage"),
});
const virtualClusters = createRoute({
  getParentRoute: () => root,
  path: "/virtual-clusters",
  component: page(() => import("@/pages/virtual-clusters/VirtualClustersPage"), "VirtualClustersPage"),
});

const experiments = createRoute({
  getParentRoute: () => root,
  path: "/experiments",
  validateSearch: onlyKnown(readExperimentsView),
  component: page(() => import("@/pages/experiments/ExperimentsPage"), "ExperimentsPage"),
});
const compare = createRoute({
  getParentRoute: () => root,
  path: "/experiments/compare",
  validateSearch: onlyKnown(readCompareView),
  component: page(() => import("@/pages/experiments/ComparePage"), "ComparePage"),
});
/** Where MLflow's client says that a run or an experiment can be seen. */
const mlflowExperiment = createRoute({
  getParentRoute: () => root,
  path: "/experiments/$id",
  beforeLoad: ({ params }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's way to say it
    throw redirect({ to: "/experiments", search: labelsOfExperiment(params.id), replace: true });
  },
});
const mlflowRun = createRoute({
  getParentRoute: () => root,
  path: "/experiments/$id/runs/$run",
  beforeLoad: ({ params }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's way to say it
    throw redirect({ to: "/jobs/$ref", params: { ref: params.run }, replace: true });
  },
});
const sweeps = createRoute({
  getParentRoute: () => root,
  path: "/sweeps",
  validateSearch: onlyKnown(readSweepsView),
  component: page(() => import("@/pages/sweeps/SweepsPage"), "SweepsPage"),
});
const sweep = createRoute({
  getParentRoute: () => root,
  path: "/sweeps/$ref",
  validateSearch: onlyKnown(readSweepView),
  component: page(() => import("@/pages/sweeps/SweepPage"), "SweepPage"),
});
const models = createRoute({
  getParentRoute: () => root,
  path: "/models",
  validateSearch: onlyKnown(readModelsView),
  component: page(() => import("@/pages/models/ModelsPage"), "ModelsPage"),
});
const model = createRoute({
  getParentRoute: () => root,
  path: "/models/$name",
  validateSearch: onlyKnown(readModelView),
  component: page(() => import("@/pages/models/ModelPage"), "ModelPage"),
});

const submit = createRoute({
  getParentRoute: () => root,
  path: "/submit",
  validateSearch: onlyKnown(readSubmitView),
  component: page(() => import("@/pages/submit/SubmitPage"), "SubmitPage"),
});

const files = createRoute({
  getParentRoute: () => root,
  path: "/files",
  validateSearch: onlyKnown(readFilesView),
  component: page(() => import("@/pages/files/FilesPage"), "FilesPage"),
});
const environments = createRoute({
  getParentRoute: () => root,
  path: "/environments",
  validateSearch: onlyKnown(readEnvironmentsView),
  component: page(() => import("@/pages/environments/EnvironmentsPage"), "EnvironmentsPage"),
});
const alerts = createRoute({
  getParentRoute: () => root,
  path: "/alerts",
  component: page(() => import("@/pages/alerts/AlertsPage"), "AlertsPage"),
});
const welcome = createRoute({
  getParentRoute: () => root,
  path: "/welcome",
  component: page(() => import("@/pages/welcome/WelcomePage"), "WelcomePage"),
});
const profile = createRoute({
  getParentRoute: () => root,
  path: "/profile",
  component: page(() => import("@/pages/profile/ProfilePage"), "ProfilePage"),
});
const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: onlyKnown(readAdminView),
  component: page(() => import("@/pages/admin/AdminPage"), "AdminPage"),
});
const simulate = createRoute({
  getParentRoute: () => root,
  path: "/simulate",
  validateSearch: onlyKnown((search): { id?: string } => (typeof search.id === "string" ? { id: search.id } : {})),
  component: page(() => import("@/pages/simulate/SimulatePage"), "SimulatePage"),
});

const routeTree = root.addChildren([
  queue,
  virtualClusters,
  alerts,
  welcome,
  profile,
  admin,
  simulate,
  home,
  jobs,
  job,
  open,
  cluster,
  nodes,
  node,
  schedule,
  experiments,
  compare,
  mlflowExperiment,
  mlflowRun,
  sweeps,
  sweep,
  models,
  model,
  submit,
  files,
  environments,
]);

export const router = createRouter({
  routeTree,
  history: createHashHistory(),
  defaultPreload: "intent",
  defaultErrorComponent: PageError,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
