import type { JsonObject } from "@postern/core";
import { afterAll, expect, it } from "vitest";
import { corpus } from "../../../../../test/fakes/corpus.ts";
import { inShortTurns } from "../../../../../test/fakes/held-up.ts";
import { expectSoon } from "../../../../../test/fakes/in-time.ts";
import type { Issue } from "../tool.ts";
import { issueText } from "./issues.ts";
import { JsonSchemas } from "./json-schema.ts";
import type { SchemaResult } from "./schema-worker.ts";

const schemas = new JsonSchemas({ deadlineMs: 60_000 }); // where no test is of the deadline, none is met
afterAll(() => schemas.close());

async function issuesOf(schema: object, value: unknown, among: JsonSchemas = schemas): Promise<readonly Issue[]> {
  const guard = among.prepare(schema, "t");
  await guard.ready;
  return issuesIn(await guard.check(value as JsonObject));
}
const issuesIn = (checked: SchemaResult): readonly Issue[] => ("issues" in checked ? checked.issues : []);
const texts = async (schema: object, value: unknown): Promise<readonly string[]> =>
  (await issuesOf(schema, value)).map(issueText);

const mail = {
  type: "object",
  properties: {
    to: {
      type: "array",
      items: {
        type: "object",
        properties: { name: { type: "string", maxLength: 5 } },
        required: ["name"],
      },
    },
    kind: { enum: ["a", "b"] },
    count: { type: ["integer", "null"], minimum: 1 },
  },
  required: ["to"],
  additionalProperties: false,
};

it("arguments that break the schema are named by path and by what was expected (case 53)", async () => {
  expect(await texts(mail, { to: [{ name: "x" }], kind: "a", count: 1 })).toEqual([]);
  expect(await texts(mail, {})).toEqual(["`to` is missing"]);
  expect(await texts(mail, { to: [{ name: "x" }, { name: 7 }, {}] })).toEqual([
    "`to[1].name`: expected string, got number",
    "`to[2]`: `name` is missing",
  ]);
  expect(await texts(mail, { to: [], kind: "c", count: 0, "a/b~c": 1 })).toEqual([
    '`kind`: expected one of ["a","b"]',
    "`count`: expected minimum 1",
    "`a/b~c` is not a known argument",
  ]);
  expect(await texts(mail, { to: [{ name: "too long" }], count: "x" })).toEqual([
    "`to[0].name`: expected maxLength 5",
    "`count`: expected integer or null, got string",
  ]);
});

/** A worker cannot answer before the next turn of the event loop. */
function atOnce<T>(checked: Promise<T>): Promise<T | "later"> {
  return Promise.race([checked, new Promise<"later">((resolve) => setImmediate(() => resolve("later")))]);
}

it("a simple schema is checked in process, at once", async () => {
  const guard = schemas.prepare(mail, "t");
  await guard.ready;
  expect(await atOnce(guard.check({ to: [] }))).toEqual({ issues: [] });
  expect(schemas.prepare(structuredClone(mail), "other")).toBe(guard);
});

it("a value that is too large for the event loop goes to the worker, with the same answer", async () => {
  const guard = schemas.prepare(mail, "t");
  await guard.ready;
  const to = Array.from({ length: 50_000 }, (_, n) => ({ name: n === 40_000 ? 1 : "x" }));
  const checked = guard.check({ to });
  expect(await atOnce(checked)).toBe("later");
  expect(issuesIn(await checked).map(issueText)).toEqual(["`to[40000].name`: expected string, got number"]);
});

it("patterns, recursion and unique lists are checked in the worker, by the same rules", async () => {
  const pattern = { properties: { id: { pattern: "^[a-z]+$" } } };
  expect(await texts(pattern, { id: "abc" })).toEqual([]);
  expect(await texts(pattern, { id: "ABC" })).toEqual(['`id`: expected pattern "^[a-z]+$"']);
  const tree = { type: "object", properties: { child: { $ref: "#" }, n: { type: "number" } } };
  expect(await texts(tree, { child: { child: { n: "x" } } })).toEqual(["`child.child.n`: expected number, got string"]);
  expect(await texts({ properties: { l: { uniqueItems: true } } }, { l: [{ a: 1 }, { a: 1 }] })).toHaveLength(1);
});

