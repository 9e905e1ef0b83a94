import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, describe, expect, it, vi } from "vitest";

import { ApiProblem } from "@/api/client";
import { queries, type SweepMember } from "@/api/queries";

import { linesOf, titlesOf } from "@/pages/experiments/comparing";
import {
  differing,
  optionsOf,
  readCompareView,
  readExperimentsView,
  refusedField,
  runQueryOf,
  sorted,
  type Run,
} from "@/pages/experiments/view";
import { measured, progressOf, sortedMembers, sortingOf, type Sweep } from "@/pages/sweeps/view";
import { fileAddress, ownerOption, readModelView } from "@/pages/models/view";
import { chosenOf, commandOf, fieldsOf } from "@/pages/profile/notices";
import { curvesOverSteps } from "@/parts/charts/steps";
import { isWithin } from "@/parts/plots/brushes";
import { lineOf } from "@/parts/plots/runLines";
import { bestSoFar } from "@/parts/plots/Scatter";
import { scaleOf, valueText } from "@/parts/plots/scales";
import { en } from "@/words/en";

const RUN: Run = {
  ...{ id: "1", name: "net", owner: "amy", cluster: "lab", vc: "lab", state: "Succeeded", reason: "" },
  ...{ submittedAt: "2026-11-18T10:00:00Z", startedAt: null, endedAt: null, ranS: 3, gpuHours: 0.5, cost: null },
  ...{ peakMemoryBytes: null, gpuPercent: null, energyJ: null, package: null, commit: "", trackingUrl: "" },
  ...{ params: { lr: 0.1 }, env: {}, environment: {}, tags: {} },
  metrics: { acc: { count: 1, lastStep: 1, last: 0.9, lowest: 0.1, highest: 0.95 } },
};
const WAIT = { timeout: 30_000 };
const run = (part: Partial<Run>): Run => ({ ...RUN, ...part });

describe("scales", () => {
  it("places numbers between the lowest and the highest", () => {
    expect(scaleOf("batch", [32, 64, null, 48]).places).toEqual([0, 1, null, 0.5]);
  });
  it("tells numbers of several magnitudes apart by their logarithm", () => {
    const scale = scaleOf("lr", [0.0001, 0.01, 1]);
    expect(scale.isLog).toBe(true);
    expect(scale.places[1]).toBeCloseTo(0.5);
  });
  it("has round labels that stand where they say, and whole ones for what is counted", () => {
    const labels = (values: number[]) => scaleOf("a", values).ticks.map(({ label }) => label);
    expect(labels([6.0875, 8.033])).toEqual(["6.5", "7", "7.5", "8"]);
    expect(labels([1, 6])).toEqual(["1", "2", "3", "4", "5", "6"]);
    expect(labels([1, 2])).toEqual(["1", "2"]);
    expect(labels([0.3, -0.1])).toEqual(["-0.1", "0", "0.1", "0.2", "0.3"]);
    expect(labels([0.0001, 1])).toEqual(["0.0001", "0.001", "0.01", "0.1", "1"]);
    expect(labels([1e300, -1.7e308, 1.7e308])).toEqual([]);
    expect(scaleOf("batch", [32, 64]).ticks[0]).toEqual({ place: 0.25, label: "40" });
  });
  it("takes numbers that are written as texts for numbers", () => {
    expect(scaleOf("lr", ["1", 2, "3"]).places).toEqual([0, 0.5, 1]);
  });
  it("gives each text a place of its own", () => {
    expect(scaleOf("opt", ["sgd", "adam", true, undefined]).places).toEqual([0.5, 0, 1, null]);
  });
  it("puts the only value in the middle, and knows none", () => {
    expect(scaleOf("one", [0.5, 0.5]).places).toEqual([0.5, 0.5]);
    expect(scaleOf("none", []).ticks).toEqual([]);
  });
  it("writes what is no number as it is", () => {
    expect([valueText(0.123456789), valueText("NaN"), valueText(true), valueText(null)]).toEqual([
      ...["0.123457", "NaN", "true", "–"],
    ]);
  });
  it("draws a gap where a run has no value, and a point where a value has no neighbour", () => {
    const scales = [scaleOf("a", [0, 0]), scaleOf("b", [null, 1]), scaleOf("c", [0, 1]), scaleOf("d", [1, null])];
    const drawn = (run: number) => lineOf(scales, run, (axis) => axis, (place) => place); // prettier-ignore
    expect(drawn(0)).toEqual({ path: "M2.0 0.0L3.0 0.5", points: [{ axis: 0, place: 0.5 }] });
    expect(drawn(1)).toEqual({ path: "M0.0 0.5L1.0 0.5L2.0 1.0", points: [] });
  });
  it("chooses runs that pass all brushes", () => {
    const scales = [scaleOf("a", [0, 1, 2]), scaleOf("b", [2, 1, null])];
    const brushes = { a: { low: 0, high: 0.6 }, b: { low: 0, high: 1 } };
    expect([0, 1, 2].filter((each) => isWithin(scales, brushes, each))).toEqual([0, 1]);
    expect([0, 1, 2].filter((each) => isWithin(scales, {}, each))).toEqual([0, 1, 2]);
  });
});

