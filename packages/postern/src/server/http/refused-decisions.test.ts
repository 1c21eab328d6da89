import { afterEach, beforeEach, expect, it } from "vitest";
import { ask, mail } from "../../../../../test/fakes/deciders.ts";
import { bodyOf, type HttpFixture, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";

let h: RuntimeFixture;
let http: HttpFixture;
beforeEach(async () => {
  h = await runtimeFixture();
  http = await httpFixture(h.runtime, { clock: h.clock });
});
afterEach(async () => {
  await http[Symbol.asyncDispose]();
  await h.runtime.close();
});

const decide = (path: string, body: object = {}): Promise<Response> => http.ask(path, { as: "operator", body });

it.each<readonly [string, number, () => Promise<() => Promise<Response>>]>([
  [
    "a name that is typed wrongly",
    422,
    async () => {
      const id = await ask(h, { tool: "drop", arguments: { to: "x" } });
      let tries = 0;
      return () => {
        tries += 1;
        return decide(`/v1/approvals/${id}/approve`, { confirmation: `drop${tries}` });
      };
    },
  ],
  [
    "what is decided already",
    409,
    async () => {
      const id = await ask(h);
      await decide(`/v1/approvals/${id}/deny`);
      return () => decide(`/v1/approvals/${id}/approve`);
    },
  ],
  ["a body that is none", 422, async () => () => decide("/v1/approvals/apr_1/approve", { no: "field" })],
])("slows a credential down that is refused ten decisions in a second: %s", async (_, status, begin) => {
  const again = await begin();
  for (let tries = 0; tries < 10; tries += 1) expect((await again()).status).toBe(status);
  const slow = await again();
  expect([slow.status, slow.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await bodyOf(slow)).toMatchObject({ error: { message: "Too many decisions were refused; wait a second." } });
  const other = await http.ask("/v1/approvals", { as: "operator" });
  expect(other.status).toBe(200); // to look is no decision
  await h.clock.advance(1_000);
  expect((await again()).status).toBe(status);
});

it("counts each of a batch that was refused, and none that was taken", async () => {
  const ids: string[] = [];
  for (let i = 0; i < 12; i += 1) ids.push(await ask(h, mail(String(i))));
  const batch = () => decide("/v1/approvals/batch", { ids, decision: "denied" });
  expect((await batch()).status).toBe(200);
  expect((await decide(`/v1/approvals/${await ask(h)}/deny`)).status).toBe(200);
  expect((await batch()).status).toBe(200);
  expect((await batch()).status).toBe(429);
});
