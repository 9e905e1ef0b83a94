import { createHash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Plugin } from "vite";

import { filesOf, firstPageFiles, readManifest, type Manifest } from "./manifest.ts";

const PAGE = /^src\/pages\/([^/]+)\/\w+Page\.tsx$/;
const TAB = /^src\/pages\/job\/([^/]+)\/\w+Tab\.tsx$/;

/** Tells the script that runs first which files each page needs, and gives it a name that changes with them. */
export function earlyStart(): Plugin {
  let folder = "dist";
  return {
    name: "early-start",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      const source = join(folder, "start.js");
      const code = JSON.stringify(codeOfPages(readManifest(folder), firstPageFiles(folder)));
      const text = readFileSync(source, "utf8").replace("const CODE = {};", `const CODE = ${code};`);
      const name = `assets/start-${createHash("sha256").update(text).digest("hex").slice(0, 8)}.js`;
      writeFileSync(join(folder, name), text);
      rmSync(source);
      const index = join(folder, "index.html");
      writeFileSync(index, readFileSync(index, "utf8").replace("/portal/start.js", `/portal/${name}`));
    },
  };
}

/** By page, such as `jobs`, and by tab of the job's page, such as `job/logs`: the files besides those of every page. */
export function codeOfPages(manifest: Manifest, first: string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const [module, entry] of Object.entries(manifest)) {
    const page = PAGE.exec(module)?.[1] ?? (TAB.test(module) ? `job/${TAB.exec(module)![1]}` : undefined);
    if (page) found[page] = filesOf(manifest, entry).filter((file) => !first.includes(file));
  }
  return found;
}
