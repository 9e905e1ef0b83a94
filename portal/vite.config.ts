import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

import { firstPageBudget } from "./budget.ts";
import { earlyStart } from "./start.ts";

/**
 * Browsers fetch six files at a time from one server, so that what every page needs is in one file, and what several
 * pages need in another. Libraries that are large and rarely needed stay by themselves.
 */
const CHUNKS = [
  { name: "first", tags: ["$initial" as const], priority: 2 },
  { name: "shared", minShareCount: 2, test: (module: string) => !RARE.test(module), priority: 1 },
];
const RARE = /node_modules\/(@codemirror|@lezer|uplot|yaml)\/|\/(Chart|YamlEditor|yaml\w*|\w+Page|\w+Tab)\.tsx?$/;

/** The server serves the build under /portal/; `npm run dev` passes calls of the API on to a server on port 7070. */
export default defineConfig({
  base: "/portal/",
  plugins: [react({ jsxImportSource: "@/visible" }), firstPageBudget({ most: 400_000, warnAt: 330_000 }), earlyStart()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "dist",
    assetsInlineLimit: 0, // the content security policy allows no data: addresses
    modulePreload: { polyfill: false },
    manifest: true,
    cssCodeSplit: false, // one small file that is there from the start, and cannot be missing when a page is opened
    rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
    target: "es2023",
    chunkSizeWarningLimit: 800,
  },
  server: { proxy: { "/api": "http://127.0.0.1:7070" } },
});
