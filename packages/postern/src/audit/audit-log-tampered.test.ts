import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "@postern/core";
import { beforeEach, describe, expect, it } from "vitest";
import { aLogStore, bent, changedEvents, noteSome } from "../../../../test/fakes/log-store.ts";
import { ownFolder } from "../../../../test/fakes/own-folder.ts";
import { FakeClock } from "../../../core/src/testing/clock.ts";
import type { Store } from "../store/store.ts";
import { openAuditLog } from "./audit-log.ts";
import { createSigner } from "./signer.ts";

const signer = createSigner();
const clock = new FakeClock();
let store = aLogStore(clock);
let problems: string[] = [];
beforeEach(() => {
  store = aLogStore(clock);
  problems = [];
});
const open = (over: Store = store) =>
  openAuditLog({ store: over, clock, signer, log: (problem) => problems.push(problem) });

const folder = ownFolder();

describe("a log that was tampered with", () => {
  it("is not called intact while its anchors cannot be read", async () => {
    await noteSome(store, 6);
    const anchorFile = join(folder, "audit.anchors");
    await using log = await openAuditLog({ store, clock, signer, anchorFile });
    expect(await log.verify()).toMatchObject({ intact: true });
    rmSync(anchorFile);
    mkdirSync(anchorFile);
    expect(await log.verify()).toMatchObject({ intact: false, unreadable: "failing", firstBroken: 0 });
    expect(log.checked).toMatchObject({ found: { intact: false } });
  });

  it.each<[string, (body: { readonly [name: string]: Json }) => Json, RegExp]>([
    ["its note is another's", (body) => ({ ...body, note: "x" }), /not signed by its key/],
    ["its edge is none", (body) => ({ ...body, edge: {} }), /not signed by its key/],
    [
      "its edge is another",
      (body) => ({ ...body, edge: { size: 6, roots: ["a".repeat(64), "b".repeat(64)] } }),
      /was changed/,
    ],
    ["it is nothing", () => null, /not signed by its key/],
  ])("is reported at the start and read from its first entry when of its checkpoint %s", async (_, change, problem) => {
    await noteSome(store, 6);
    await (await open())[Symbol.asyncDispose]();
    const get: Store["documents"]["get"] = async (kind, id) => {
      const document = await store.documents.get(kind, id);
      return (
        document && {
          ...document,
          body: change(document.body as { readonly [name: string]: Json }),
        }
      ); // written by the log above
    };
    const documents = { get, list: store.documents.list };
    await using log = await open(bent(store, { documents }));
    expect(problems).toEqual([expect.stringMatching(problem)]);
    await noteSome(store, 1);
    expect(log.size).toBe(7);
  });

  it("is broken for every later verification, also after it has grown again", async () => {
    await noteSome(store, 6);
    await (await open())[Symbol.asyncDispose]();
    const cut = aLogStore(clock);
    const id = "0000000000000006";
    const body = (await store.documents.get("checkpoint", id))?.body ?? null;
    await cut.commit({ write: "document", kind: "checkpoint", id, body, expectedVersion: 0 }, "committed");
    await noteSome(cut, 4);
    await using log = await open(cut);
    expect(problems).toEqual([expect.stringContaining("was cut off: its last checkpoint signs 6 entries")]);
    expect(await log.verify()).toMatchObject({ intact: false, firstBroken: 4 });
    await noteSome(cut, 2);
    expect(await log.verify()).toMatchObject({ intact: false });
    await noteSome(cut, 5);
    expect(await log.verify()).toMatchObject({ intact: false });
  });

  it("is followed from its first entry when its last one has another number", async () => {
    await noteSome(store, 6);
    await (await open())[Symbol.asyncDispose]();
    const events = changedEvents(store, (entry) => (entry.seq === 5 ? { ...entry, seq: 6 } : entry));
    await using log = await open(bent(store, { events }));
    expect(problems).toEqual([expect.stringContaining("was cut off")]);
    expect(log.size).toBe(5);
    await using unheard = await openAuditLog({ store: bent(store, { events }), clock, signer });
    expect(unheard.size).toBe(5);
  });

  it("is found broken while it runs, even without its checkpoints", async () => {
    const changed = bent(store, {
      events: changedEvents(store, (entry) => (entry.seq === 1 ? { seq: 1, body: "{}" } : entry)),
      documents: { get: async () => undefined, list: async () => [] },
    });
    await using log = await open(changed);
    await noteSome(store, 4);
    expect(await log.verify()).toMatchObject({ intact: false, firstBroken: 0 });
  });
});