it("older dialects keep their own meaning", async () => {
  const tuple = {
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: { pair: { items: [{ type: "string" }, { type: "number" }] } },
  };
  expect(await texts(tuple, { pair: ["a", "b"] })).toEqual(["`pair[1]`: expected number, got string"]);
  const exclusive = {
    $schema: "http://json-schema.org/draft-04/schema#",
    properties: { n: { minimum: 1, exclusiveMinimum: true } },
  };
  expect(await texts(exclusive, { n: 1 })).toHaveLength(1);
});

it("names that every object has are arguments like any other", async () => {
  const closed = { type: "object", properties: { a: {} }, additionalProperties: false };
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    expect(await texts(closed, JSON.parse(`{"${name}":1}`)), name).toEqual([`\`${name}\` is not a known argument`]);
    const open = {
      type: "object",
      properties: JSON.parse(`{"${name}":{"type":"string"}}`) as object,
      required: [name],
    };
    expect(await texts(open, JSON.parse(`{"${name}":"x"}`)), name).toEqual([]);
    expect(await texts(open, {}), name).toEqual([`\`${name}\` is missing`]);
  }
});

it("refuses an invalid schema when it is compiled, also in the worker", async () => {
  await expect(issuesOf({ type: "objekt" }, {})).rejects.toThrow(/it is not a valid 2020-12 schema at `#\/type`/);
  await expect(issuesOf({ properties: { a: { pattern: "(" } } }, {})).rejects.toThrow(
    "its pattern `(` is not a regular expression.",
  );
  await expect(issuesOf({ type: "objekt", pattern: "a" }, {})).rejects.toThrow(
    /not a valid 2020-12 schema at `#\/type`/,
  );
});

it("a schema cannot change what others' schemas mean", async () => {
  const own = {
    $id: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { a: { $ref: "#/$defs/b" } },
    $defs: { b: true },
  };
  await issuesOf(own, {}).catch(() => undefined);
  await expect(issuesOf({ type: "objekt", title: "again" }, {})).rejects.toThrow(/not a valid/);
  expect(await texts({ type: "object", title: "still", required: ["a"] }, {})).toEqual(["`a` is missing"]);
});

it("a hung check is killed at its deadline, answered, and the next one gets a new worker", async () => {
  await using own = new JsonSchemas({ deadlineMs: 100 });
  const evil = { properties: { a: { pattern: "^(a+)+$" } } };
  await issuesOf(evil, { a: "a" }, own);
  await expectSoon(1_000, async () => {
    const hung = issuesOf(evil, { a: `${"a".repeat(40)}!` }, own);
    const after = issuesOf({ properties: { b: { pattern: "^b$" } } }, { b: "b" }, own);
    expect((await hung).map(issueText)).toEqual(["The arguments could not be checked: it took longer than 100 ms."]);
    expect(await after).toEqual([]);
  });
});

it("a value that branches through a recursive schema is killed, not endured", async () => {
  await using own = new JsonSchemas({ deadlineMs: 100 });
  const branching = {
    anyOf: [{ properties: { a: { $ref: "#" } } }, { properties: { a: { $ref: "#" }, b: {} } }],
  };
  let value: JsonObject = {};
  for (let n = 0; n < 60; n += 1) value = { a: value };
  await issuesOf(branching, {}, own);
  expect((await issuesOf(branching, value, own)).map(issueText)).toEqual([expect.stringContaining("took longer than")]);
});

