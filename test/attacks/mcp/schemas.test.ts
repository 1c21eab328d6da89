/** Schemas of a hostile server: each is refused by name with its reason, and the server's other tools work. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { JsonObject, ServerConfig } from "../../../packages/postern/src/index.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { rawHttp, reply } from "../../fakes/raw-http.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { type ServedRuntime, serveRuntime } from "../../fakes/served-runtime.ts";

const named = (name: string, schema: object): string =>
  JSON.stringify({ name, inputSchema: { type: "object", ...schema } });

const levels = 10_000;
const deep = `{"name":"deep","inputSchema":{"type":"object"${',"properties":{"a":{"x":1'.repeat(levels)}${"}}".repeat(levels)}}}`;
const good = named("good", { properties: { a: { type: "string", pattern: "^(a+)+$" } } });

/** Definitions of which each names the next one, `count` times. */
const chain = (count: number, link: (next: object) => object): object => {
  const all = Array.from({ length: count }, (_, i) => [`d${i}`, link({ $ref: `#/$defs/d${i + 1}` })]);
  return { $ref: "#/$defs/d0", $defs: { ...Object.fromEntries(all), [`d${count}`]: {} } };
};
const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`property_${i}`, { type: "string" }]));

const bombs: readonly (readonly [name: string, tool: string, why: string])[] = [
  ["deep", deep, "Nested deeper than 100 levels"],
  ["large", named("large", { description: "x".repeat(5_000_000) }), "has 5000065 characters"],
  ["wide", named("wide", { properties: wide }), "characters; at most 262144"],
  [
    "twice",
    named(
      "twice",
      chain(40, (next) => ({ properties: { a: next, b: next } })),
    ),
    "more than 100000 parts",
  ],
  [
    "forms",
    named(
      "forms",
      chain(40, (next) => ({ anyOf: [next, next] })),
    ),
    "more than 100000 parts",
  ],
  [
    "long",
    named(
      "long",
      chain(5_000, (next) => next),
    ),
    "chained deeper than 1000",
  ],
  ["pattern", named("pattern", { properties: { a: { pattern: "(" } } }), "not a regular expression"],
];

function serve(tools: readonly string[]): Promise<ServedRuntime> {
  const list = join(ownFolder(), "list.json");
  writeFileSync(list, `[${tools.join()}]`);
  const args = ["test/fakes/raw-server.ts", JSON.stringify({ list })];
  const server: ServerConfig = { command: process.execPath, args, risk: "safe" };
  return serveRuntime({ servers: { s: server } });
}

it("refuses each of them by name beside a tool that works", async () => {
  const { runtime, connect } = await serve([...bombs.map(([, tool]) => tool), good]);
  const { refused = [] } = runtime.health().servers[0] ?? {};
  expect(Object.fromEntries(refused.map(({ tool, why }) => [tool, why]))).toEqual(
    Object.fromEntries(bombs.map(([name, , why]) => [`s__${name}`, expect.stringContaining(why)])),
  );
  expect((await (await connect()).listTools()).tools.map(({ name }) => name)).toEqual(["s__good"]);
  const call = (a: string) => runtime.invoke({ tool: "s__good", arguments: { a } satisfies JsonObject }, asker);
  expect(await call("aa")).toMatchObject({ status: "ok" });
  expect(await call(`${"a".repeat(50)}!`)).toMatchObject({
    refusal: { code: "arguments_invalid", message: expect.stringContaining("took longer than 250 ms") },
  });
  expect(await call("aaa")).toMatchObject({ status: "ok" });
});

it.each([
  ["over pipes", () => serve([deep, good])],
  [
    "over HTTP",
    async () => {
      const { url } = await rawHttp(({ id, method }, response) => {
        if (method !== "tools/list") return false;
        return reply(response, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":[${deep},${good}]}}`);
      });
      return serveRuntime({ servers: { s: { url, risk: "safe" } } });
    },
  ],
])("refuses a deep one in a small message too: %s", async (_, open) => {
  const { runtime } = await open();
  expect(runtime.health().servers[0]?.refused).toMatchObject([{ tool: "s__deep" }]);
  expect(runtime.tools.names()).toEqual(["s__good"]);
});
