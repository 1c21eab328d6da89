import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { RunAbout, Runs } from "../../packages/postern/src/observe/index.ts";
import { differences } from "../fakes/projected-again.ts";
import { RunFolder, runsFolder } from "../fakes/run-folder.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const name = { runId: "run_1" };
const base = { ...asker, runId: "run_1" } as const;

type Tool = NonNullable<Parameters<typeof runtimeFixture>[1]>[number];

async function begun(
  about: RunAbout = {},
  tools: readonly Tool[] = [],
  options: Parameters<typeof runtimeFixture>[0] = {},
): Promise<{ h: RuntimeFixture; runs: Runs; run: RunFolder } & AsyncDisposable> {
  const folder = runsFolder();
  const h = await runtimeFixture({ archive: { folder }, ...options }, tools);
  const { runs } = h.runtime;
  if (runs === undefined) throw new Error("no runs");
  await runs.begin(name, about);
  return { h, runs, run: new RunFolder(folder, "run_1"), [Symbol.asyncDispose]: () => h.runtime.close() };
}

describe("the state of a finished run", () => {
  it("is passed if every call succeeded and every expected deliverable exists", async () => {
    await using k = await begun({ deliverables: ["report.md", "charts/"] });
    writeFileSync(k.run.file("deliverables/report.md"), "# Report\n");
    mkdirSync(k.run.file("deliverables/charts"));
    writeFileSync(k.run.file("deliverables/charts/one.csv"), "a,b\n");
    await k.h.runtime.invoke({ tool: "echo", arguments: { to: "a" } }, base);

    expect(await k.runs.finish(name)).toMatchObject({
      state: "completed",
      governance: { result: "passed", reasons: [] },
      deliverables: { missing: [] },
    });
    expect(k.run.types.slice(-3)).toEqual([
      "deliverable.check.started",
      "deliverable.check.completed",
      "run.completed",
    ]);
    expect(k.run.json("artifact-manifest.json")).toMatchObject({
      deliverables: [
        { path: "charts/one.csv", bytes: 4, media_type: "text/csv", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { path: "report.md", bytes: 9, media_type: "text/markdown" },
      ],
    });
    expect(await differences(k.h.runtime, k.run)).toEqual([]);
  });

  it("is incomplete if a deliverable is missing, which is named", async () => {
    await using k = await begun({ deliverables: ["report.md", "charts/", "there.txt"] });
    writeFileSync(k.run.file("deliverables/there.txt"), "");
    mkdirSync(k.run.file("deliverables/charts"));
    const { governance, deliverables } = await k.runs.finish(name);

    expect(deliverables).toEqual({
      expected: ["report.md", "charts/", "there.txt"],
      missing: ["report.md", "charts/"],
    });
    expect(governance.result).toBe("incomplete");
    expect(governance.reasons.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      "deliverable_missing: `deliverables/report.md` is missing.",
      "deliverable_missing: `deliverables/charts/` is missing.",
    ]);
    const missing = k.run.events.filter(({ type }) => type === "deliverable.missing");
    expect(missing.map(({ data, severity }) => [data["path"], severity])).toEqual([
      ["report.md", "warning"],
      ["charts/", "warning"],
    ]);
  });

  it("is incomplete if a link replaces a deliverable", async () => {
    await using k = await begun({ deliverables: ["report.md"] });
    symlinkSync("/etc/hostname", k.run.file("deliverables/report.md"));
    expect((await k.runs.finish(name)).deliverables.missing).toEqual(["report.md"]);
    expect(k.run.json("artifact-manifest.json")).toMatchObject({ deliverables: [], left_out: [{ path: "report.md" }] });
  });

  it("is incomplete if it was not finished, or a person did not answer", async () => {
    await using k = await begun();
    expect((await k.runs.get(name))?.governance).toMatchObject({
      result: "incomplete",
      reasons: [{ code: "not_finished" }],
    });
    await k.h.runtime.invoke({ tool: "mail", arguments: { to: "a" } }, base);
    expect((await k.runs.finish(name)).governance).toMatchObject({
      result: "incomplete",
      reasons: [{ code: "approval_pending" }],
    });
  });

  it("is blocked if a permission was missing, or a path left the sandbox", async () => {
    const wanderer: Tool = {
      ...{ name: "wanderer", description: "Wanders.", risk: "safe", effects: "read", idempotent: true },
      input: { type: "object" },
      scopes: ["roam"],
      execute: (_, context) => {
        context.emit("file.rejected", "`../x` leaves its root", { path: "../x" });
        return "";
      },
    };
    await using k = await begun({ deliverables: ["report.md"] }, [wanderer]);
    await k.h.runtime.invoke({ tool: "wanderer", arguments: {} }, base);
    await k.h.runtime.invoke({ tool: "wanderer", arguments: {} }, base);
    await k.h.runtime.invoke({ tool: "wanderer", arguments: {} }, { ...base, scopes: ["roam"] });
    const { governance } = await k.runs.finish(name);
    expect(governance.result).toBe("blocked");
    expect(governance.reasons.map(({ result, code }) => `${result} ${code}`)).toEqual([
      "blocked scope_missing",
      "blocked path_rejected",
      "incomplete deliverable_missing",
    ]);
    expect(governance.reasons[0]?.message).toBe("`wanderer` blocked: scope_missing, and 1 more.");
  });

  it("is failed if the caller says so, a call may have happened, or calls came after its end", async () => {
    const dropped: Tool = {
      ...{ name: "dropped", description: "Loses its line.", risk: "medium", effects: "write", idempotent: false },
      input: { type: "object" },
      execute: () => Promise.reject(Object.assign(new Error("connection lost"), { unknown: true })),
    };
    await using k = await begun({}, [dropped], { limits: { maxRiskUnapproved: "medium" } });
    const { callId } = await k.h.runtime.invoke({ tool: "dropped", arguments: {} }, base);
    const failed = await k.runs.finish(name, { state: "failed", reason: "gave up" });
    expect(failed).toMatchObject({ state: "failed", reason: "gave up", governance: { result: "failed" } });
    expect(failed.governance.reasons).toEqual([
      { result: "failed", code: "run_failed", message: "gave up" },
      { result: "failed", code: "outcome_unknown", message: expect.stringContaining(callId) },
    ]);
    await k.h.runtime.ledger.settle(callId, "succeeded", "seen");
    await k.h.runtime.invoke({ tool: "echo", arguments: { to: "late" } }, base);
    await k.runs.flush();
    const late = (await k.runs.get(name))?.governance.reasons.map(({ code, message }) => `${code}: ${message}`);
    expect(late).toEqual(["run_failed: gave up", "late_events: 3 events came after the run was finished."]);
    expect((await k.runs.finish(name)).governance).toEqual({ result: "passed", reasons: [] });
    expect(await differences(k.h.runtime, k.run)).toEqual([]);
  });

  it("is not changed by a failed call or a person's denial", async () => {
    const failing: Tool = {
      ...{ name: "failing", description: "Fails.", risk: "safe", effects: "read", idempotent: true },
      input: { type: "object" },
      execute: () => Promise.reject(new Error("no luck")),
    };
    await using k = await begun({}, [failing]);
    await k.h.runtime.invoke({ tool: "failing", arguments: {} }, base);
    await k.h.runtime.invoke({ tool: "mail", arguments: { to: "a" } }, { ...base, patience: "deny" });
    expect((await k.runs.finish(name)).governance.result).toBe("passed");
  });
});

