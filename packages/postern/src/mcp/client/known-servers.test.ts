import { describe, expect, it } from "vitest";
import { Changing, read } from "../../../../../test/fakes/changing.ts";
import { aLogStore, bent } from "../../../../../test/fakes/log-store.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { createRuntime } from "../../index.ts";
import { Revisions } from "./known-servers.ts";

const config = { command: "node", args: ["server.js"] };
const dayMs = 86_400_000;

describe("what a server over pipes speaks", () => {
  it("is known over restarts, for a day, and of that program only", async () => {
    const clock = new FakeClock();
    const store = aLogStore(clock);
    await new Revisions(store, clock).keep("files", config, true);
    const revisions = new Revisions(store, clock);
    expect(await revisions.isOld("files", config)).toBe(true);
    expect(await revisions.isOld("other", config)).toBe(false);
    expect(await revisions.isOld("files", { ...config, args: ["other.js"] })).toBe(false);
    await clock.advance(dayMs);
    expect(await revisions.isOld("files", config)).toBe(false);
    await revisions.keep("files", config, true);
    expect(await revisions.isOld("files", config)).toBe(true);
  });

  it("is forgotten when it was wrong, and is not stored for a server behind a URL", async () => {
    const clock = new FakeClock();
    const revisions = new Revisions(aLogStore(clock), clock);
    await revisions.keep("files", config, true);
    await revisions.keep("files", config, false);
    expect(await revisions.isOld("files", config)).toBe(false);
    await revisions.keep("far", { url: "https://example.com/mcp" }, true);
    expect(await revisions.isOld("far", { url: "https://example.com/mcp" })).toBe(false);
  });

  it("is requested again when it cannot be stored or read", async () => {
    const clock = new FakeClock();
    const store = aLogStore(clock);
    const full = new Revisions(bent(store, { commit: () => Promise.reject(new Error("disk full")) }), clock);
    await full.keep("files", config, true);
    expect(await full.isOld("files", config)).toBe(false);
    const body = "not ours";
    await store.commit({ write: "document", kind: "mcp_revision", id: "files", body, expectedVersion: 0 }, "committed");
    expect(await new Revisions(store, clock).isOld("files", config)).toBe(false);
  });

  it("is asked in the process that serves: no other one is started for that", async () => {
    using server = new Changing(read);
    const store = `sqlite:${server.folder}/postern.db`;
    for (const starts of [1, 2, 3]) {
      await using runtime = await createRuntime({ store, servers: { files: server.config() } });
      expect(runtime.health().servers).toMatchObject([{ status: "connected" }]);
      expect(server.starts).toBe(starts);
    }
  });
});
