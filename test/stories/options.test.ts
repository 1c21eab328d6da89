import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../../packages/postern/src/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const folder = ownFolder();

describe("options that cannot work", () => {
  const mistakes: readonly (readonly [string, unknown])[] = [
    ["zzz", { zzz: 1 }],
    ["maxToolCalls", { limits: { maxToolCalls: "5" } }],
    ["zzz", { limits: { zzz: 1 } }],
    ["maxRiskUnapproved", { limits: { maxRiskUnapproved: "mild" } }],
    ["approvals.patience", { approvals: { patience: "forever" } }],
    ["approvals.ttlMs", { approvals: { ttlMs: -5 } }],
    ["approvals.who", { approvals: { who: "me" } }],
    ["hooks", { hooks: 5 }],
    ["durability", { durability: "x" }],
    ["folder", { folder: "" }],
    ["store", { store: "redis:" }],
    ["x", { servers: { x: {} } }],
  ];
  for (const [member, options] of mistakes) {
    it(`are refused, naming the member: ${JSON.stringify(options)}`, async () => {
      const made = createRuntime(options as never);
      await expect(made).rejects.toMatchObject({ name: "RuntimeFault" });
      await expect(made).rejects.toThrow(member);
    });
  }

  it("a context whose scopes are no list is refused, not split into letters", async () => {
    await using h = await runtimeFixture();
    await expect(h.runtime.invoke({ tool: "echo" }, { scopes: "mail" as never })).rejects.toThrow(/scopes/);
    await expect(h.runtime.invoke(null as never)).rejects.toMatchObject({ code: "request_invalid" });
  });
});

describe("a store in a missing folder", () => {
  it("is refused with the folder and the fix, and opens once the folder exists", async () => {
    const missing = join(folder, "not", "mounted");
    const store = `sqlite:${join(missing, "postern.db")}`;
    const made = createRuntime({ store });
    await expect(made).rejects.toMatchObject({ name: "RuntimeFault", code: "store_unopenable" });
    await expect(made).rejects.toThrow(`\`${missing}\`, the folder of the store \`${store}\`, is not there.`);
    await expect(made).rejects.toThrow(`\`mkdir -p ${missing}\``);
    expect(existsSync(join(missing, ".."))).toBe(false);
    mkdirSync(missing, { recursive: true });
    await using runtime = await createRuntime({ store });
    expect(runtime.health().status).toBe("ok");
  });
});

it("makes its `folder`, for its owner alone, before the store in it opens", async () => {
  const own = join(folder, ".postern");
  await using runtime = await createRuntime({ store: `sqlite:${join(own, "postern.db")}`, folder: own });
  expect(runtime.health().status).toBe("ok");
  expect(statSync(own).mode & 0o777).toBe(0o700);
  const file = join(folder, "a-file");
  writeFileSync(file, "");
  await expect(createRuntime({ folder: file })).rejects.toMatchObject({
    code: "data_folder_unusable",
    message: expect.stringContaining(file),
  });
});

describe("an unknown call", () => {
  it("is settled by the id its caller received, also after it had waited for a person", async () => {
    await using h = await runtimeFixture({}, [
      {
        name: "wire",
        description: "Loses its connection.",
        risk: "high",
        effects: "write",
        idempotent: false,
        input: { type: "object" },
        execute: () => {
          throw Object.assign(new Error("reset"), { unknown: true });
        },
      },
    ]);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "wire" }, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    const lost = await h.runtime.invoke({ tool: "wire" }, asker);
    expect(lost.refusal?.code).toBe("outcome_unknown");
    const twin = await h.runtime.invoke({ tool: "wire" }, asker);
    expect(twin.text).toContain((await h.runtime.calls.get(lost.callId))?.call.id);
    expect(await h.runtime.ledger.settle(lost.callId, "succeeded", "seen in the books")).toMatchObject({
      settled: true,
    });
    expect(await h.runtime.invoke({ tool: "wire" }, asker)).toMatchObject({ status: "ok", replayed: true });
  });
});

describe("a tool that succeeds and answers with nonsense", () => {
  it("is recorded as succeeded, and its result is unavailable", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    await using h = await runtimeFixture({ autonomy: "A4" }, [
      {
        name: "odd",
        description: "Writes, and answers with a cycle.",
        risk: "high",
        effects: "write",
        idempotent: false,
        input: { type: "object" },
        execute: () => cycle as never,
      },
    ]);
    const outcome = await h.runtime.invoke({ tool: "odd" }, asker);
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "result_unavailable" } });
    expect((await h.runtime.calls.get(outcome.callId))?.state).toBe("ok");
  });
});

describe("a server that dies while it prints a secret", () => {
  it("is reported without the secret, whatever store lent it", async () => {
    const value = "s3cret-value-of-the-server";
    const secrets = { get: async () => ({ reveal: () => value }) };
    const script = "console.error('cannot log in with ' + process.env.TOKEN); process.exit(1)";
    const leaky = { command: process.execPath, args: ["-e", script], env: { TOKEN: "secret://leaky/token" } };
    await using runtime = await createRuntime({ secrets, servers: { leaky } });
    const output = JSON.stringify([runtime.health(), await runtime.audit.query({})]);
    expect(output).toContain("cannot log in with [redacted]");
    expect(output).not.toContain(value);
  });
});
