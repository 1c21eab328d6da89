import { expect, it } from "vitest";
import { fakeDriver } from "../../fakes/fake-sandbox.ts";
import { asker, runtimeFixture } from "../../fakes/runtime-fixture.ts";
import { resultOf } from "../../fakes/script-fixture.ts";

it("a script that asks for many values above the limit learns their size, and nothing is read", async () => {
  const large = {
    ...({ name: "large", description: "Large.", risk: "safe", effects: "read", idempotent: true } as const),
    execute: () => "x".repeat(5_000_000),
  };
  await using h = await runtimeFixture({ chains: { drivers: [fakeDriver()], engines: ["fake"] } }, [large]);
  const read: string[] = [];
  const { artifacts } = h.runtime;
  const open = artifacts.open.bind(artifacts);
  Object.assign(artifacts, {
    open: (...asked: Parameters<typeof open>) => {
      read.push(asked[0]);
      return open(...asked);
    },
  });
  const code = `const { ref } = await call("large", {});
    const all = await Promise.allSettled(Array.from({ length: 16 }, () => host("materialize", { ref })));
    return [...new Set(all.map(({ reason }) => reason.message))].join();`;
  const outcome = await h.runtime.runChain({ code }, asker);
  expect(resultOf(outcome)["output_text"]).toMatch(/^The artifact has 5\d{6} bytes and a script gets 4194304 at most/);
  expect(read).toEqual([]);
});
