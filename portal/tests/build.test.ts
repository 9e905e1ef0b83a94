import { describe, expect, it } from "vitest";

import { codeOfPages } from "../start.ts";

describe("what is loaded early", () => {
  it("is the code of the page or tab, without that of every page", () => {
    const manifest = {
      "_first.js": { file: "assets/first.js" },
      "_shared.js": { file: "assets/shared.js", imports: ["_first.js"] },
      "src/pages/jobs/JobsPage.tsx": { file: "assets/JobsPage.js", imports: ["_first.js", "_shared.js"] },
      "src/pages/job/logs/LogsTab.tsx": { file: "assets/LogsTab.js", imports: ["_first.js"] },
      "src/parts/charts/Chart.tsx": { file: "assets/Chart.js" },
    };
    expect(codeOfPages(manifest, ["assets/first.js"])).toEqual({
      jobs: ["assets/JobsPage.js", "assets/shared.js"],
      "job/logs": ["assets/LogsTab.js"],
    });
  });
});