describe("curves over steps", () => {
  const at = "2026-11-18T10:00:00Z";
  it("share their steps, and have gaps where a value is no number", () => {
    const first = {
      label: "a",
      points: [
        { step: 2, at, value: 0.5 },
        { step: 1, at, value: "NaN" },
      ],
    };
    const second = { label: "b", points: [{ step: 3, at, value: 0.25 }] };
    expect(curvesOverSteps([first, second])).toEqual({
      steps: [1, 2, 3],
      series: [
        { label: "a", values: [null, 0.5, undefined] },
        { label: "b", values: [undefined, undefined, 0.25] },
      ],
    });
  });
});

describe("experiments", () => {
  it("keep in the address what they know", () => {
    expect(
      readExperimentsView({ param: "lr<0.1", having: ["acc>=0.9"], order: "up", show: "table", use: "lowest" }),
    ).toEqual({ param: ["lr<0.1"], having: ["acc>=0.9"], use: "lowest" });
    expect(readCompareView({ job: [12, "b", ""], metric: "loss", all: 1 })).toEqual({
      job: ["12", "b"],
      metric: "loss",
    });
  });
  it("ask for what the view says, and name the same on the command line", () => {
    const view = { owner: "amy", param: ["lr<0.1", "opt=adam"], show: "parallel" as const };
    expect(runQueryOf(view)).toEqual({ owner: "amy", param: ["lr<0.1", "opt=adam"], limit: 1000 });
    expect(optionsOf(view)).toBe(" --owner amy --param 'lr<0.1' --param opt=adam");
  });
  it("are sorted by params and metrics, those without a value last", () => {
    const runs = [
      run({ id: "1", params: {} }),
      run({ id: "2", params: { lr: 10 } }),
      run({ id: "3", params: { lr: 9 } }),
    ];
    const order = (isDescending: boolean) => sorted(runs, { by: "param.lr", isDescending }, "last").map(({ id }) => id);
    expect(order(false)).toEqual(["3", "2", "1"]);
    expect(order(true)).toEqual(["2", "3", "1"]);
  });
  it("differ in parameters that are not the same in all", () => {
    expect(differing([run({ params: { lr: 1, seed: 1 } }), run({ params: { lr: 2, seed: 1 } })])).toEqual(["lr"]);
  });
  it("are compared line by line", () => {
    const other = run({ id: "2", params: { lr: 0.2 }, env: { A: "1" }, metrics: {} });
    const lines = linesOf([RUN, other], en);
    expect(lines.filter((line) => line.isDiffering).map(({ name, cells }) => [name, ...cells])).toEqual([
      ["param lr", "0.1", "0.2"],
      ["env A", "–", "1"],
      ["acc", "0.9", "–"],
    ]);
    expect(lines.some((line) => line.name === en.experiments.commit)).toBe(false);
  });
  it("say whether the code was changed since its commit", () => {
    const lines = linesOf([run({ commit: `${"ab".repeat(20)}-dirty` }), run({ commit: "ab".repeat(20) })], en);
    const cells = lines.find((line) => line.name === en.experiments.commit)?.cells;
    expect(cells).toEqual(["abababababab-dirty", "abababababab"]);
  });
  it("are told apart by their ids if they share a name", () => {
    expect(titlesOf([RUN, run({ id: "2" }), run({ id: "3", name: "other" })])).toEqual(["net (1)", "net (2)", "other"]);
  });
});

const SWEEP = { metric: "acc", goal: "max", members: 5, made: 3, endedAt: null, state: "Running", counts: {} };
const sweep = (part: object): Sweep => ({ ...SWEEP, ...part }) as Sweep;
const member = (number: number, value: number | null, endedAt: string | null = null): SweepMember => ({
  ...{ member: number, name: `s-${number}`, job: String(number), state: "Running", params: { lr: number } },
  ...{ createdAt: "", startedAt: null, endedAt, reason: "", value, step: null },
});

