import { expect, it } from "vitest";
import { bodyOf } from "../../../../../test/fakes/http-fixture.ts";
import { goodPassword } from "../../../../../test/fakes/people.ts";
import { scene } from "../../../../../test/fakes/session-scene.ts";
import { FakeClock } from "../../../../core/src/testing/clock.ts";
import { ResourceServer } from "../../identity/resource-server.ts";

const proxy = "10.0.0.2";
const name = "postern.internal";

async function behindProxy() {
  const claims = { user: "sub", scopes: "scope" };
  const settings = {
    issuer: "https://id.example",
    audience: "https://a.example",
    claims,
    requiredScopes: [],
    scopes: [],
  };
  const oauth = new ResourceServer(settings, { clock: new FakeClock(), onProblem: () => {} });
  const { crowd, http } = await scene({ hosts: [name], trustedProxies: ["10.0.0.0/24"], oauth });
  await crowd.add("ada", ["viewer"]);
  const ask = (peer: string, path: string, headers: Record<string, string>, body?: object): Promise<Response> => {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const all = { host: name, "content-type": "application/json", ...headers };
    return http.server.fetch(new Request(`http://${name}${path}`, { ...sent, headers: all }), { address: peer });
  };
  const signIn = (peer: string, headers: Record<string, string>, password: string = goodPassword): Promise<Response> =>
    ask(peer, "/v1/session", headers, { name: "ada", password });
  return { ask, signIn };
}

const overTls = { "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.9", origin: `https://${name}` };

it("gives a browser behind a trusted proxy with TLS a cookie for TLS alone", async () => {
  const { signIn } = await behindProxy();
  const answered = await signIn(proxy, overTls);
  expect(answered.headers.get("set-cookie")).toMatch(/^__Host-postern_session=.*; Secure$/);
});

it("refuses a page without TLS there, and does not believe anyone else", async () => {
  const { signIn } = await behindProxy();
  expect((await signIn(proxy, { ...overTls, origin: `http://${name}` })).status).toBe(403);
  expect((await signIn("203.0.113.1", overTls)).status).toBe(403); // its header counts for nothing, so the origin is wrong
  const plain = await signIn("203.0.113.1", { "x-forwarded-proto": "https", origin: `http://${name}` });
  expect(plain.headers.get("set-cookie")).toMatch(/^postern_session=[^,]*SameSite=Strict$/);
});

it("tells OAuth clients the address that they use", async () => {
  const { ask } = await behindProxy();
  const path = "/.well-known/oauth-protected-resource/mcp";
  const found = async (peer: string) =>
    (await bodyOf(await ask(peer, path, { "x-forwarded-proto": "https" })))["resource"];
  expect(await found(proxy)).toBe(`https://${name}/mcp`);
  expect(await found("203.0.113.1")).toBe(`http://${name}/mcp`);
});

it("counts wrong tokens by the client and not by the proxy, and by the peer if it is no trusted proxy", async () => {
  const { ask } = await behindProxy();
  const statuses = async (peer: string, client: string, times: number): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let tries = 0; tries < times; tries += 1)
      found.push((await ask(peer, "/v1/tools", { authorization: "Bearer x", "x-forwarded-for": client })).status);
    return found;
  };
  expect(await statuses(proxy, "203.0.113.9", 11)).toEqual([...Array(10).fill(401), 429]);
  expect(await statuses(proxy, "203.0.113.10", 1)).toEqual([401]);
  for (let client = 0; client < 10; client += 1) await statuses("203.0.113.1", `10.9.9.${client}`, 1);
  expect(await statuses("203.0.113.1", "10.9.9.99", 1)).toEqual([429]);
});
