import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { adviceText, filledIn, reasonText, stopText } from "@/words/coded";
import { faultsZh } from "@/words/faultsZh";
import { reasonsZh } from "@/words/reasonsZh";

const ROOT = join(__dirname, "../..");

test("a sentence is complete only with all its names, and takes the first that is known", () => {
  expect(filledIn("需要 {a} 块", {})).toBeNull();
  expect(filledIn("{a|b} 不存在", { b: "x.py" })).toBe("x.py 不存在");
});

test("readers of English see the server's sentence, others the sentence of the code", () => {
  const coded = { code: "missing-module", numbers: { module: "torch" }, message: "The Python module torch…" };
  expect(reasonText("en", coded)).toBe("The Python module torch…");
  expect(reasonText("zh", coded)).toBe("未安装 Python 模块 torch。");
  expect(adviceText("zh", { ...coded, message: "Install it." })).toContain("安装");
});

test("a Chinese reason has all figures of the server's sentence, and leaves out what is not known", () => {
  const numbers = { needs: "8", free: "3", gang: 3, out_of_service: 1, unreachable: 1 };
  const coded = { code: "no-free-gpu", numbers, message: "needs 8 GPUs …" };
  expect(reasonText("zh", coded)).toBe(
    "需要 8 块 GPU（3 个任务同时启动），当前空闲 3 块，另有 1 块停用，1 个节点无法连接",
  );
  expect(reasonText("zh", { ...coded, numbers: { needs: "2", free: "1", models: "A100" } })).toBe(
    "需要 2 块 A100 GPU，当前空闲 1 块",
  );
});

test("a code that is not known yet, and a reason without one, show the server's words", () => {
  expect(reasonText("zh", { code: "brand-new", numbers: {}, message: "Something new." })).toBe("Something new.");
  expect(reasonText("zh", { code: null, numbers: null, message: "cancelled" })).toBe("cancelled");
});

test("every fault of the reference has its Chinese sentences", () => {
  const page = readFileSync(join(ROOT, "docs/reference/faults.md"), "utf8");
  const codes = [...page.matchAll(/^\| `([\w-]+)` \|/gm)].map((found) => found[1] as string);
  expect(codes.length).toBeGreaterThan(80);
  expect(codes.filter((code) => !(code in faultsZh))).toEqual([]);
});

test("every reason that the server gives has its Chinese sentences", () => {
  const codes = pythonFiles(join(ROOT, "src/muster"))
    .map((path) => readFileSync(path, "utf8"))
    .flatMap((text) => [...text.matchAll(/\bReason\(\s*"([\w-]+)"/g)].map((found) => found[1] as string));
  expect(codes.length).toBeGreaterThan(15);
  expect(codes.filter((code) => !(code in reasonsZh))).toEqual([]);
});

test("why an attempt was stopped is said in Chinese, and in the server's words where it is not known", () => {
  expect(stopText("zh", "was preempted by bert")).toBe("被 bert 抢占");
  expect(stopText("en", "was preempted by bert")).toBe("was preempted by bert");
  expect(stopText("zh", "something else")).toBe("something else");
});

const pythonFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".py"))
    .map((name) => join(folder, name));

test("why a member of a sweep was stopped early, which has no code, is told by its sentence", () => {
  const message = "stopped early: its best of 0.5 at step 3 is worse than the median 0.7 of 4";
  expect(reasonText("zh", { code: null, numbers: null, message })).toContain("第 3 步");
  expect(reasonText("en", { code: null, numbers: null, message })).toBe(message);
});
