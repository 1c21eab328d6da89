import { expect, it } from "vitest";
import { ann, approve, ask, mail } from "../fakes/deciders.ts";
import { bodyOf, httpFixture } from "../fakes/http-fixture.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const hourMs = 3_600_000;

it.each(storeKinds)("an approval that was not used in time is expired in lists and for a caller (%s)", async (kind) => {
  await using h: RuntimeFixture = await runtimeFixture({ store: newStore(kind) });
  const listed = async (state?: "approved" | "expired") =>
    (await h.runtime.approvals.list(state && { state })).map(({ id, state: is }) => [id, is]);
  const unused = await ask(h, mail("unused"));
  await approve(h, unused, ann);
  await h.clock.advance(hourMs / 2);
  const fresh = await ask(h, mail("fresh"));
  await approve(h, fresh, ann);
  expect(await listed("approved")).toEqual([
    [unused, "approved"],
    [fresh, "approved"],
  ]);
  await h.clock.advance(hourMs / 2);
  expect(await h.runtime.resume(unused)).toMatchObject({ refusal: { code: "approval_expired" } });
  expect(await listed()).toEqual([
    [unused, "expired"],
    [fresh, "approved"],
  ]);
  expect(await listed("approved")).toEqual([[fresh, "approved"]]);
  expect(await listed("expired")).toEqual([[unused, "expired"]]);
  expect((await h.runtime.approvals.page({ state: "expired" })).approvals).toMatchObject([
    { id: unused, decision: { as: "approved", by: "ann" } }, // who let it pass stays told
  ]);
  await using door = await httpFixture(h.runtime, { clock: h.clock });
  expect(await bodyOf(await door.ask("/v1/approvals?state=expired", { as: "operator" }))).toMatchObject({
    approvals: [{ approval_id: unused, status: "expired" }],
  });
});
