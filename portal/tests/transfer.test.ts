import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

import { ApiProblem, Unreachable } from "@/api/client";
import { IgnoreRules } from "@/transfer/ignore";
import { filesToSend, packed, type ChosenFile } from "@/transfer/packing";
import { sendPieces } from "@/transfer/pieces";
import { Sha256 } from "@/transfer/sha256";

const never = new AbortController().signal;
const file = (path: string, text: string): ChosenFile => ({ path, file: new File([text], "x") });

describe("sha256", () => {
  it("is that of others, in whatever pieces the bytes come", () => {
    for (const size of [0, 1, 55, 56, 63, 64, 65, 1000, 100_003]) {
      const bytes = new Uint8Array(size).map((_, index) => (index * 31 + 7) % 256);
      const sum = new Sha256();
      for (let at = 0; at < size; at += 37) sum.update(bytes.subarray(at, at + 37));
      expect(sum.digest()).toBe(createHash("sha256").update(bytes).digest("hex"));
    }
  });
});

describe("packing", () => {
  it("makes an archive that tar can read, with long names and names in Chinese", async () => {
    const long = `deep/${"x".repeat(120)}/训练.py`;
    const files = [file(long, "print(1)\n"), file("run.sh", "#!/bin/sh\necho hi\n"), file("empty", "")];
    const { archive, digest } = await packed(files, never, () => undefined);
    const folder = mkdtempSync(join(tmpdir(), "muster-tar-"));
    const bytes = new Uint8Array(await archive.arrayBuffer());
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(digest);
    writeFileSync(join(folder, "a.tgz"), bytes);
    execFileSync("tar", ["xzf", "a.tgz"], { cwd: folder });
    expect(readFileSync(join(folder, long), "utf8")).toBe("print(1)\n");
    expect(statSync(join(folder, "run.sh")).mode & 0o111).not.toBe(0);
    expect(statSync(join(folder, "empty")).mode & 0o111).toBe(0);
  });

  it("makes the same archive of the same files", async () => {
    const files = [file("a.py", "1"), file("b/c.py", "2")];
    const one = await packed(files, never, () => undefined);
    expect((await packed(files, never, () => undefined)).digest).toBe(one.digest);
  });

  it("leaves out what the files of rules say", async () => {
    const chosen = [
      file(".gitignore", "*.log\n/data/\n!keep.log\nbuild\n"),
      file(".musterignore", "!weights.log\n"),
      file("a.py", ""),
      file("x.log", ""),
      file("keep.log", ""),
      file("sub/weights.log", ""),
      file("data/big.bin", ""),
      file("sub/data/small.bin", ""),
      file("sub/build/out", ""),
      file(".git/HEAD", ""),
      file("sub/__pycache__/a.pyc", ""),
    ];
    const sent = (await filesToSend(chosen)).map(({ path }) => path);
    expect(sent).toEqual([".gitignore", ".musterignore", "a.py", "keep.log", "sub/data/small.bin", "sub/weights.log"]);
  });

  it("knows the patterns of git", () => {
    const rules = (...lines: string[]) => new IgnoreRules(new Map([["", lines]]));
    expect(rules("a/**/b").leavesOut("a/x/y/b")).toBe(true);
    expect(rules("**/foo").leavesOut("x/foo/y")).toBe(true);
    expect(rules("a?c").leavesOut("abc")).toBe(true);
    expect(rules("[a-c].py").leavesOut("b.py")).toBe(true);
    expect(rules("[!a-c].py").leavesOut("b.py")).toBe(false);
    expect(rules("\\#x").leavesOut("#x")).toBe(true);
    expect(rules("# x", "").leavesOut("x")).toBe(false);
    expect(rules("doc/*.txt").leavesOut("doc/sub/a.txt")).toBe(false);
    expect(rules("dir/").leavesOut("dir")).toBe(false);
  });
});

describe("sending in pieces", () => {
  it("goes on from what the server has, and after an outage", async () => {
    const server: string[] = ["ab"];
    let outages = 1;
    const has = () => server.join("").length;
    await sendPieces(
      new Blob(["abcdefgh"]),
      {
        received: () => Promise.resolve({ received: has(), complete: false }),
        put: async (offset, piece) => {
          if (offset === 5 && outages-- > 0) throw new Unreachable();
          server.push(await piece.text());
          return { received: has(), complete: has() === 8 };
        },
      },
      never,
      () => undefined,
      3,
    );
    expect(server.join("")).toBe("abcdefgh");
  });

  it("takes the offset that the server names", async () => {
    const offsets: number[] = [];
    await sendPieces(
      new Blob(["abcdef"]),
      {
        received: () => Promise.reject(new ApiProblem(404, {})),
        put: (offset, piece) => {
          offsets.push(offset);
          if (offset === 0) return Promise.reject(new ApiProblem(409, { received: 4 }));
          return Promise.resolve({ received: offset + piece.size, complete: true });
        },
      },
      never,
      () => undefined,
    );
    expect(offsets).toEqual([0, 4]);
  });

  it("stops when it is cancelled", async () => {
    const control = new AbortController();
    const sending = sendPieces(
      new Blob(["abcdef"]),
      {
        received: () => Promise.resolve({ received: 0, complete: false }),
        put: (offset) => {
          control.abort();
          return Promise.resolve({ received: offset + 1, complete: false });
        },
      },
      control.signal,
      () => undefined,
      1,
    );
    await expect(sending).rejects.toThrow();
  });
});
