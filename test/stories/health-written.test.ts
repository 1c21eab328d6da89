import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import type { Runtime } from "../../packages/postern/src/index.ts";
import { openDatabase } from "../../packages/postern/src/store/sqlite/open.ts";
import { SqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

async function asked(runtime: Runtime): Promise<readonly [number, unknown]> {
  await using web = await httpFixture(runtime);
  const response = await web.ask("/healthz", { as: "operator" });
  return [response.status, await response.json()];
}

describe("/healthz", () => {
  it("answers 503 with the reason while the store refuses writes, and 200 again afterwards", async () => {
    const clock = new FakeClock();
    const failing: Failing = new Map();
    await using made = await runtimeFixture({ clock, store: new FaultyStore(clock, failing) });
    expect(await asked(made.runtime)).toEqual([200, { status: "ok" }]);
    failing.set("document", 1);
    await clock.advance(2_000);
    const refused = { status: "broken", problem: expect.stringContaining("the disk is full") };
    expect(await asked(made.runtime)).toEqual([503, refused]);
    await using web = await httpFixture(made.runtime);
    const health = await web.ask("/v1/health", { as: "operator" });
    expect(await health.json()).toMatchObject(refused);
    await clock.advance(2_000);
    expect(await asked(made.runtime)).toEqual([200, { status: "ok" }]);
  });

  it("answers 503 while calls were refused, though a small write succeeds, until a quiet minute is over", async () => {
    const clock = new FakeClock();
    const failing: Failing = new Map([["claim", 1]]);
    await using made = await runtimeFixture({ clock, store: new FaultyStore(clock, failing) });
    await using web = await httpFixture(made.runtime);
    const answers = async (): Promise<unknown> => {
      const health = await web.ask("/v1/health", { as: "operator" });
      return [(await asked(made.runtime))[0], ((await health.json()) as { status: string }).status];
    };
    expect(await answers()).toEqual([200, "ok"]);
    expect((await made.runtime.invoke({ tool: "echo", arguments: { to: "x" } }, asker)).status).toBe("error");
    for (let seconds = 0; seconds < 60; seconds += 10) {
      expect(await answers()).toEqual([503, "broken"]);
      await clock.advance(10_000);
    }
    expect(await answers()).toEqual([200, "ok"]);
    expect(made.runtime.alarms.list()).toMatchObject([{ kind: "store_broken", state: "resolved" }]);
  });

  it("answers 503 while a database in a file is read-only", async () => {
    const clock = new FakeClock();
    const opened = openDatabase(join(ownFolder(), "postern.db"), () => {});
    await using made = await runtimeFixture({
      clock,
      store: new SqliteStore(opened, { clock, serialize: serializeWith((text) => text) }),
    });
    expect((await asked(made.runtime))[0]).toBe(200);
    opened.database.exec("PRAGMA query_only = ON");
    await clock.advance(2_000);
    const problem = expect.stringMatching(/refuses writes.*read ?only/);
    expect(await asked(made.runtime)).toEqual([503, { status: "broken", problem }]);
    opened.database.exec("PRAGMA query_only = OFF");
  });

  it("writes at most once in two seconds, however often it is asked", async () => {
    const clock = new FakeClock();
    let writes = 0;
    class CountingStore extends FaultyStore {
      override commit(...given: Parameters<FaultyStore["commit"]>): ReturnType<FaultyStore["commit"]> {
        if (given[0].write === "document" && given[0].kind === "health") writes += 1;
        return super.commit(...given);
      }
    }
    await using made = await runtimeFixture({ clock, store: new CountingStore(clock, new Map()) });
    await Promise.all(Array.from({ length: 50 }, () => asked(made.runtime)));
    expect(writes).toBe(1);
  });

  it("answers 503 when a write hangs", async () => {
    const clock = new FakeClock();
    class HangingStore extends FaultyStore {
      override commit(...given: Parameters<FaultyStore["commit"]>): ReturnType<FaultyStore["commit"]> {
        if (given[0].write === "document" && given[0].kind === "health") return new Promise(() => {});
        return super.commit(...given);
      }
    }
    await using made = await runtimeFixture({ clock, store: new HangingStore(clock, new Map()) });
    const answer = asked(made.runtime);
    await expect.poll(() => clock.advance(1_000).then(() => Promise.race([answer, undefined]))).toBeDefined();
    expect((await answer)[0]).toBe(503);
  });
});
