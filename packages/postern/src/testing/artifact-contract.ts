import { createHash } from "node:crypto";
import type { Principal } from "@postern/core";
import { FakeClock } from "@postern/core/testing";
import { expect, it } from "vitest";
import type { FindNeeded, SharedArtifactStore } from "../results/artifact-store.ts";

const anna: Principal = { tenant: "acme", agent: "writer", user: "anna" };
const ben: Principal = { tenant: "acme", agent: "writer", user: "ben" };
const stranger: Principal = { tenant: "other", agent: "writer", user: "anna" };
const bytes = Buffer.from("the whole result");
const noneNeeded = async (): Promise<ReadonlySet<string>> => new Set();
const digest = createHash("sha256").update(bytes).digest("hex");
const missing = "0".repeat(64);
const refusedAs = { name: "RuntimeFault", code: "artifact_unavailable" };

const hourMs = 3_600_000;

export interface ArtifactStoreOptions {
  readonly clock: FakeClock;
  readonly retentionMs: number;
}

/** The contract of every artifact store. `open` returns an empty one. */
export function artifactContract(
  openWith: (options: ArtifactStoreOptions) => Promise<SharedArtifactStore> | SharedArtifactStore,
): void {
  const open = (clock = new FakeClock(), retentionMs = 0) => openWith({ clock, retentionMs });

  it("names bytes by their SHA-256 and gives them back as they were", async () => {
    const store = await open();
    expect(await store.put(bytes, "text/plain", anna)).toEqual({
      digest,
      mediaType: "text/plain",
      bytes: bytes.length,
    });
    const opened = await store.open(digest, anna);
    expect(opened.meta).toEqual({ digest, mediaType: "text/plain", bytes: bytes.length });
    expect(Buffer.from(opened.bytes)).toEqual(bytes);
  });

  it("keeps a stream as the same bytes as one piece, and returns a stream", async () => {
    const store = await open();
    const oneByOne = async function* () {
      for (const byte of bytes) yield Uint8Array.of(byte);
    };
    expect(await store.putStream(oneByOne(), "text/plain", anna)).toEqual(await store.put(bytes, "text/plain", anna));
    const read = async (range?: { start?: number; end?: number }): Promise<string> => {
      const { meta, chunks } = await store.openStream(digest, anna, range);
      expect(meta).toEqual({ digest, mediaType: "text/plain", bytes: bytes.length });
      const pieces: Uint8Array[] = [];
      for await (const chunk of chunks) pieces.push(chunk);
      return Buffer.concat(pieces).toString();
    };
    expect(await read()).toBe("the whole result");
    expect(await read({ start: 4, end: 9 })).toBe("whole");
    expect(await read({ start: 10 })).toBe("result");
    expect(await read({ start: 10, end: 1000 })).toBe("result");
    expect(await read({ start: 500 })).toBe("");
    await expect(store.openStream(digest, stranger)).rejects.toMatchObject(refusedAs);
  });

  it("keeps nothing of a stream that throws", async () => {
    const store = await open();
    const broken = async function* () {
      yield bytes;
      throw new Error("the source went away");
    };
    await expect(store.putStream(broken(), "text/plain", anna)).rejects.toThrow("the source went away");
    expect(await store.mayUse(digest, anna)).toBe(false);
  });

  it("keeps what was given, unaffected by the caller's later changes", async () => {
    const store = await open();
    const mine = Uint8Array.from(bytes);
    await store.put(mine, "text/plain", anna);
    mine.fill(0);
    expect(Buffer.from((await store.open(digest, anna)).bytes)).toEqual(bytes);
  });

  it("keeps an empty artifact too", async () => {
    const store = await open();
    const empty = await store.put(new Uint8Array(), "text/plain", anna);
    expect((await store.open(empty.digest, anna)).bytes).toHaveLength(0);
  });

  it("lets only its principal use it", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    const others = [ben, stranger, { tenant: "acme", agent: "writer" }, { ...anna, agent: "x" }];
    expect(await store.mayUse(digest, { ...anna, via: "a token" })).toBe(true);
    for (const other of others) {
      expect(await store.mayUse(digest, other)).toBe(false);
      await expect(store.open(digest, other)).rejects.toMatchObject(refusedAs);
    }
  });

  it("answers for a missing artifact in the same words as for a foreign one", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    const said = async (name: string, who: Principal): Promise<string> =>
      store.open(name, who).then(
        () => "opened",
        (error: Error) => error.message.replace(name, ""),
      );
    expect(await said(missing, anna)).toBe(await said(digest, stranger));
    expect(await store.mayUse(missing, anna)).toBe(false);
  });

  it.each(["", "..", "../../etc/passwd", `${"a".repeat(62)}/.`, "A".repeat(64), "constructor"])(
    "refuses %j, which is no digest",
    async (name) => {
      const store = await open();
      expect(await store.mayUse(name, anna)).toBe(false);
      await expect(store.open(name, anna)).rejects.toMatchObject(refusedAs);
      await expect(store.pin(name)).rejects.toMatchObject(refusedAs);
      await expect(store.release(name, anna)).rejects.toMatchObject(refusedAs);
      await expect(store.unpin(name)).resolves.toBeUndefined();
    },
  );

  it("refuses nonsense and keeps nothing of it", async () => {
    const store = await open();
    const invalid = { name: "RuntimeFault", code: expect.stringMatching(/^(request|context)_invalid$/) };
    const tried = async (
      verb: Exclude<keyof SharedArtifactStore, "totalBytes">,
      ...given: readonly unknown[]
    ): Promise<unknown> => Reflect.apply(store[verb], store, given);
    for (const odd of [5, null, undefined, {}]) {
      await expect(tried("put", odd, "text/plain", anna)).rejects.toMatchObject(invalid);
      await expect(tried("put", bytes, odd, anna)).rejects.toMatchObject(invalid);
      await expect(tried("put", bytes, "text/plain", odd)).rejects.toMatchObject(invalid);
      for (const verb of ["mayUse", "meta", "open", "release"] as const) {
        await expect(tried(verb, odd, anna)).rejects.toMatchObject(invalid);
        await expect(tried(verb, digest, odd)).rejects.toMatchObject(invalid);
      }
      for (const verb of ["pin", "unpin", "sweep"] as const)
        await expect(tried(verb, odd)).rejects.toMatchObject(invalid);
    }
    expect(await store.mayUse(digest, anna)).toBe(false);
  });

  it("can be released to one more principal of the tenant, and to none outside it", async () => {
    const store = await open();
    await store.put(bytes, "image/png", anna);
    await store.release(digest, ben);
    await store.release(digest, ben);
    expect((await store.open(digest, ben)).meta.mediaType).toBe("image/png");
    await expect(store.release(digest, stranger)).rejects.toMatchObject(refusedAs);
    expect(await store.mayUse(digest, stranger)).toBe(false);
  });

  it("stores what is known of the bytes, for each principal the stricter of all that was said", async () => {
    const store = await open();
    const mark = { guardrail: "g", why: "an order" };
    await store.put(bytes, "text/plain", anna, { openWorld: true, notExamined: "no text" });
    await store.put(bytes, "text/plain", anna, { examined: true });
    await store.put(bytes, "text/plain", stranger);
    await store.judge(digest, anna, { marks: [mark] });
    await store.judge(digest, anna, { marks: [mark] });
    const judgement = { openWorld: true, examined: true, marks: [mark] };
    expect((await store.meta(digest, anna)).judgement).toEqual(judgement);
    expect((await store.openStream(digest, anna)).meta.judgement).toEqual(judgement);
    await store.release(digest, ben);
    expect((await store.open(digest, ben)).meta.judgement).toEqual(judgement);
    expect((await store.open(digest, stranger)).meta.judgement).toBeUndefined();
    await expect(store.judge(missing, anna, {})).rejects.toMatchObject(refusedAs);
    await expect(store.judge(digest, { ...anna, user: "eve" }, {})).rejects.toMatchObject(refusedAs);
  });

  it("lets nobody use withheld bytes, also after they were put again", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    await store.put(bytes, "text/plain", stranger);
    await store.judge(digest, anna, { withheld: "guardrail `g`: a secret" });
    await store.put(bytes, "text/plain", anna);
    expect(await store.mayUse(digest, anna)).toBe(false);
    for (const verb of ["open", "meta", "openStream"] as const)
      await expect(store[verb](digest, anna)).rejects.toThrow("is withheld by guardrail `g`: a secret.");
    expect(await store.mayUse(digest, stranger)).toBe(true);
  });

  it("gives each owner of equal bytes its own media type", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    await store.put(bytes, "text/html", stranger);
    for (const [owner, mediaType] of [
      [anna, "text/plain"],
      [stranger, "text/html"],
    ] as const) {
      const meta = { digest, mediaType, bytes: bytes.length };
      expect(await store.meta(digest, owner)).toEqual(meta);
      expect(await store.open(digest, owner)).toMatchObject({ meta });
    }
    await expect(store.meta(digest, ben)).rejects.toMatchObject(refusedAs);
  });

  it("keeps what is pinned, as often as it was pinned, and sweeps the rest", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    await store.pin(digest);
    await store.put(Buffer.from("other"), "text/plain", anna);
    expect(await store.sweep(noneNeeded)).toBe(0);
    await store.unpin(digest);
    expect(await store.sweep(noneNeeded)).toBe(0);
    await store.unpin(digest);
    expect(await store.sweep(noneNeeded)).toBe(1);
    expect(await store.mayUse(digest, anna)).toBe(false);
    await expect(store.open(digest, anna)).rejects.toMatchObject(refusedAs);
  });

  it("ignores one unpin too many", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    await store.unpin(digest);
    await store.unpin(digest);
    await store.pin(digest);
    expect(await store.sweep(noneNeeded)).toBe(0);
  });

  it("takes equal bytes from twenty callers at once and counts twenty pins", async () => {
    const clock = new FakeClock();
    const store = await open(clock);
    const owners = Array.from({ length: 20 }, (_, n) => ({ ...anna, user: `user ${n}` }));
    await Promise.all(owners.map((owner) => store.put(bytes, "text/plain", owner)));
    for (const owner of owners) expect(await store.mayUse(digest, owner)).toBe(true);
    await Promise.all(owners.slice(1).map(() => store.unpin(digest)));
    await clock.advance(hourMs);
    expect(await store.sweep(noneNeeded)).toBe(0);
    await store.unpin(digest);
    expect(await store.sweep(noneNeeded)).toBe(1);
  });

  it("keeps what was put for the retention time, counted from its last put", async () => {
    const clock = new FakeClock();
    const store = await open(clock, 10 * hourMs);
    await store.put(bytes, "text/plain", anna);
    await clock.advance(9 * hourMs);
    await store.put(bytes, "text/plain", anna);
    await store.unpin(digest);
    await store.unpin(digest);
    await clock.advance(10 * hourMs - 1);
    expect(await store.sweep(noneNeeded)).toBe(0);
    await clock.advance(1);
    expect(await store.sweep(noneNeeded)).toBe(1);
  });

  it("keeps what a row needs, and asks only about what nothing else keeps", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    const other = await store.put(Buffer.from("other"), "text/plain", anna);
    const asked: string[] = [];
    const needed: FindNeeded = async (digests) => {
      asked.push(...digests);
      return new Set([digest, missing]);
    };
    await store.unpin(digest);
    expect(await store.sweep(needed)).toBe(0);
    expect(asked).toEqual([digest]);
    await store.unpin(other.digest);
    expect(await store.sweep(needed)).toBe(1);
    expect(await store.mayUse(digest, anna)).toBe(true);
  });

  it("keeps an artifact for an hour after a caller learned that it exists", async () => {
    const clock = new FakeClock();
    const store = await open(clock);
    await store.put(bytes, "text/plain", anna);
    await store.unpin(digest);
    expect(await store.mayUse(digest, anna)).toBe(true);
    await clock.advance(hourMs - 1);
    expect(await store.sweep(noneNeeded)).toBe(0);
    await clock.advance(1);
    expect(await store.sweep(noneNeeded)).toBe(1);
  });

  it("checks again before it removes: what is put or asked for meanwhile stays", async () => {
    const store = await open();
    const names = await Promise.all(["a", "b", "c"].map((text) => store.put(Buffer.from(text), "text/plain", anna)));
    const [a, b, c] = names.map((meta) => meta.digest);
    for (const name of [a, b, c]) await store.unpin(name ?? "");
    const meanwhile: FindNeeded = async () => {
      await store.put(Buffer.from("a"), "text/plain", ben);
      expect(await store.mayUse(b ?? "", anna)).toBe(true);
      return new Set();
    };
    expect(await store.sweep(meanwhile)).toBe(1);
    const there = await Promise.all([a, b, c].map((name) => store.mayUse(name ?? "", anna)));
    expect(there).toEqual([true, true, false]);
  });

  it("keeps everything when the rows cannot be read", async () => {
    const store = await open();
    await store.put(bytes, "text/plain", anna);
    await store.unpin(digest);
    await expect(store.sweep(() => Promise.reject(new Error("no rows")))).rejects.toThrow("no rows");
    expect(await store.mayUse(digest, anna)).toBe(true);
  });
}
