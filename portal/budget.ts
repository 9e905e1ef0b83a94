import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import type { Plugin } from "vite";

import { firstPageFiles } from "./manifest.ts";

interface Budget {
  most: number;
  warnAt: number;
}

/** Fails the build if what a browser loads for the first page, gzipped, is more than the budget. */
export function firstPageBudget({ most, warnAt }: Budget): Plugin {
  let folder = "dist";
  return {
    name: "first-page-budget",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      const bytes = firstPageFiles(folder).reduce(
        (sum, file) => sum + gzipSync(readFileSync(join(folder, file)), { level: 9 }).length,
        0,
      );
      const shown = `first page: ${(bytes / 1000).toFixed(0)} kB gzipped of ${(most / 1000).toFixed(0)} kB`;
      if (bytes === 0) throw new Error("the build has no first page");
      if (bytes > most) throw new Error(`${shown}: load less at the start`);
      if (bytes > warnAt) this.warn(`${shown}: nearly too much`);
      else console.info(shown);
    },
  };
}
