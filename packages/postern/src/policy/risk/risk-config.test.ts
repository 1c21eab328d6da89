import { noOpaqueFields, toCamelCase } from "@postern/core";
import { expect, it } from "vitest";
import { createPolicy } from "../decide.ts";
import { guardrailsFrom, guardrailsSchema } from "../guardrails/guardrails-config.ts";
import { policyOptionsFrom } from "../options.ts";
import { type PolicyConfigFile, policySchemas } from "../schema.ts";

const sectionOf = (file: unknown) => toCamelCase(guardrailsSchema.parse(file), noOpaqueFields);
const policySchema = policySchemas().section;

it("the file's names become the library's, and a policy", () => {
  const file: PolicyConfigFile = policySchema.parse({
    taint: "raise",
    adjusters: {
      broadcast: { more_than: 5, groups: ["board@*"] },
      destructive: false,
      blast_radius: { more_than: 20 },
    },
    pack: {
      quiet_hours: { from: "22:00", to: "07:00", time_zone: "Europe/Berlin" },
      anti_flap: { cooldown_seconds: 30, tools: ["light*"], within: "tenant" },
      notifications: { tools: ["notify"], max_per_hour: 20 },
    },
  });
  const options = policyOptionsFrom(file);
  expect(options).toEqual({
    taint: "raise",
    adjusters: { broadcast: { moreThan: 5, groups: ["board@*"] }, destructive: false, blastRadius: { moreThan: 20 } },
    pack: {
      quietHours: { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" },
      antiFlap: { cooldownSeconds: 30, tools: ["light*"], within: "tenant" },
      notifications: { tools: ["notify"], maxPerHour: 20 },
    },
  });
  expect(createPolicy(options).reads).toEqual({ run: Number.POSITIVE_INFINITY, tenant: 3_600_000 });
  expect(policyOptionsFrom(policySchema.parse({ adjusters: false }))).toEqual({ adjusters: false });
});

it.each<[unknown, RegExp]>([
  [{ pack: { quiet_hours: { from: 22, to: "07:00", time_zone: "UTC" } } }, /expected string/],
  [{ pack: { quiet_hours: { from: "22:0", to: "07:00", time_zone: "UTC" } } }, /time of day in quotes/],
  [{ pack: { notifications: { tools: [], max_per_hour: 1 } } }, /tools/],
  [{ pack: { antiflap: {} } }, /antiflap/],
  [{ taint: true }, /taint/],
])("a mistake in %j is found by the schema", (file, message) => {
  const { error } = policySchema.safeParse(file);
  expect(JSON.stringify(error?.issues)).toMatch(message);
});

it("guardrails of a file, each under its own name", () => {
  const made = guardrailsFrom(
    sectionOf([
      { use: "prompt_injection" },
      { use: "prompt_injection", on: "arguments", effect: "DENY", on_failure: "open" },
      { use: "personal_data", kinds: ["iban"], tools: ["mail__*"] },
      {
        use: "patterns",
        on: "result",
        name: "codes",
        patterns: ["X-\\d+"],
        effect: "MARK",
        ignore_case: true,
        why: "a code",
      },
    ]),
  );
  expect(made.map(({ name, on, onFailure }) => `${name} ${on} ${onFailure}`)).toEqual([
    "prompt-injection result undefined",
    "prompt-injection arguments open",
    "personal-data arguments undefined",
    "codes result undefined",
  ]);
  expect(guardrailsSchema.safeParse([{ use: "patterns", on: "result", patterns: ["x"] }]).success).toBe(false);
  expect(guardrailsSchema.safeParse([{ use: "magic" }]).success).toBe(false);
  expect(() => guardrailsFrom([{ use: "prompt_injection", effect: "DENY" }])).toThrow(
    /on result it is one of WITHHOLD, MARK/,
  );
});
