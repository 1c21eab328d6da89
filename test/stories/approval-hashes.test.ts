import { expect, it } from "vitest";
import { canonical } from "../../packages/core/src/json.ts";
import { sha256 } from "../../packages/core/src/system/digest.ts";
import { ann, approve, ask, bob, deny, mail, routed, shownDigestOf } from "../fakes/deciders.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const hashOf = (to: string): string => sha256(canonical({ to }));

async function edit(h: RuntimeFixture, id: string, to: string): Promise<void> {
  const request = { decision: "modified", arguments: { to }, by: ann, ...(await shownDigestOf(h, id)) } as const;
  expect(await h.runtime.approvals.decide(id, request)).toMatchObject({ decided: true });
}

async function logged(h: RuntimeFixture, type: string) {
  return h.runtime.audit.query({ type });
}

it("the log has the hash of the request and of the edited approval, which is the one that ran", async () => {
  await using h = await runtimeFixture();
  const id = await ask(h, mail("asked"));
  await edit(h, id, "edited");
  await h.runtime.resume(id);
  const [asked] = await logged(h, "gate.required");
  const [decided] = await logged(h, "gate.modified");
  const [ran] = await logged(h, "tool_call.attempted");
  expect([asked?.request_hash, decided?.request_hash]).toEqual([hashOf("asked"), hashOf("asked")]);
  expect(decided?.data).toEqual({ approved_hash: hashOf("edited") });
  expect(ran?.request_hash).toBe(hashOf("edited"));
});

it("the log has the hash of each edited vote, and of the request for a denial", async () => {
  await using h = await runtimeFixture(routed({ quorum: 2 }));
  const [first, second] = [await ask(h, mail("one")), await ask(h, mail("two"))];
  await edit(h, first, "edited");
  await approve(h, first, bob, await shownDigestOf(h, first));
  await edit(h, second, "other");
  await deny(h, second, bob);
  const votes = await logged(h, "approval.voted");
  expect(votes.map(({ data }) => (data as { approved_hash?: string }).approved_hash)).toEqual([
    hashOf("edited"),
    hashOf("other"),
  ]);
  const [approved] = await logged(h, "gate.approved");
  expect(approved).toMatchObject({ request_hash: hashOf("one"), data: { approved_hash: hashOf("edited") } });
  const [denied] = await logged(h, "gate.denied");
  expect(denied).not.toHaveProperty("data");
});

it("an approval without an edit has one hash", async () => {
  await using h = await runtimeFixture();
  await approve(h, await ask(h, mail("asked")), ann);
  const [approved] = await logged(h, "gate.approved");
  expect(approved).toMatchObject({ request_hash: hashOf("asked") });
  expect(approved).not.toHaveProperty("data");
});
