import { expect, it } from "vitest";
import { bodyOf, httpFixture } from "../../fakes/http-fixture.ts";
import { cheap, holder } from "../../fakes/people.ts";
import { runtimeFixture } from "../../fakes/runtime-fixture.ts";

it("one credential cannot use all places of the live feed, and gets its own places back", async () => {
  await using h = await runtimeFixture({ accounts: { passwordCost: cheap } });
  await using http = await httpFixture(h.runtime, { accounts: h.runtime.accounts, clock: h.clock });
  const eve = await h.runtime.accounts.add({ name: "eve", roles: ["viewer"], tenant: "acme" }, holder);
  const { text } = await h.runtime.accounts.makeToken({ name: "cli", kind: "person" }, eve, holder);
  const headers = { authorization: `Bearer ${text}` };
  const open = () => http.ask("/v1/events", { headers });
  const streams = await Promise.all(Array.from({ length: 300 }, open));
  expect(streams.filter(({ status }) => status === 200)).toHaveLength(32);
  const refused = streams.find(({ status }) => status !== 200);
  expect(refused && (await bodyOf(refused))).toMatchObject({ error: { code: "too_many_readers" } });
  const another = await http.ask("/v1/events", { as: "operator" });
  expect(another.status).toBe(200);
  await another.body?.cancel();
  const [first] = streams.filter(({ status }) => status === 200);
  await first?.body?.cancel();
  const again = await Promise.all([open(), open()]);
  expect(again.filter(({ status }) => status === 200)).toHaveLength(1);
  await h.runtime.accounts.change("eve", { disabled: true }, holder);
  await h.runtime.accounts.change("eve", { disabled: false }, holder);
  expect((await open()).status).toBe(200);
});
