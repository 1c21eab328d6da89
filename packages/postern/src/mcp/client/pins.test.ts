import { describe, expect, it } from "vitest";
import { actor } from "../../../../../test/fakes/actors.ts";
import { heldDisk } from "../../../../../test/fakes/held-disk.ts";
import { aLogStore, bent } from "../../../../../test/fakes/log-store.ts";
import { somePins } from "../../../../../test/fakes/pins.ts";
import { sqliteFiles } from "../../../../../test/fakes/sqlite-files.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { eventIn } from "../../audit/entry.ts";
import { createRedactor } from "../../secrets/redactor.ts";
import type { Store } from "../../store/store.ts";
import { definitionOf } from "./definition.ts";
import { openPins, type Pins } from "./pins.ts";

const clock = new FakeClock();
const files = sqliteFiles();
const defined = (description: string) => definitionOf({ name: "read", description, inputSchema: { type: "object" } });
const [first, second, third] = [defined("one"), defined("two"), defined("three")];

async function opened(store: Store, log: (problem: string) => void = () => {}): Promise<Pins> {
  return openPins({ store, clock, policy: { version: "p1" }, redactor: createRedactor(), log });
}

async function typesOf(store: Store): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { body } of store.events({ after: -1 })) types.push(String(eventIn(body)?.type));
  return types;
}

describe("a pin", () => {
  it("is the first definition that was seen, and outlives its process", async () => {
    const store = aLogStore(clock);
    const pins = await opened(store);
    await pins.recordSeen({ server: "files", tool: "files__read" }, first, false);
    await pins.recordSeen({ server: "files", tool: "files__read" }, second, false);
    const again = await opened(store);
    expect(again.changes("files__read")).toMatchObject({
      state: "changed",
      pinned: { digest: first.digest },
      offered: { digest: second.digest },
      differences: [{ field: "description", before: "one", after: "two", rows: ["- one", "+ two"] }],
    });
  });

  it("is written, with its event, only when something new was seen", async () => {
    const store = aLogStore(clock);
    const pins = await opened(store);
    for (const seen of [first, first, second, second, first, first, third, third])
      await pins.recordSeen({ server: "files", tool: "files__read" }, seen, false);
    expect(await typesOf(store)).toEqual([
      "mcp.tool_pinned",
      "mcp.tool_changed",
      "mcp.tool_restored",
      "mcp.tool_changed",
    ]);
  });

  it("of a strict server is an operator's word, also after the server is strict no more", async () => {
    const pins = await opened(aLogStore(clock));
    await pins.recordSeen({ server: "files", tool: "files__read" }, first, true);
    await pins.recordSeen({ server: "files", tool: "files__read" }, second, false);
    expect(pins.changes("files__read")).toMatchObject({ state: "new", offered: { digest: second.digest } });
    expect(pins.get("files__read")?.pinned).toBeUndefined();
  });

  it("that cannot be read is not trusted: the tool waits, and the log says so", async () => {
    const store = aLogStore(clock);
    for (const body of [1, {}, { server: "files", tool: "files__read", pinned: { digest: 1 } }]) {
      const id = `files__${JSON.stringify(body).length}`;
      await store.commit({ write: "document", kind: "pin", id, body, expectedVersion: 0 }, "committed");
    }
    const said: string[] = [];
    const pins = await opened(store, (problem) => said.push(problem));
    expect(said).toHaveLength(3);
    await pins.recordSeen({ server: "files", tool: "files__1" }, first, false);
    expect(pins.changes("files__1")).toMatchObject({ state: "new" });
    expect(await pins.approve("files__1", { definition: first.digest, ...actor("ann") })).toMatchObject({
      approved: true,
    });
  });

  it("holds no secret that the server was lent and tells in its description", async () => {
    const store = aLogStore(clock);
    const redactor = createRedactor();
    redactor.learn("s3cret-token");
    const pins = await openPins({ store, clock, policy: { version: "p1" }, redactor, log: () => {} });
    const seen = defined("Uses s3cret-token.");
    await pins.recordSeen({ server: "files", tool: "files__read" }, seen, false);
    expect(JSON.stringify(await store.documents.get("pin", "files__read"))).not.toContain("s3cret");
    await pins.recordSeen({ server: "files", tool: "files__read" }, seen, false);
    expect(await typesOf(store)).toEqual(["mcp.tool_pinned"]);
  });

  it("that another process changed meanwhile is read again, and no approval is lost", async () => {
    const store = aLogStore(clock);
    const [one, other] = [await opened(store), await opened(store)];
    await one.recordSeen({ server: "files", tool: "files__read" }, first, false);
    await one.recordSeen({ server: "files", tool: "files__read" }, second, false);
    await other.recordSeen({ server: "files", tool: "files__read" }, second, false);
    expect(other.changes("files__read")).toMatchObject({ state: "changed", pinned: { digest: first.digest } });
    await one.approve("files__read", { definition: second.digest, ...actor("ann") });
    expect(await other.approve("files__read", { definition: second.digest, ...actor("bob") })).toMatchObject({
      changes: { state: "pinned", pinned: { by: "ann" } },
    });
  });

  it("is approved for a subscriber that reads it before the disk has answered", async () => {
    await using store = files.openAt("slow.db", { clock });
    const pins = await opened(store);
    for (const seen of [first, second]) await pins.recordSeen({ server: "files", tool: "files__read" }, seen, false);
    const told = new Promise((resolve) => store.follow(() => setImmediate(resolve)));
    using disk = heldDisk();
    const approved = pins.approve("files__read", { definition: second.digest, ...actor("ann") });
    await told;
    expect([pins.changes("files__read")?.state, disk.unanswered]).toEqual(["pinned", 1]);
    disk.release();
    expect(await approved).toMatchObject({ approved: true });
  });

  it("that cannot be written is not there; one that never wins says so", async () => {
    const full = somePins(clock, bent(aLogStore(clock), { commit: () => Promise.reject(new Error("disk full")) }));
    await expect(full.recordSeen({ server: "files", tool: "files__read" }, first, false)).rejects.toThrow("disk full");
    expect(full.changes("files__read")).toBeUndefined();
    const lost = somePins(clock, bent(aLogStore(clock), { commit: async () => ({ won: false }) }));
    await expect(lost.recordSeen({ server: "files", tool: "files__read" }, first, false)).rejects.toMatchObject({
      code: "document_contended",
    });
  });

  it("is listed for one server or for all, by name", async () => {
    const pins = await opened(aLogStore(clock));
    for (const name of ["b__x", "a__y", "a__x"])
      await pins.recordSeen({ server: name.slice(0, 1), tool: name }, first, false);
    expect(pins.list().map(({ tool }) => tool)).toEqual(["a__x", "a__y", "b__x"]);
    expect(pins.list("a").map(({ tool }) => tool)).toEqual(["a__x", "a__y"]);
  });
});
