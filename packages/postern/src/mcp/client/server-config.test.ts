import { expect, it } from "vitest";
import { z } from "zod";
import { addressOf } from "./server-address.ts";
import { serverSchema } from "./server-config-schema.ts";

const learn = (): void => undefined;

const resolve = async (connector: string, key: string): Promise<string> => `<${connector}.${key}>`;

it("references to secrets are resolved in environment, address and headers, whole or inside a text", async () => {
  const env = { TOKEN: "secret://gh/token", URL: "postgres://me:secret://db/pass@host/x", PLAIN: "secret" };
  expect(await addressOf("s", { command: "run", args: ["-v"], env }, { resolve, learn })).toEqual({
    kind: "stdio",
    command: "run",
    args: ["-v"],
    env: { TOKEN: "<gh.token>", URL: "postgres://me:<db.pass>@host/x", PLAIN: "secret" },
  });
  const headers = { Authorization: "Bearer secret://gh/header" };
  expect(
    await addressOf("s", { url: "https://example.com/mcp?k=secret://a/b", headers }, { resolve, learn }),
  ).toMatchObject({
    kind: "http",
    url: new URL("https://example.com/mcp?k=<a.b>"),
    headers: { Authorization: "Bearer <gh.header>" },
  });
});

it.each([
  ["args", { command: "run", args: ["--token=secret://gh/token"] }, "can be read by every user of this machine"],
  ["the command", { command: "secret://gh/token" }, "can be read by every user of this machine"],
  ["what is meant as a reference and is none", { command: "run", env: { T: "secret://gh" } }, "names no secret"],
  ["a header that is no reference", { url: "http://h", headers: { a: "secret://a/b/c" } }, "names no secret"],
])("refuses a secret in %s", async (_, config, why) => {
  await expect(addressOf("s", config, { resolve, learn })).rejects.toThrow(why);
});

it.each([
  [{}, "neither"],
  [{ url: "nonsense" }, "not an http"],
  [{ url: "file:///etc/passwd" }, "not an http"],
])("refuses %j", async (config, why) => {
  await expect(addressOf("s", config, { resolve, learn })).rejects.toThrow(why);
});

it("resolves an OpenAPI document, and learns every value of its schemes", async () => {
  const learnt: string[] = [];
  const config = {
    openapi: "https://api.example/openapi.json",
    baseUrl: "https://api.example/v1",
    headers: { "X-Team": "desk" },
    auth: { login: "ann:secret://api/password", key: "plain-key" },
    allowPrivate: true,
  };
  const learnAll = (values: readonly string[]): void => void learnt.push(...values);
  expect(await addressOf("s", config, { resolve, learn: learnAll })).toEqual({
    ...{ kind: "openapi", document: new URL(config.openapi), baseUrl: new URL(config.baseUrl) },
    ...{ headers: config.headers, auth: { login: "ann:<api.password>", key: "plain-key" } },
    ...{ operations: undefined, allowPrivate: true },
  });
  expect(learnt).toEqual(expect.arrayContaining(["ann:<api.password>", "<api.password>", "plain-key"]));
  expect(await addressOf("s", { openapi: "/docs/api.yaml" }, { resolve, learn })).toMatchObject({
    ...{ document: "/docs/api.yaml", baseUrl: undefined, allowPrivate: false },
  });
});

it.each([
  [{ command: "x", openapi: "y" }, "has both `command` and `openapi`"],
  [{ url: "https://h", allowPrivate: true }, "`allowPrivate` goes with `openapi` or `oauth`"],
  [{ command: "x", allowPrivate: true }, "`allowPrivate` goes with `openapi` or `url`, not with `command`"],
  [{ openapi: "y", transport: "http" as const }, "`transport` goes with `url`, not with `openapi`"],
  [{ openapi: "y", start: "on_demand" as const }, "`start` goes with `command` or `url`"],
  [{ command: "x", idleStopMs: 5_000 }, "`idleStopMs` goes with `start: on_demand`"],
  [{ command: "x", start: "on_demand" as const, idleStopMs: 10 }, "give whole milliseconds from 1000"],
  [{ openapi: "ftp://h/x" }, "`openapi` is not an http or https address"],
  [{ openapi: "y", baseUrl: "h" }, "`base_url` is not an http or https address"],
  [{ openapi: "y", auth: { a: "secret://a" } }, "names no secret"],
])("refuses %j of an API", async (config, why) => {
  await expect(addressOf("s", config, { resolve, learn })).rejects.toThrow(why);
});

it("checks the names of the file, and refuses unknown keys", () => {
  expect(
    serverSchema.parse({
      command: "x",
      call_timeout_ms: 5,
      tools: { a: { risk: "safe", timeout_ms: 1 } },
    }),
  ).toMatchObject({ tools: { a: { risk: "safe" } } });
  const api = {
    openapi: "a.yaml",
    base_url: "https://h",
    auth: { key: "secret://a/b" },
    operations: { include: ["GET *"] },
  };
  expect(serverSchema.parse({ ...api, headers: {}, allow_private: true, tools: { a: { as: "b" } } })).toMatchObject(
    api,
  );
  for (const wrong of [
    { command: "x", url: "y" },
    {},
    { command: "x", cmd: 1 },
    { url: "y", args: [] },
    { command: "x", headers: {} },
    { command: "x", openapi: "y" },
    { url: "y", allow_private: true },
    { openapi: "y", args: [] },
    { openapi: "y", revision: "2025-11-25" },
    { openapi: "y", operations: { only: ["a"] } },
    { command: "x", start: "later" },
    { command: "x", idle_stop_ms: 5_000 },
    { command: "x", start: "on_demand", idle_stop_ms: 999 },
    { openapi: "y", start: "on_demand" },
    { command: "x", tools: { a: { callTimeoutMs: 1 } } },
    { command: "x", tools: { a: { risk: "low" } } },
  ]) {
    expect(serverSchema.safeParse(wrong).success).toBe(false);
  }
  expect(z.toJSONSchema(serverSchema)).toMatchObject({
    type: "object",
    additionalProperties: false,
  });
});