it.each(["../x", "/etc/passwd", "", ".", "a//b", "a/../b", "a\u0000b", "a\\b", "\ud800", "x".repeat(501)])(
  "is not set with the deliverable %j, which is refused",
  async (path) => {
    await using k = await begun();
    await expect(k.runs.describe(name, { deliverables: ["good.md", path], prompt: "new" })).rejects.toMatchObject({
      code: "request_invalid",
      message: expect.stringMatching(/deliverable/),
    });
    expect((await k.runs.get(name))?.deliverables.expected).toEqual([]);
    expect(k.run.types).not.toContain("prompt.rendered");
  },
);

it("lists what was stored by reference, with size and media type", async () => {
  const big: Tool = {
    ...{ name: "big", description: "Big.", risk: "safe", effects: "read", idempotent: true },
    input: { type: "object" },
    execute: () => "x".repeat(100_000),
  };
  await using k = await begun({}, [big]);
  const session = k.h.runtime.openSession({}, base);
  const { artifact } = await session.invoke({ tool: "big", arguments: {} });
  await k.runs.finish(name);
  expect(k.run.json("artifact-manifest.json")["artifacts"]).toEqual([
    { sha256: artifact, bytes: expect.any(Number), media_type: expect.stringContaining("/") },
  ]);
  await session.close();
});

it("lists plain files only, with names of any length", async () => {
  await using k = await begun();
  const long = `${"d".repeat(90)}/${"ü".repeat(60)} 😀.txt`;
  mkdirSync(k.run.file(`deliverables/${"d".repeat(90)}`));
  writeFileSync(k.run.file(`deliverables/${long}`), "long\n");
  writeFileSync(k.run.file("deliverables/big.bin"), Buffer.alloc(200_001, 7));
  writeFileSync(k.run.file("deliverables/empty"), "");
  symlinkSync("/etc/hostname", k.run.file("deliverables/link"));
  symlinkSync("/etc", k.run.file("deliverables/links"));
  linkSync(k.run.file("deliverables/empty"), k.run.file("workspace/second-name"));
  execFileSync("mkfifo", [k.run.file("deliverables/fifo")]);
  await k.runs.finish(name);

  expect(k.run.json("artifact-manifest.json")).toMatchObject({
    deliverables: [
      { path: "big.bin", bytes: 200_001 },
      { path: long, bytes: 5 },
    ],
    left_out: ["empty", "fifo", "link", "links"].map((path) => ({ path })),
  });
});
