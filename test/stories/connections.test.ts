import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import type { ServerConfig } from "../../packages/postern/src/mcp/client/server-config.ts";
import { GuardedServer } from "../fakes/guarded-server.ts";
import { signInAt } from "../fakes/openid-provider.ts";

const redirectUri = "http://127.0.0.1:7420/v1/connections/callback";
const ada = { tenant: "default", user: "ada" };
const bob = { tenant: "default", user: "bob" };

let guarded: GuardedServer;
let runtime: Runtime;
beforeEach(async () => {
  guarded = await GuardedServer.start();
});
afterEach(async () => {
  await runtime.close(0);
  await guarded[Symbol.asyncDispose]();
});

async function open(oauth: ServerConfig["oauth"] = {}, more: RuntimeOptions = {}): Promise<void> {
  runtime = await createRuntime({
    autonomy: "A4",
    servers: { guarded: { url: guarded.url, oauth, risk: "safe", pin: "first_seen" } },
    connections: { consoleUrl: () => "http://127.0.0.1:7420" },
    ...more,
  });
}

async function connected(person: typeof ada): Promise<void> {
  const { connections } = runtime;
  const started = await connections?.begin("guarded", person, { redirectUri });
  const back = await signInAt(guarded.issuer, started?.url ?? "", person.user);
  expect(await connections?.finish(back.searchParams, started?.binder)).toEqual({ server: "guarded", person });
  await listed();
}

/** The tools are listed by the first sign-in. */
async function listed(): Promise<void> {
  while (!runtime.tools.names().includes("guarded__whoami")) await new Promise((resolve) => setImmediate(resolve));
  while (runtime.health().servers[0]?.status !== "connected") await new Promise((resolve) => setImmediate(resolve));
}

let calls = 0;
function call(person: typeof ada, tool = "whoami") {
  calls += 1;
  return runtime.invoke(
    { tool: `guarded__${tool}`, arguments: { n: calls } },
    { principal: { ...person, agent: "helper" } },
  );
}

describe("signing in at a server", () => {
  it("ends a call without a sign-in as unavailable, with the address to open", async () => {
    await open();
    const outcome = await call(ada);
    expect(outcome.refusal).toMatchObject({ code: "tool_unavailable", retry: "later" });
    expect(outcome.text).toContain("http://127.0.0.1:7420/connections/guarded");
    await connected(ada);
    expect(await call(ada)).toMatchObject({ status: "ok", text: "ada" });
    const { refusal } = await call(bob);
    expect(refusal).toMatchObject({
      code: "tool_unavailable",
      details: { server: "guarded", sign_in_url: "http://127.0.0.1:7420/connections/guarded" },
    });
  });
});
