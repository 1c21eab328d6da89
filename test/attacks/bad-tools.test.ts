import { describe, expect, it } from "vitest";
import type { ToolContext } from "../../packages/postern/src/index.ts";
import { fixtureWithEnds, nested } from "../fakes/ends.ts";
import { collectGarbage } from "../fakes/garbage.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const echo = { tool: "echo", arguments: { to: "x" } };

const name = "then";

/** A thenable: an object that is awaited like a promise. */
function thenable(then: (resolve: (value: string) => void, reject: (error: Error) => void) => void): object {
  return { [name]: then };
}

describe("a tool that misbehaves", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const settlesTwice = thenable((resolve: (value: string) => void, reject: (error: Error) => void) => {
    resolve("first");
    resolve("second");
    reject(new Error("third"));
  });
  const answers: readonly (readonly [string, (context: ToolContext) => unknown, "ok" | "error"])[] = [
    [
      "throws a number",
      () => {
        throw 7;
      },
      "error",
    ],
    [
      "throws null",
      () => {
        throw null;
      },
      "error",
    ],
    [
      "throws an error whose message throws",
      () => {
        throw Object.defineProperty(new Error("x"), "message", {
          get: () => {
            throw new Error("y");
          },
        });
      },
      "error",
    ],
    [
      "throws a Proxy that throws",
      () => {
        throw new Proxy(
          {},
          {
            get: () => {
              throw new Error("no");
            },
          },
        );
      },
      "error",
    ],
    [
      "throws a megabyte",
      () => {
        throw new Error("x".repeat(1_000_000));
      },
      "error",
    ],
    ["rejects with undefined", () => Promise.reject(undefined), "error"],
    ["settles twice", () => settlesTwice, "ok"],
    [
      "has a then that throws",
      () =>
        thenable(() => {
          throw new Error("no");
        }),
      "error",
    ],
    [
      "has a then that cannot be read",
      () =>
        Object.defineProperty({}, name, {
          get: () => {
            throw new Error("no");
          },
        }),
      "error",
    ],
    ["never settles", () => new Promise(() => {}), "error"],
    ["has a then that never calls", () => thenable(() => {}), "error"],
    ["answers a cycle", () => cycle, "error"],
    ["answers a bigint", () => 1n, "error"],
    ["answers a function", () => () => {}, "error"],
    ["answers a symbol", () => Symbol("x"), "error"],
    [
      "answers a getter that throws",
      () => ({
        get content(): never {
          throw new Error("no");
        },
      }),
      "error",
    ],
    [
      "answers a Proxy that throws",
      () =>
        new Proxy(
          {},
          {
            get: (_target, name) => {
              if (name === "then") return undefined;
              throw new Error("no");
            },
            ownKeys: () => {
              throw new Error("no");
            },
          },
        ),
      "error",
    ],
    ["answers 100,000 levels", () => ({ structured: nested(100_000) }), "error"],
    ["answers half a surrogate pair", () => "\ud800", "ok"],
    ["answers nothing", () => undefined, "ok"],
    ["answers content that is none", () => ({ content: "text" }), "ok"],
    ["answers blocks that are none", () => ({ content: [null, 7, { type: "text" }] }), "ok"],
    [
      "answers 100,000 blocks",
      () => ({
        content: Array.from({ length: 100_000 }, () => ({ type: "text", text: "x".repeat(10) })),
      }),
      "ok",
    ],
    ["pretends to have been suspended", () => ({ suspended: "image", approvalId: "apr_1" }), "ok"],
    [
      "changes its arguments",
      (context) => {
        for (const name of Object.keys(context.principal)) Reflect.set(context.principal, name, "evil");
        return "x";
      },
      "ok",
    ],
  ];

  it.each(answers)("%s: has one bounded end, and the next call works", async (_what, execute, status) => {
    const { h, ends } = await fixtureWithEnds({}, [
      {
        name: "bad",
        description: "Misbehaves.",
        risk: "safe",
        effects: "read",
        idempotent: true,
        timeoutMs: 50,
        input: { type: "object" },
        execute: (_given: unknown, context: ToolContext) => execute(context),
      },
    ]);
    await using _h = h;
    const session = h.runtime.openSession({}, asker);
    const running = session.invoke({ tool: "bad", arguments: {} });
    await h.clock.advance(51);
    const outcome = await running;
    expect(outcome.status, outcome.text.slice(0, 200)).toBe(status);
    expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(8192);
    expect((await session.invoke(echo)).status).toBe("ok");
    expect(session.trace).toHaveLength(2);
    ends.expectOneEach(2);
    const events = await h.runtime.audit.query({});
    expect(events.map(({ stage }) => stage)).toHaveLength(4);
    for (const event of events) {
      expect(JSON.stringify(event).length).toBeLessThan(8192);
      expect(event.principal).toMatchObject({ agent: "a" });
    }
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it.each(answers.filter(([, , status]) => status === "error"))(
    "with effects, %s: ends failed or unknown, never ok, and never runs again by itself",
    async (_what, execute) => {
      let runs = 0;
      const { h, ends } = await fixtureWithEnds({ autonomy: "A4" }, [
        {
          name: "bad",
          description: "Misbehaves.",
          risk: "high",
          effects: "write",
          idempotent: false,
          timeoutMs: 50,
          input: { type: "object" },
          execute: (_given: unknown, context: ToolContext) => {
            runs += 1;
            return execute(context);
          },
        },
      ]);
      await using _h = h;
      const keyed = { ...asker, idempotencyKey: "k" };
      const running = h.runtime.invoke({ tool: "bad", arguments: {} }, keyed);
      await h.clock.advance(51);
      expect((await running).status).toBe("error");
      expect((await h.runtime.invoke({ tool: "bad", arguments: {} }, keyed)).status).toBe("error");
      expect(runs).toBe(1);
      ends.expectOneEach(2);
    },
  );

  it("continues after its end: its progress, calls and secret requests are refused", async () => {
    let context: ToolContext | undefined;
    const progress: string[] = [];
    const { h, ends } = await fixtureWithEnds({}, [
      {
        name: "late",
        description: "Late.",
        risk: "safe",
        effects: "read",
        idempotent: true,
        input: { type: "object" },
        execute: (_given: unknown, given: ToolContext) => {
          context = given;
          given.progress("in time");
          return "done";
        },
      },
    ]);
    await using _h = h;
    await h.runtime.invoke(
      { tool: "late", arguments: {} },
      { ...asker, onProgress: ({ content }) => void progress.push(content) },
    );
    context?.progress("late");
    expect(() => context?.check()).toThrow();
    await expect(context?.call({ tool: "echo", arguments: { to: "x" } })).rejects.toThrow();
    await expect(context?.secrets.get("a", "b")).rejects.toThrow();
    expect(progress).toEqual(["late", "in time", "done"]);
    expect(h.ran).toEqual([]);
    ends.expectOneEach(1);
  });

  it.each([
    ["20 MB, of which 4096 bytes and a reference are inline", 20_000_000, "ok"],
    ["200 MB, of which 4096 bytes and a reference are inline", 200_000_000, "ok"],
    ["300 MB and gets a refusal that names the limit", 300_000_000, "error"],
  ])(
    "answers with %s, and nothing of it stays in memory",
    async (_, characters, status) => {
      const kept = async (): Promise<number> => {
        await collectGarbage();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      await using h = await runtimeFixture({ folder: ownFolder(), results: { maxArtifactBytes: 250_000_000 } }, [
        {
          name: "huge",
          description: "Huge.",
          risk: "safe",
          effects: "read",
          idempotent: true,
          input: { type: "object" },
          execute: () => "x".repeat(characters),
        },
      ]);
      const before = await kept();
      await using session = h.runtime.openSession({}, asker);
      const outcome = await session.invoke({ tool: "huge", arguments: {} });
      expect(outcome.status).toBe(status);
      expect(Buffer.byteLength(outcome.text)).toBeLessThanOrEqual(4096);
      if (status === "ok") expect(outcome.artifact).toMatch(/^[0-9a-f]{64}$/);
      else
        expect(outcome.refusal).toMatchObject({
          code: "result_unavailable",
          message: expect.stringContaining("results.max_artifact_bytes"),
        });
      expect((await session.invoke(echo)).status).toBe("ok");
      expect((await kept()) - before).toBeLessThan(64 * 1024 * 1024);
    },
    60_000,
  );
});
