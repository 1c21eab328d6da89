import { randomBytes } from "node:crypto";
import type { DurableEvent } from "@postern/core";
import { expect, it } from "vitest";
import { aLogStore } from "../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import { chainLimits } from "../call/session.ts";
import { FrozenScripts, type HaltedScript } from "./frozen.ts";
import { Journal } from "./journal.ts";

const event: DurableEvent = {
  ...{ moment: "noted", at: 0, type: "chain.frozen", summary: "", traceId: "t" },
  ...{ policyVersion: "p1", outcome: "info" },
} as const;
const about = { key: "k1", driver: "fake", engine: "fake 1", language: "javascript", source: "s", frozenAt: 1 };

function halted(image: string): HaltedScript {
  return {
    session: { limits: chainLimits, calls: 1, trace: [], pins: [], usedMs: 5 },
    journal: new Journal(100).freeze(),
    batch: [{ place: 0, tool: "mail", arguments: {} }],
    waiting: new Map([[0, "apr_1"]]),
    approvalId: "apr_1",
    expiresAt: 9,
    image: Buffer.from(image),
    usedCpuMs: 7,
  };
}

it("opens only the image that the row's reference names", async () => {
  const store = aLogStore(new FakeClock());
  const scripts = new FrozenScripts(store, { bytes: randomBytes(32), id: "key 1" });
  const first = await scripts.put(halted("one"), about, event);
  expect(await scripts.take(first, "k1")).toMatchObject({ script: { session: { usedMs: 5 } } });
  const second = await scripts.put(halted("two"), about, event);
  expect(await scripts.take(first, "k1")).toEqual({ gone: true });
  const taken = await scripts.take(second, "k1");
  expect("script" in taken && Buffer.from(taken.script.image ?? []).toString()).toBe("two");
  const others = new FrozenScripts(store, { bytes: randomBytes(32), id: "key 2" });
  expect(await others.take(second, "k1")).toMatchObject({ gone: true, why: expect.stringContaining("another key") });
  await scripts.forget("k1");
  expect(await scripts.take(second, "k1")).toEqual({ gone: true });
});

it("reads a header without the image", async () => {
  const store = aLogStore(new FakeClock());
  const scripts = new FrozenScripts(store, { bytes: randomBytes(32), id: "key 1" });
  const reference = await scripts.put(halted("one"), about, event);
  const read: string[] = [];
  const documents = {
    ...store.documents,
    get: (kind: string, id: string) => {
      read.push(kind);
      return store.documents.get(kind, id);
    },
  };
  const listed = new FrozenScripts({ ...store, documents } as typeof store, { bytes: randomBytes(32), id: "key 1" }); // no more of it is asked
  const header = { key: "k1", engine: "fake 1", imageBytes: 3, waiting: [{ tool: "mail", approvalId: "apr_1" }] };
  expect(await listed.header("k1")).toMatchObject(header);
  expect(read).toEqual(["frozen-header"]);
  expect(await scripts.take(reference, "k1")).toMatchObject({ script: { session: { usedMs: 5 } } });
  await scripts.forget("k1");
  expect(await listed.header("k1")).toBeUndefined();
});

it.each([1_000, 4_000])("a script that knows %i tools by name stores their equal parts once", async (tools) => {
  const store = aLogStore(new FakeClock());
  const scripts = new FrozenScripts(store, { bytes: randomBytes(32), id: "key 1" });
  const image = JSON.stringify(
    Array.from({ length: tools }, (_, n) => ({
      name: `server_${n % 20}__tool_${n}`,
      description: "Does something with the things of that server, and says what came of it.",
      inputSchema: { properties: { field_0: {}, field_1: {}, field_2: {}, field_3: {}, field_4: {} } },
    })),
  );
  const reference = await scripts.put(halted(image), about, event);
  const kept = await store.documents.get("frozen-script", "k1");
  expect(image.length).toBeGreaterThan(190 * tools);
  expect(JSON.stringify(kept?.body).length).toBeLessThan(30 * tools);
  expect(await scripts.header("k1")).toMatchObject({ imageBytes: image.length });
  const taken = await scripts.take(reference, "k1");
  expect("script" in taken && Buffer.from(taken.script.image ?? []).toString()).toBe(image);
});
