import { rules } from "@secretlint/secretlint-rule-preset-recommend";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWork } from "../../../../test/fakes/in-time.ts";
import { loadRules } from "./pattern-rules.ts";
import { guessingRedactor, loadPatterns } from "./patterns.ts";
import { createRedactor } from "./redactor.ts";

const patterns = await loadPatterns();
const some = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1F2g3H4i5J6k7L8m9N0";
const letters = "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJkLmNoP";
const hex = "0123456789abcdef0123456789abcdef";
const pem = `${"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".repeat(6)}`;

/** Put together here, so that nobody who looks for secrets in this repository finds one. One or more of each rule. */
const samples: readonly (readonly [kind: string, secret: string])[] = [
  [
    "ops token",
    `${"ops"}_${"ey"}${Buffer.from(`{"k":"${"v".repeat(119)}"}`)
      .toString("base64")
      .slice(2)}`,
  ],
  ["anthropic", `${"sk-ant"}-api03-${some}${some.slice(0, 13)}AA`],
  ["aws secret access key", `${some.slice(0, 20)}/+${some.slice(20, 38)}`],
  ["basic auth", `${"https"}://robot:${some.slice(0, 12)}@example.org`],
  ["cloudflare user api token", `${"cfut"}_${some.slice(0, 40)}${hex.slice(0, 8)}`],
  ["mongo db connection", `${"mongodb"}+srv://robot:${some.slice(0, 12)}@db.example.org/x`],
  ["my sql", `${"mysql"}://robot:${some.slice(0, 12)}@db.example.org/x`],
  ["postgre", `${"postgres"}://robot:${some.slice(0, 12)}@db.example.org/x`],
  ["databricks", `${"dapi"}${hex}`],
  ["docker", `${"dckr"}_pat_${some.slice(0, 27)}`],
  ["figma personal access token", `${"figd"}_${some.slice(0, 40)}`],
  ["github token", `${"ghp"}_${some.slice(0, 36)}`],
  ["github token", `${"github"}_pat_${some}${some.slice(0, 82 - some.length)}`],
  ["gitlab personal access token", `${"glpat"}-${some.slice(0, 20)}`],
  ["grafana", `${"glsa"}_${some.slice(0, 32)}_${hex.slice(0, 8)}`],
  ["groq api key", `${"gsk"}_${some.slice(0, 52)}`],
  ["hashicorp vault service token", `${"hvs"}.${some}${some.slice(0, 12)}`],
  ["huggingface user access token", `${"hf"}_${letters.slice(0, 34)}`],
  ["linear api token", `${"lin"}_api_${some.slice(0, 40)}`],
  ["notion integration token", `${"ntn"}_01234567890${some.slice(0, 35)}`],
  ["npm access token", `${"npm"}_${some.slice(0, 36)}`],
  ["openai token", `${"sk"}-${some.slice(0, 20)}T3BlbkFJ${some.slice(0, 20)}`],
  ["private key", `-----BEGIN ${"PRIVATE"} KEY-----\n${pem}\n-----END ${"PRIVATE"} KEY-----`],
  ["sendgrid key", `${"SG"}.${some.slice(0, 22)}.${some.slice(0, 43)}`],
  ["shopify key", `${"shpat"}_${some.slice(0, 32)}`],
  ["slack token", `${"xoxb"}-${some.slice(0, 11)}-${some.slice(0, 24)}`],
  [
    "incoming webhook",
    `https://${"hooks.slack.com"}/services/T${some.slice(0, 8)}/B${some.slice(0, 8)}/${some.slice(0, 24)}`,
  ],
  ["stripe secret key live", `${"sk"}_live_${some.slice(0, 24)}`],
  ["tailscale auth key", `${"tskey"}-auth-${some.slice(0, 12)}-${some.slice(0, 24)}`],
  ["vercel", `${"vcp"}_${some.slice(0, 24)}`],
];

/** As it is met: one rule needs the name beside it. */
const met = ([kind, secret]: readonly [string, string]): string =>
  kind.startsWith("aws") ? `AWS_SECRET_ACCESS_KEY=${secret}` : `it is ${secret}`;

