/** A run belongs to the first principal of a tenant that used its id. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { SystemClock } from "../../packages/postern/src/index.ts";
import { eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

const ann = { tenant: "default", agent: "bot", user: "ann", via: "token:agent" };
const bob = { ...ann, user: "bob" };
const call = { tool: "echo", arguments: { to: "x" } };
const foreign = {
  status: "denied",
  refusal: {
    code: "run_foreign",
    retry: "changed",
    message: "Run `nightly` belongs to another principal; leave the run out, or name one of your own.",
  },
};
const nightly = (principal: typeof ann) => ({ principal, runId: "nightly" });

describe("a run", () => {
  it("belongs to its first principal: another one of the tenant is refused and reads nothing of it", async () => {
    await using at = await runtimeFixture();
    expect(await at.runtime.invoke(call, nightly(ann))).toMatchObject({ status: "ok" });
    expect(await at.runtime.invoke(call, nightly(bob))).toMatchObject(foreign);
    const { user: _, ...nobody } = ann;
    expect(await at.runtime.invoke(call, { principal: nobody, runId: "nightly" })).toMatchObject(foreign);
    expect(at.ran).toHaveLength(1);
    const [refused] = await at.runtime.audit.query({ type: "tool_call.refused" });
    expect(refused).toMatchObject({
      code: "run_foreign",
      stage: "budget",
      principal: { user: "bob" },
      refs: { run: "nightly" },
    });
  });

  it("belongs to the same principal under any credential, in sessions and in calls of tools", async () => {
    await using at = await runtimeFixture();
    await using session = at.runtime.openSession({}, nightly(ann));
    expect(await session.invoke(call)).toMatchObject({ status: "ok" });
    expect(await at.runtime.invoke(call, nightly({ ...ann, via: "stdio" }))).toMatchObject({ status: "ok" });
    await using other = at.runtime.openSession({}, nightly(bob));
    expect(await other.invoke(call)).toMatchObject(foreign);
  });

  it("of another tenant is another run", async () => {
    await using at = await runtimeFixture();
    expect(await at.runtime.invoke(call, nightly(ann))).toMatchObject({ status: "ok" });
    expect(await at.runtime.invoke(call, nightly({ ...bob, tenant: "acme" }))).toMatchObject({ status: "ok" });
    expect(await at.runtime.invoke(call, nightly({ ...ann, tenant: "acme" }))).toMatchObject(foreign);
  });

  it("keeps its owner over a restart, also if its first call was refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "postern-runs-"));
    const options = { store: `sqlite:${join(folder, "postern.db")}`, clock: new SystemClock() };
    {
      await using before = await runtimeFixture(options);
      expect(await before.runtime.invoke({ tool: "nothing" }, nightly(ann))).toMatchObject({ status: "error" });
    }
    {
      await using after = await runtimeFixture(options);
      expect(await after.runtime.invoke(call, nightly(bob))).toMatchObject(foreign);
      expect(await after.runtime.invoke(call, nightly(ann))).toMatchObject({ status: "ok" });
    }
    rmSync(folder, { recursive: true });
  });

  it("that many want at once gets one owner", async () => {
    await using at = await runtimeFixture();
    const users = Array.from({ length: 20 }, (_, i) => ({ ...ann, user: `user-${i}` }));
    const outcomes = await Promise.all(
      users.flatMap((user) => [at.runtime.invoke(call, nightly(user)), at.runtime.invoke(call, nightly(user))]),
    );
    const owners = users.filter((_, i) => outcomes[2 * i]?.status === "ok");
    expect(owners).toHaveLength(1);
    expect(outcomes.filter(({ status }) => status === "ok")).toHaveLength(2);
    expect((await eventTypes(at.runtime)).filter((type) => type === "run.opened")).toHaveLength(1);
  });

  it("is opened by one event with its owner; a call itself still has two events", async () => {
    await using at = await runtimeFixture();
    const traceId = "a".repeat(32);
    await at.runtime.invoke(call, { ...nightly(ann), traceId });
    await at.runtime.invoke(call, nightly(ann));
    expect(await at.runtime.audit.query({ type: "run.opened" })).toMatchObject([
      { tenant: "default", principal: { agent: "bot", user: "ann" }, data: { run: "nightly" } },
    ]);
    expect(await eventTypes(at.runtime, traceId)).toEqual(["tool_call.attempted", "tool_call.succeeded"]);
    expect(await at.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it("is not opened by an explanation, and gives another owner's caller none", async () => {
    await using at = await runtimeFixture();
    expect(await at.runtime.explain(call, nightly(bob))).toMatchObject({ reached: "verdict" });
    expect(await at.runtime.invoke(call, nightly(ann))).toMatchObject({ status: "ok" });
    expect(await at.runtime.explain(call, nightly(bob))).toMatchObject({
      reached: "refused",
      refusal: foreign.refusal,
    });
  });
});

describe("the run of the day", () => {
  it("belongs to its principal, named or not, and cannot be taken by another, not even in advance", async () => {
    const clock = new FakeClock();
    await using at = await runtimeFixture({ clock });
    const { runId: annsRun } = at.runtime.openSession({}, { principal: ann });
    const tomorrows = annsRun.replace(/_\d{8}_/, "_20991231_");
    for (const runId of [annsRun, tomorrows]) {
      expect(await at.runtime.invoke(call, { principal: bob, runId })).toMatchObject({
        refusal: { code: "run_foreign" },
      });
      expect(await at.runtime.invoke(call, { principal: ann, runId })).toMatchObject({ status: "ok" });
    }
    expect(await at.runtime.invoke(call, { principal: ann })).toMatchObject({ status: "ok" });
    expect(await eventTypes(at.runtime)).not.toContain("run.opened");
  });
});
