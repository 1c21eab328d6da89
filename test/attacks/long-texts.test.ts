/** A long argument must not stop the process: each step that reads it takes time in proportion to its length. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { withHiddenShown } from "../../packages/core/src/card-text.ts";
import { showHidden } from "../../packages/core/src/invisible.ts";
import { patternGuardrail, personalData, promptInjection } from "../../packages/postern/src/policy/index.ts";
import { createRedactor } from "../../packages/postern/src/secrets/redactor.ts";
import type { Redactor } from "../../packages/postern/src/secrets/secret-store.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const few = 4_000;
const times = 8;
/** Proportional work takes 8 times as long, quadratic work 64 times. */
const mostTimes = 24;
/** Shorter times cannot be compared. */
const shortMs = 60;
/** Some systems count processor time in steps of this length, so shorter work counts as nothing. */
const stepMs = 4;

/** Pieces of text in which a search finds many matches, or starts often and finds none. */
const pieces = [
  ...[
    "x\n",
    "x\r\n",
    "\r",
    " ",
    "a",
    "a ",
    "1",
    "4111 ",
    "DE89 ",
    "+49 ",
    "a@",
    "a@b.c, ",
    "@ ",
    '"',
    '\\"',
    "<",
    "<a",
    "<a>",
  ],
  ...["(", "{", '{"a":', "[", "\\", "\\u{", "\\u0041", "%", "%41", "%2525", "&", "&#", "&amp;", `'"'"'`, "'"],
  ...["/a", "../", "https://a.", "mailto:", "mailto:a?to=b&", "-", ".", "a.", "a,b\n", "ignore all ", "send a "],
  ...[
    "\u200b",
    "a\u200b",
    "\u{1f468}\u200d",
    "1\ufe0f\u20e3",
    "\u{e0067}",
    "\u0430",
    "\u0430b ",
    "\u6f22\u200b",
    "\u0301",
    "\ufdfa",
    "\ud800",
  ],
];

/** Processor time of this thread, without other processes. */
function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

async function leastMs(tries: number, act: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries; i += 1) {
    const before = usedMs();
    await act();
    least = Math.min(least, usedMs() - before);
  }
  return least;
}

/** Returns the first piece with which the work grows faster than the text. */
async function tooSlow(
  read: (text: string) => unknown,
  of: readonly string[] = pieces,
  count = few,
): Promise<string | undefined> {
  for (const piece of of) {
    const [short, long] = [piece.repeat(count), piece.repeat(count * times)];
    const once = await leastMs(1, () => read(long));
    if (once < shortMs) continue;
    const ratio =
      Math.min(once, await leastMs(2, () => read(long))) / Math.max(stepMs, await leastMs(3, () => read(short)));
    if (ratio > mostTimes) return `${JSON.stringify(piece)}: ${ratio.toFixed(0)} times`;
  }
  return undefined;
}

function knowing(): Redactor {
  const redactor = createRedactor();
  for (const secret of ["hunter2hunter2", `a\\b%41&amp;'"'"'z`, "x x x x "]) redactor.learn(secret);
  return redactor;
}

describe("the time for a text eight times as long grows in proportion", () => {
  it("for showing it on a card or in a terminal", async () => {
    expect(await tooSlow(withHiddenShown)).toBeUndefined();
    expect(await tooSlow(showHidden)).toBeUndefined();
  });

  it("for masking secrets in it, with any escapes", async () => {
    const escaped = pieces.filter((piece) => /[\\%&'\r\n]/.test(piece));
    expect(await tooSlow((text) => knowing().redact(text), escaped, 4 * few)).toBeUndefined();
  });

  it("for checking, deciding and holding its call", async () => {
    const redactor = knowing();
    const rules = [
      { effect: "confirm", tool: "mail", arguments: { "$.to": { like: "*a*b*c*" } } },
      { effect: "confirm", tool: "mail", arguments: { "$.to": { path: "/a/**/b*c/**" } } },
      { effect: "confirm", tool: "mail", arguments: { "$.to": { host: "*.example.com" } } },
    ] as const;
    const guardrails = [
      promptInjection({ on: "arguments", effect: "CONFIRM" }),
      personalData({ kinds: ["card", "iban", "email", "phone"], effect: "CONFIRM" }),
      patternGuardrail({ name: "number", on: "arguments", effect: "CONFIRM", patterns: ["\\bDE\\d{20}\\b"] }),
    ];
    await using h = await runtimeFixture({ redactor, policy: { rules }, guardrails });
    const held = async (to: string): Promise<void> => {
      const { approvalId = "", text } = await h.runtime.invoke({ tool: "mail", arguments: { to } }, asker);
      expect(await h.runtime.approvals.get(approvalId), text).toBeDefined();
      await h.runtime.approvals.withdraw(approvalId, { user: "asker", via: "token:agent" });
    };
    const valid = pieces.filter((piece) => piece.isWellFormed()); // half of a pair is refused at once
    expect(await tooSlow(held, valid)).toBeUndefined();
  });
});

it("for counting 200,000 recipients in one object", async () => {
  await using h = await runtimeFixture({ policy: { rules: [{ effect: "confirm", tool: "send" }] } }, [
    {
      ...{ name: "send", description: "Sends.", risk: "medium", effects: "write", idempotent: false },
      ...{ input: z.object({ to: z.object({ list: z.array(z.string()) }) }), execute: () => "sent" },
    },
  ]);
  const list = Array.from({ length: 200_000 }, (_, i) => `a${i}`);
  const {
    status,
    approvalId = "",
    text,
  } = await h.runtime.invoke({ tool: "send", arguments: { to: { list } } }, asker);
  expect(status, text).toBe("pending");
  const why = (await h.runtime.approvals.get(approvalId))?.why.map(({ rule }) => rule).join();
  expect(why).toContain("200000 recipients");
});