describe("what looks like a secret", () => {
  it.each(samples)("is masked and named: %s", (kind, secret) => {
    const masked = patterns.mask(`first, ${met([kind, secret])} and more`);
    expect(masked).toMatch(new RegExp(`\\[possible secret: ${kind}[a-z ]*\\]`));
    expect(masked).not.toContain(secret.slice(4));
    expect(masked.startsWith("first, ") && masked.endsWith(" and more")).toBe(true);
  });

  it("is masked inside JSON, and JSON it stays", () => {
    // A key's line breaks are known escaped once, not twice.
    for (const sample of samples.filter(([kind]) => kind !== "private key")) {
      const inner = JSON.stringify({ text: `${met(sample)}\n"quoted"`, after: [1, "x"] });
      const masked = patterns.mask(JSON.stringify({ inner, list: [met(sample)], last: true }));
      const outer: { readonly inner: string; readonly list: readonly string[]; readonly last: boolean } =
        JSON.parse(masked);
      expect(outer.last).toBe(true);
      expect(outer.list[0], sample[0]).toContain("[possible secret: ");
      expect(JSON.parse(outer.inner)).toMatchObject({
        text: expect.stringContaining("[possible secret: "),
        after: [1, "x"],
      });
    }
  });

  it("is found by every rule there is: none has no sample, none has no keywords", async () => {
    const awake = (await loadRules()).filter((rule) => samples.some((sample) => rule.search(met(sample)).length > 0));
    expect(awake.length).toBe((await loadRules()).length);
    expect((await loadRules()).length).toBe(rules.length - 2); // the one that lets texts excuse themselves, the one that opens files
  });

  it("cannot excuse itself", () => {
    const [, token] = samples.find(([kind]) => kind === "github token") ?? ["", ""];
    for (const excuse of ["secretlint-disable", "secretlint-disable-line", "secretlint-disable-next-line"])
      expect(patterns.mask(`<!-- ${excuse} -->\n${token} // ${excuse}`)).toContain("[possible secret: github token]");
  });

  it("is found wherever it stands in a long text, once", () => {
    const filler = "The quick brown fox sees https://example.org/ and jumps. ".repeat(800);
    for (const sample of samples)
      for (const at of [0, 11_990, 12_000, 23_950, 24_000, 36_001, filler.length]) {
        const text = `${filler.slice(0, at)} ${met(sample)} ${filler.slice(at)}`;
        expect(patterns.suspects(text).length, `${sample[0]} at ${at}`).toBe(1);
        expect(patterns.mask(text)).not.toContain(sample[1].slice(4));
      }
  });

  it("is found also where only the rules themselves would look: the words before them miss nothing", async () => {
    const all = await loadRules();
    const pieces = fc.constantFrom(
      ...samples.map(met),
      "://",
      "@",
      " ",
      "\n",
      '"',
      "ghp_",
      "é",
      "-----BEGIN",
      "secret_access",
    );
    await fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string({ unit: "binary" })), { maxLength: 8 }), (parts) => {
        const text = parts.join("");
        const found = all.flatMap((rule) => rule.search(text));
        expect(patterns.suspects(text).length > 0).toBe(found.length > 0);
      }),
      { numRuns: 500 },
    );
  });

  it("leaves other text, and what is masked already", () => {
    const innocent = [
      "",
      "https://example.org/a?b=c",
      "user@example.org",
      "secret_access_key: [redacted]",
      "SG.1",
      "hf_hub",
      `sha256:${hex}`,
    ];
    for (const text of innocent) expect(patterns.mask(text)).toBe(text);
    for (const sample of samples) {
      const once = patterns.mask(met(sample));
      expect(patterns.mask(once)).toBe(once);
    }
  });

  it("does not hold anybody up, whatever a text is made of", async () => {
    const words = [
      "ghs_1_",
      `ghs_1_${"a".repeat(990)}.`,
      "https://a:b",
      `http://${"a".repeat(250)}:${"b".repeat(250)}`,
      "xoxb-a-",
      "-----BEGIN PRIVATE KEY-----A",
      "SG.a.a",
      "secret_access_key ",
      `tskey-ab-${"a".repeat(8)}`,
      `glc_${"A".repeat(40)}/`,
      "mongodb://a:b@",
    ];
    for (const word of words) {
      const text = word.repeat(Math.ceil(1_000_000 / word.length));
      await expectWork(500, () => patterns.suspects(text), word.slice(0, 20)); // 25 ms where nothing is counted
    }
  });

  it("refuses no call: what is asked before one runs is exact", () => {
    const guessing = guessingRedactor(createRedactor(), patterns);
    guessing.learn("hunter2hunter2");
    expect(guessing.finds(met(samples[0] ?? ["", ""]))).toBe(false);
    expect(guessing.finds("hunter2hunter2")).toBe(true);
    expect(guessing.redact("hunter2hunter2")).toBe("[redacted]");
  });
});