describe("sweeps", () => {
  it("count the members that are still to be made as waiting", () => {
    const counts = { Succeeded: 1, Queued: 1, Running: 1 };
    expect(progressOf(sweep({ counts }))).toMatchObject({ succeeded: 1, active: 1, waiting: 3 });
    expect(progressOf(sweep({ counts, state: "Stopping" })).waiting).toBe(1);
  });
  it("list the best first, and members without a value last", () => {
    const members = [member(1, 0.5), member(2, null), member(3, 0.9)];
    const order = (part: object) => sortedMembers(members, sortingOf({}, sweep(part))).map((each) => each.member);
    expect(order({})).toEqual([3, 1, 2]);
    expect(order({ goal: "min" })).toEqual([1, 3, 2]);
    expect(order({ metric: "" })).toEqual([1, 2, 3]);
  });
  it("know the best member, and who ended when", () => {
    const members = [member(1, 0.5, "2026-01-01T00:00:09Z"), member(2, null), member(3, 0.9, "2026-01-01T00:00:01Z")];
    const { best, ended, values } = measured(members, "max");
    expect([best, values, ended.map((each) => each.member)]).toEqual([1, [0.5, 0.9], [3, 1]]);
    expect(measured([], "min").best).toBe(-1);
  });
  it("know the best value so far", () => {
    expect(bestSoFar([3, 1, 2, 1, 0], "min")).toEqual([0, 1, 1, 1, 4]);
    expect(bestSoFar([3, 1, 4], "max")).toEqual([0, 0, 2]);
  });
});

describe("models", () => {
  it("have an address for every file", () => {
    expect(fileAddress({ id: "m1" }, "a b/#.pt")).toBe("/api/v1/models/m1/files/a%20b/%23.pt");
  });
  it("name their owner to others only", () => {
    expect(ownerOption({ owner: "amy" }, "amy")).toBe("");
    expect(ownerOption({ owner: "amy" }, "root")).toBe(" --owner amy");
    expect(readModelView({ version: "2", owner: "amy" })).toEqual({ version: 2, owner: "amy" });
    expect(readModelView({ version: "x" })).toEqual({});
  });
});

describe("notices", () => {
  const settings = {
    ...{ on: ["failed"], mail: "amy@example.org", webhook: null, webhookSecret: null, waitingSeconds: 1800 },
    ...{ quietHours: "22:00-07:00", timeZone: "UTC", language: "en", ways: [], mailOffered: true, webhookHosts: [] },
  };
  it("go back as they came", () => {
    expect(chosenOf(fieldsOf(settings))).toEqual({
      ...{ on: ["failed"], mail: "amy@example.org", webhook: null, webhookSecret: null, waiting: 1800 },
      ...{ quietHours: "22:00-07:00", timeZone: "UTC", language: "en" },
    });
  });
  it("have no secret without a webhook", () => {
    expect(chosenOf({ ...fieldsOf(settings), webhookSecret: "hook" }).webhookSecret).toBeNull();
    expect(chosenOf({ ...fieldsOf(settings), webhook: "slack", webhookSecret: "hook" }).webhookSecret).toBe("hook");
  });
  it("are the same on the command line", () => {
    expect(commandOf(fieldsOf(settings))).toBe(
      "muster notices set --on failed --mail amy@example.org --webhook none --waiting 30m --quiet 22:00-07:00 --time-zone UTC --language en",
    );
  });
});

describe("conditions", () => {
  it("are kept as they are in the address, and the field with the refused one is known", () => {
    const view = readExperimentsView({ param: ["batch=2", "lr~~0.1"], having: ["acc>=0.9"] });
    expect(runQueryOf(view).param).toEqual(["batch=2", "lr~~0.1"]);
    expect(refusedField(view, "'lr~~0.1' is not a condition")).toBe("param");
    expect(refusedField(readExperimentsView({ label: ["team"] }), "a label filter is key=value, not 'team'")).toBe(
      "label",
    );
    expect(refusedField(view, "no sweep is called that")).toBeUndefined();
  });
});

describe("members of a sweep", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("are asked for once more when the sweep has ended, and shown meanwhile as they were", async () => {
    let value = 0.5;
    vi.stubGlobal("fetch", () => Promise.resolve(Response.json({ items: [{ job: "a", value }], nextMember: null })));
    const client = new QueryClient();
    client.mount();
    const observer = new QueryObserver(client, queries.sweepMembers("s", true));
    const shown: unknown[] = [];
    const stop = observer.subscribe(({ data }) => data && shown.push(data[0]?.value));
    await vi.waitFor(() => expect(shown.at(-1)).toBe(0.5), WAIT);
    value = 0.9;
    observer.setOptions(queries.sweepMembers("s", false));
    expect(observer.getCurrentResult().data?.[0]?.value).toBe(0.5);
    await vi.waitFor(() => expect(shown.at(-1)).toBe(0.9), WAIT);
    observer.setOptions(queries.sweepMembers("other", false));
    expect(observer.getCurrentResult().data).toBeUndefined();
    stop();
    client.unmount();
  }, 60_000);
});

it("problems name the place of what was filled in, and not the part of the request", () => {
  const paths = ["body.quietHours", "query.limit", "body", "roles.body.command"];
  const problems = paths.map((path) => ({ path, message: "must be HH:MM-HH:MM", hint: "", line: null }));
  const found = new ApiProblem(400, { problems }).problems;
  expect(found.map((each) => each.path)).toEqual(["quietHours", "limit", "", "roles.body.command"]);
});
