import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { fixtureWithEnds, nested } from "../fakes/ends.ts";
import { asker, boss, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

const deepProxy = (): unknown =>
  new Proxy(
    {},
    {
      get: (_target, name) => (name === "toJSON" ? undefined : deepProxy()),
      ownKeys: () => ["a"],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
    },
  );

describe("arguments that are wrong", () => {
  const cycle: Record<string, unknown> = { z: 1, to: "x" };
  cycle["a"] = cycle;
  const refused: readonly (readonly [string, () => unknown])[] = [
    ["a cycle", () => cycle],
    ["a list", () => ["x"]],
    ["a text", () => "to=x"],
    ["null", () => null],
    ["a function", () => () => {}],
    ["a bigint", () => ({ to: 1n })],
    ["half a surrogate pair as value", () => ({ to: "\ud800" })],
    ["half a surrogate pair as name", () => ({ to: "x", "\udc00": 1 })],
    ["101 levels", () => ({ to: "x", deep: nested(101) })],
    ["100,000 levels", () => ({ to: "x", deep: nested(100_000) })],
    ["5,000 levels behind names out of order", () => ({ to: "x", deep: nested(5000) })],
    ["101 levels out of a toJSON", () => ({ to: "x", deep: { toJSON: () => nested(101) } })],
    [
      "a getter that throws",
      () => ({
        get to(): string {
          throw new Error("no");
        },
      }),
    ],
    [
      "a toJSON that throws",
      () => ({
        to: {
          toJSON: () => {
            throw new Error("no");
          },
        },
      }),
    ],
    [
      "a Proxy that throws at everything",
      () =>
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error("no");
            },
            get: () => {
              throw new Error("no");
            },
          },
        ),
    ],
    ["a Proxy without end", deepProxy],
    [
      "a Proxy that was taken back",
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
    ["what the schema does not want", () => ({ to: { to: "x" } })],
    ["nothing", () => undefined],
    ["not a number where JSON has null", () => ({ to: Number.NaN })],
  ];

  it.each(refused)("%s: gets a typed refusal and one event, and the next call works", async (what, given) => {
    const { h, ends } = await fixtureWithEnds();
    await using _h = h;
    const session = h.runtime.openSession({}, asker);
    const outcome = await session.invoke({ tool: "echo", arguments: given() as never });
    expect(outcome).toMatchObject({
      status: "error",
      refusal: { code: "arguments_invalid", retry: "changed" },
    });
    if (what.includes("levels")) expect(outcome.text).toContain("deeper than 100 levels");
    expect(h.ran).toEqual([]);
    expect((await session.invoke(echo)).status).toBe("ok");
    expect(session.trace).toHaveLength(2);
    ends.expectOneEach(2);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true, events: 3 });
  });

  class Mail {
    readonly to = "x";
  }
  const lost: readonly (readonly [string, string, () => unknown])[] = [
    ["Infinity", "`a` is Infinity", () => ({ to: "x", a: Number.POSITIVE_INFINITY })],
    ["not a number in a list", "`a.b[1]` is NaN", () => ({ to: "x", a: { b: [1, Number.NaN] } })],
    ["a hole in a list", "`a[1]` is undefined", () => ({ a: Object.assign(new Array(3), { 0: 1, 2: 2 }), to: "x" })],
    ["a member that is a function", "`run` is a function", () => ({ to: "x", run: () => {} })],
    ["a member that is a symbol", "`s` is a symbol", () => ({ s: Symbol("s"), to: "x" })],
    ["a bigint deep inside", "`a[0].n` is a bigint", () => ({ a: [{ n: 1n }], to: "x" })],
    ["a Map", "`m` is an object of the class `Map`", () => ({ m: new Map([["a", 1]]), to: "x" })],
    ["a Set in a list", "`l[0]` is an object of the class `Set`", () => ({ l: [new Set()], to: "x" })],
    ["an object of a class", "this is an object of the class `Mail`", () => new Mail()],
    [
      "a name that changes what an object is",
      "`__proto__` is a name",
      () => JSON.parse('{"to":"x","__proto__":{"slow":true}}'),
    ],
    ["the same deep inside", "`a.__proto__` is a name", () => JSON.parse('{"a":{"__proto__":{"slow":true}},"to":"x"}')],
  ];

  it.each(lost)("%s: is refused with its place, because JSON would change it silently", async (_what, says, given) => {
    const { h, ends } = await fixtureWithEnds();
    await using _h = h;
    const outcome = await h.runtime.invoke({ tool: "echo", arguments: given() as never }, asker);
    expect(outcome).toMatchObject({ status: "error", refusal: { code: "arguments_invalid" } });
    expect(outcome.text).toContain(says);
    expect(h.ran).toEqual([]);
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    ends.expectOneEach(2);
  });

  it("are accepted in each form JSON can express: left out, no prototype, a date, another realm", async () => {
    await using h = await runtimeFixture();
    for (const given of [
      { to: "x", cc: undefined },
      Object.assign(Object.create(null) as object, { to: "x" }),
      { to: "x", at: new Date(0) },
      runInNewContext("({ to: 'x', list: [1, { a: 1 }] })") as object,
    ])
      expect((await h.runtime.invoke({ tool: "echo", arguments: given as never }, asker)).status).toBe("ok");
    expect(h.ran).toEqual([
      { to: "x" },
      { to: "x" },
      { at: "1970-01-01T00:00:00.000Z", to: "x" },
      { list: [1, { a: 1 }], to: "x" },
    ]);
  });

  const taken: readonly (readonly [string, string])[] = [
    ["constructor", '{"to":"x","constructor":{"prototype":{"polluted":1}}}'],
    ["prototype", '{"to":"x","prototype":{"polluted":1}}'],
    ["toString and valueOf", '{"to":"x","toString":1,"valueOf":2,"hasOwnProperty":3}'],
    ["then", '{"to":"x","then":1}'],
    ["toJSON", '{"to":"x","toJSON":"text"}'],
    ["length and indices", '{"0":"a","1":"b","10":"c","length":3,"to":"x"}'],
  ];

  it.each(taken)(
    "the name %s is an ordinary name: it pollutes nothing, and the log has it as sent",
    async (_name, text) => {
      const { h, ends } = await fixtureWithEnds();
      await using _h = h;
      const outcome = await h.runtime.invoke({ tool: "echo", arguments: JSON.parse(text) as never }, asker);
      expect(outcome.status).toBe("ok");
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
      expect((h.ran[0] as { polluted?: number } | undefined)?.polluted).toBeUndefined();
      const again = await h.runtime.invoke(
        { tool: "echo", arguments: JSON.parse(text) as never },
        { ...asker, idempotencyKey: "k" },
      );
      expect(again.status).toBe("ok");
      const stored = await h.runtime.calls.get(again.callId);
      expect(JSON.parse(stored?.call.text ?? "")).toEqual(JSON.parse(text));
      ends.expectOneEach(2);
    },
  );

  it("an object with a changing getter is read once for showing, hashing and running", async () => {
    await using h = await runtimeFixture();
    let reads = 0;
    const given = {
      get to(): string {
        reads += 1;
        return `reading ${reads}`;
      },
    };
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: given as never }, asker);
    const [open] = await h.runtime.approvals.list();
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    expect(h.ran).toEqual([open?.arguments]);
  });

  it("an object that changes during validation reaches the tool as it was sent", async () => {
    const ran: unknown[] = [];
    const given = { to: "x" };
    const standard = {
      "~standard": {
        version: 1,
        vendor: "slow",
        validate: async (value: unknown) => {
          given.to = "evil";
          await Promise.resolve();
          return { value };
        },
      },
    };
    await using h = await runtimeFixture({}, [
      {
        name: "slow",
        description: "Slow to look.",
        risk: "safe",
        effects: "read",
        idempotent: true,
        input: standard as never,
        inputSchema: { type: "object" },
        execute: (input: unknown) => {
          ran.push(input);
          return "ok";
        },
      },
    ]);
    expect((await h.runtime.invoke({ tool: "slow", arguments: given }, asker)).status).toBe("ok");
    expect(ran).toEqual([{ to: "x" }]);
  });

  it("a schema that throws or answers nonsense ends typed: nothing runs, the next call works", async () => {
    for (const validate of [
      () => {
        throw new Error("no");
      },
      () => null,
      () => "x",
      async () => {
        throw null;
      },
      () => ({ issues: "many" }),
    ]) {
      const ran: unknown[] = [];
      const { h, ends } = await fixtureWithEnds({}, [
        {
          name: "odd",
          description: "Odd.",
          risk: "safe",
          effects: "read",
          idempotent: true,
          input: { "~standard": { version: 1, vendor: "odd", validate } } as never,
          inputSchema: { type: "object" },
          execute: () => {
            ran.push(1);
            return "ok";
          },
        },
      ]);
      await using _h = h;
      expect((await h.runtime.invoke({ tool: "odd", arguments: {} }, asker)).status).toBe("error");
      expect(ran).toEqual([]);
      expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
      ends.expectOneEach(2);
    }
  });

  it("10 MB of text runs, and the log's line stays small", async () => {
    await using h = await runtimeFixture();
    expect((await h.runtime.invoke({ tool: "echo", arguments: { to: "x".repeat(10_000_000) } }, asker)).status).toBe(
      "ok",
    );
    for (const event of await h.runtime.audit.query({})) expect(JSON.stringify(event).length).toBeLessThan(4096);
  });
});
