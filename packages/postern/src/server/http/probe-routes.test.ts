import { expect, it } from "vitest";
import { bodyOf, httpFixture } from "../../../../../test/fakes/http-fixture.ts";
import { type StubOptions, stubRuntime } from "../../../../../test/fakes/stub-runtime.ts";

async function asked(options: StubOptions, as?: "agent" | "operator") {
  await using http = await httpFixture(stubRuntime(options).runtime, { dataFolder: "/" });
  const answered = await http.ask("/readyz", { as, headers: { host: "10.1.2.3:7420" } });
  return [answered.status, await bodyOf(answered)] as const;
}

it("answers a supervisor under any name yes or no, and nothing more", async () => {
  expect(await asked({})).toEqual([200, { ready: true }]);
  expect(await asked({ broken: true })).toEqual([503, { ready: false }]);
  expect(await asked({ draining: true })).toEqual([503, { ready: false }]);
});

it("tells the holder of a token why", async () => {
  const [status, { checks }] = await asked({ draining: true, broken: true }, "agent");
  expect(status).toBe(503);
  const ok = (name: string) => ({ name, state: "ok" });
  expect(checks).toEqual([
    { name: "draining", state: "failed", problem: "Postern stops: it takes no new calls." },
    { name: "store", state: "failed", problem: "The store is broken." },
    ...["audit", "disk", "servers"].map(ok),
  ]);
});

it("refuses a wrong token and what is no reading, under any name", async () => {
  await using http = await httpFixture(stubRuntime().runtime);
  for (const path of ["/healthz", "/readyz"]) {
    const headers = { host: "evil.example", authorization: "Bearer wrong" };
    expect((await http.ask(path, { headers })).status).toBe(401);
    expect((await http.ask(path, { method: "POST", headers: { host: "evil.example" } })).status).toBe(405);
    expect((await http.ask(path, { method: "HEAD", headers: { host: "evil.example" } })).status).toBe(200);
  }
});