it("one schema that hangs again and again delays others by one deadline, and too many waiting are answered at once", async () => {
  await using own = new JsonSchemas({ deadlineMs: 50, maxWaiting: 5 });
  const evil = { properties: { a: { pattern: "^(a+)+$" } } };
  await Promise.all([issuesOf(evil, {}, own), issuesOf({ properties: { b: { pattern: "^b$" } } }, {}, own)]);
  const order: string[] = [];
  const attacks = Array.from({ length: 5 }, async () =>
    order.push(...(await issuesOf(evil, { a: `${"a".repeat(40)}!` }, own)).map(({ message }) => message.slice(-8))),
  );
  await Promise.resolve();
  const calm = issuesOf({ properties: { b: { pattern: "^b$" } } }, { b: "b" }, own).then((issues) =>
    order.push(issues.length === 0 ? "calm" : "refused"),
  );
  await Promise.all([...attacks, calm]);
  expect(order.filter((line) => line === "calm" || line === "refused")).toHaveLength(1);
  expect(order.indexOf("calm") < order.length - 1).toBe(true);
  const guard = own.prepare(evil, "t");
  const flood = Array.from({ length: 20 }, () => guard.check({ a: `${"a".repeat(40)}!` }));
  const answers = (await Promise.all(flood)).map((checked) => issuesIn(checked)[0]?.message ?? "");
  expect(answers.filter((message) => message.includes("too many checks")).length).toBeGreaterThan(10);
}, 60_000);

it("arguments that are no JSON or too deep are issues, not throws", async () => {
  let deep: JsonObject = {};
  for (let n = 0; n < 5_000; n += 1) deep = { a: deep };
  for (const schema of [{ type: "object" }, { properties: { a: { pattern: "^a" } } }]) {
    expect(await texts(schema, deep)).toEqual([expect.stringMatching(/nested deeper|cannot be checked|could not/)]);
    expect((await issuesOf(schema, { a: () => 1 })).length, JSON.stringify(schema)).toBe(1);
    expect((await issuesOf(schema, { a: 1n })).length, JSON.stringify(schema)).toBe(1);
  }
});

it("a closed checker answers, and does not keep the process", async () => {
  const own = new JsonSchemas();
  const guard = own.prepare({ properties: { a: { pattern: "^(a+)+$" } } }, "t");
  const waiting = guard.check({ a: `${"a".repeat(40)}!` });
  await own.close();
  expect(issuesIn(await waiting).length).toBeLessThanOrEqual(1);
  await expect(guard.ready).rejects.toThrow("the runtime is closing");
});

const patterns = corpus<{ readonly re: string; readonly attack_js: string }>("redos/regexlib_js.dev.json");

it.skipIf(patterns.length === 0)(
  "published ReDoS patterns as `pattern`: every check ends at its deadline and the event loop goes on",
  async () => {
    await using own = new JsonSchemas({ deadlineMs: 100 });
    await issuesOf({ pattern: "^x" }, {}, own);
    let killed = 0;
    for (const { re, attack_js: attack } of patterns.filter((_, n) => n % 12 === 0)) {
      const length = attack.includes("10000") ? 3 : 30_000;
      const text: unknown = new Function("i", `return ${attack};`)(length);
      const issues = await inShortTurns(50, () => issuesOf({ properties: { a: { pattern: re } } }, { a: text }, own));
      if (issues[0]?.message.includes("took longer than 100 ms") === true) killed += 1;
    }
    expect(killed).toBeGreaterThan(0);
  },
);

it("equal schemas may be compiled side by side", async () => {
  const schema = { type: "object", properties: { text: { type: "string", minLength: 2 } } };
  const checkers = Array.from({ length: 8 }, () => new JsonSchemas({ deadlineMs: 60_000 }));
  const found = await Promise.all(checkers.map((among) => issuesOf(schema, { text: "a" }, among)));
  expect(found.map(({ length }) => length)).toEqual(Array(8).fill(1));
  for (const checker of checkers) await checker.close();
});
