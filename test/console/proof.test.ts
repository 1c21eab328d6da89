import { beforeAll, describe, expect, it } from "vitest";
import { checkProof } from "../../console/src/screens/audit/proof.ts";
import type { EventProof } from "../../packages/core/src/contract/audit.ts";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { openAuditLog } from "../../packages/postern/src/audit/audit-log.ts";
import type { AuditLog } from "../../packages/postern/src/audit/log.ts";
import { createSigner } from "../../packages/postern/src/audit/signer.ts";
import { aLogStore, noteSome } from "../fakes/log-store.ts";

const entries = 1300;
let log: AuditLog;

beforeAll(async () => {
  const clock = new FakeClock();
  const store = aLogStore(clock);
  await noteSome(store, entries);
  log = await openAuditLog({ store, clock, signer: createSigner() });
});

async function proofOf(seq: number): Promise<EventProof> {
  const proof = await log.prove(seq);
  if (proof === undefined) throw new Error(`no entry ${seq}`);
  const { publicKey, ...rest } = proof;
  return { ...rest, public_key: publicKey };
}

describe("the console's own check of a proof", () => {
  it("succeeds for every entry of a log", async () => {
    for (let seq = 0; seq < entries; seq += 37)
      expect(await checkProof(await proofOf(seq))).toMatchObject({ holds: true });
    expect(await checkProof(await proofOf(entries - 1))).toMatchObject({ holds: true });
  });

  const other = "ab".repeat(32);
  it.each<[string, (proof: EventProof) => Partial<EventProof>]>([
    ["another text", ({ body }) => ({ body: body.replace("note", "vote") })],
    ["another leaf", () => ({ leaf: other })],
    ["another place", ({ seq }) => ({ seq: seq + 1 })],
    ["a place outside", ({ size }) => ({ seq: size })],
    ["half a place", () => ({ seq: 0.5 })],
    ["another size", ({ size }) => ({ size: size + 1 })],
    ["another root", () => ({ root: other })],
    ["a way that is too short", ({ path }) => ({ path: path.slice(1) })],
    ["a way that is too long", ({ path }) => ({ path: [...path, other] })],
    ["a way that is none", ({ path }) => ({ path: path.map(() => "x") })],
    ["another note", ({ checkpoint }) => ({ checkpoint: checkpoint.replace("\n", " \n") })],
    ["a note with more in it", ({ checkpoint }) => ({ checkpoint: `${checkpoint}more\n` })],
    ["a note with another size", ({ checkpoint }) => ({ checkpoint: checkpoint.replace(/\n\d+\n/, "\n9\n") })],
    ["no signature", ({ checkpoint }) => ({ checkpoint: checkpoint.split("\n").slice(0, 4).join("\n") })],
    ["another's key", () => ({ public_key: createSigner().publicKey })],
    ["a key that is none", () => ({ public_key: "postern/x+00000000+AAAA" })],
    ["no key", () => ({ public_key: "" })],
  ])("does not hold with %s", async (_, bend) => {
    const proof = await proofOf(700);
    expect((await checkProof({ ...proof, ...bend(proof) })).holds).toBe(false);
  });

  it("fails for a note of another log, signed by that log's key", async () => {
    const clock = new FakeClock();
    const foreign = await openAuditLog({ store: aLogStore(clock), clock, signer: createSigner() });
    const note = await foreign.checkpoint();
    expect((await checkProof({ ...(await proofOf(1)), checkpoint: note })).holds).toBe(false);
  });
});
