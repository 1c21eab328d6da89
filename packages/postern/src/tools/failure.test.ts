import { expect, it } from "vitest";
import { failureOf } from "./failure.ts";

it("says the error's class and message (case 46)", () => {
  class QuotaError extends Error {
    override readonly name = "QuotaError";
  }
  expect(failureOf(new QuotaError("used up"))).toEqual({
    message: "QuotaError: used up",
    retryable: false,
    unknown: false,
    notExecuted: false,
  });
  expect(failureOf(new TypeError("no"))).toMatchObject({ message: "TypeError: no" });
});

it("accepts any thrown value: null, texts, cycles, throwing getters (case 47)", () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const hostile = {
    get message(): string {
      throw new Error("in getter");
    },
    get retryable(): boolean {
      throw new Error("again");
    },
  };
  const proxy = new Proxy(
    {},
    {
      get: () => {
        throw new Error("trap");
      },
      ownKeys: () => {
        throw new Error("trap");
      },
    },
  );
  for (const thrown of [
    null,
    undefined,
    "text",
    7,
    10n,
    Symbol("s"),
    () => 1,
    cycle,
    hostile,
    proxy,
    Object.create(null),
  ]) {
    expect(failureOf(thrown)).toMatchObject({
      message: expect.stringMatching(/./),
      retryable: false,
      unknown: false,
    });
  }
  expect(failureOf("no luck").message).toContain("no luck");
});

it("a failure that says it is retryable is, and one of a rate limit says until when", () => {
  expect(failureOf(Object.assign(new Error("x"), { retryable: true })).retryable).toBe(true);
  expect(failureOf({ retryable: true, message: "m", name: "Busy" })).toMatchObject({
    message: "Busy: m",
    retryable: true,
  });
  expect(failureOf(Object.assign(new Error("429"), { rateLimitResetsAt: 17 }))).toMatchObject({
    retryable: true,
    rateLimitResetsAt: 17,
  });
});

it("a connection that broke leaves it unknown, one that never was does not", () => {
  const code = (value: string): Error => Object.assign(new Error("net"), { code: value });
  expect(failureOf(code("ECONNRESET")).unknown).toBe(true);
  expect(failureOf(new TypeError("fetch failed", { cause: code("UND_ERR_SOCKET") })).unknown).toBe(true);
  expect(failureOf(Object.assign(new Error("?"), { unknown: true })).unknown).toBe(true);
  expect(failureOf(code("ECONNREFUSED")).unknown).toBe(false);
});

it("cuts a long message, never inside a character", () => {
  const { message } = failureOf(new Error("😀".repeat(5_000)));
  expect(message.length).toBeLessThanOrEqual(2_000);
  expect(message.isWellFormed()).toBe(true);
});
