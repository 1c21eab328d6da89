/** PostgreSQL is killed with SIGKILL under runtimes that work, and started again. */
import { expect, it, onTestFinished } from "vitest";
import { createRuntime, defineTool, type Runtime, type ToolOutcome } from "../../packages/postern/src/index.ts";
import type { OpenStore } from "../../packages/postern/src/store/open-store.ts";
import { openPostgresStore } from "../../packages/postern/src/store/postgres/postgres-store.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { testPostgres } from "../fakes/postgres-server.ts";

// Nothing is on the disk by itself before the server is killed.
const postgres = testPostgres(["-c", "wal_writer_delay=10000"]);
const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

interface Gateway {
  readonly runtime: Runtime;
  readonly problems: string[];
}

/** How often each call had its effect, outside of the store. */
type Effects = Map<number, number>;

async function gateway(url: string, folder: string, effects: Effects, until = Promise.resolve()): Promise<Gateway> {
  const problems: string[] = [];
  const work = defineTool({
    ...{ name: "work", description: "Has an effect.", risk: "safe", effects: "write", idempotent: false, input },
    execute: async (given: unknown) => {
      const { n } = given as { readonly n: number }; // the schema says so
      effects.set(n, (effects.get(n) ?? 0) + 1);
      await until;
      return `did ${n}`;
    },
  });
  const log = (problem: string): void => void problems.push(problem);
  const store: OpenStore = (context) => openPostgresStore({ ...context, url, leaseMs: 2000 });
  const runtime = await createRuntime({ tools: [work], store, folder, log });
  onTestFinished(() => runtime.close(0));
  return { runtime, problems };
}

const call = (runtime: Runtime, n: number): Promise<ToolOutcome> =>
  runtime.invoke({ tool: "work", arguments: { n } }, { idempotencyKey: `key ${n}` });

it.runIf(process.env["POSTERN_TEST_PG"] === undefined)(
  "a killed PostgreSQL that comes back: running calls end, and the runtime goes on",
  async () => {
    const effects: Effects = new Map();
    const end = Promise.withResolvers<void>();
    const { runtime } = await gateway(postgres.newStore(), ownFolder(), effects, end.promise);
    const running = Promise.all([0, 1, 2, 3].map((n) => call(runtime, n)));
    await expect.poll(() => effects.size).toBe(4);
    await postgres.server?.kill("SIGKILL");
    end.resolve(); // the calls end while there is no database
    await expect
      .poll(async () => (await call(runtime, 4)).refusal?.code, { timeout: 20_000 })
      .toBe("audit_unavailable");
    await postgres.server?.start();
    expect((await running).map(({ status, text }) => `${status} ${text}`)).toEqual(
      [0, 1, 2, 3].map((n) => `ok did ${n}`),
    );
    await expect.poll(async () => (await call(runtime, 4)).status).toBe("ok");
    expect(await call(runtime, 0)).toMatchObject({ status: "ok", replayed: true });
    expect([...effects.values()]).toEqual([1, 1, 1, 1, 1]);
    expect(await runtime.audit.verify()).toMatchObject({ intact: true });
  },
);

it.runIf(process.env["POSTERN_TEST_PG"] === undefined)(
  "a PostgreSQL killed under load loses no call and runs none twice, now or after the next start",
  async () => {
    const effects: Effects = new Map();
    const [url, folder] = [postgres.newStore(), ownFolder()];
    const { runtime, problems } = await gateway(url, folder, effects);
    const outcomes = new Map<number, ToolOutcome>();
    let isKilled = false;
    const lane = async (first: number): Promise<void> => {
      for (let n = first; !isKilled; n += 8) outcomes.set(n, await call(runtime, n));
    };
    const lanes = Promise.all(Array.from({ length: 8 }, (_, i) => lane(i)));
    await expect.poll(() => outcomes.size).toBeGreaterThan(200);
    await postgres.server?.kill("SIGKILL");
    isKilled = true;
    await postgres.server?.start();
    await lanes;
    // What was committed and not yet on disk may be gone; then the runtime has stopped by name.
    await runtime.close(0);
    if (problems.some((problem) => problem.includes("lost writes"))) expect(problems.join()).toContain("Start again");
    const after = (await gateway(url, folder, effects)).runtime;
    expect(await after.audit.verify()).toMatchObject({ intact: true });
    await expect.poll(async () => await after.calls.list({ state: "attempted" }), { timeout: 30_000 }).toEqual([]);
    for (const n of effects.keys()) {
      const again = await call(after, n);
      if (outcomes.get(n)?.status === "ok") expect(again).toMatchObject({ status: "ok", replayed: true });
      else expect(["ok", "outcome_unknown"]).toContain(again.refusal?.code ?? again.status);
    }
    expect(new Set(effects.values())).toEqual(new Set([1]));
  },
);
