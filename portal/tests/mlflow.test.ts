import { describe, expect, it } from "vitest";

import { router } from "@/app/router";

/** Where an address leads in the end. */
async function leadsTo(address: string): Promise<[string, object]> {
  router.history.push(address);
  await router.load();
  const { pathname, search } = router.state.location;
  return [pathname, JSON.parse(JSON.stringify(search)) as object];
}

describe("links of MLflow's client", () => {
  it("lead to the job that is the run", async () => {
    expect(await leadsTo("/experiments/0/runs/1m7qcvcncxzqyp6r")).toEqual(["/jobs/1m7qcvcncxzqyp6r", {}]);
  });
  it("lead to the runs of the experiment, or to all", async () => {
    const label = ["experiment=1m7qcvcncxzqyp6s"];
    expect(await leadsTo("/experiments/1m7qcvcncxzqyp6s")).toEqual(["/experiments", { label }]);
    expect(await leadsTo("/experiments/0")).toEqual(["/experiments", {}]);
  });
  it("leave the comparison where it is", async () => {
    expect((await leadsTo("/experiments/compare"))[0]).toBe("/experiments/compare");
  });
});
