import { type Json, type Risk, rankOf, risks, verdicts } from "@postern/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expectWork } from "../../../../../test/fakes/in-time.ts";
import { anyFacts, anyOptions, runs } from "../../../../../test/fakes/policy-arbitraries.ts";
import { factsOf, tool } from "../../../../../test/fakes/policy-facts.ts";
import { createPolicy, type PolicyOptions } from "../decide.ts";
import type { Decision, Facts, Suggestion, ToolFacts } from "../policy.ts";
import { wordsOf } from "./adjusters.ts";

const mail = tool("send_email");
const untouched = factsOf(mail, { now: Date.UTC(2026, 10, 20, 12) });

function decide(facts: Partial<Facts>, options: PolicyOptions = {}): Decision {
  return createPolicy(options).decide({ ...untouched, ...facts });
}
const people = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `p${i}@acme.com`);
const group: Suggestion = { target: "#general", recipients: ["@channel"] };
const wipe: ToolFacts = { ...mail, effects: "destructive" };
const enabled: PolicyOptions = { rules: [{ effect: "allow", tool: "send_email" }] };

describe("adjusters", () => {
  it("broadcast on low is medium; broadcast and destructive on low is high; three on high stay critical (case 128)", () => {
    expect(decide({ suggestion: group }).risk).toBe("medium");
    expect(decide({ suggestion: group, tool: wipe }, enabled).risk).toBe("high");
    const three = { suggestion: { ...group, affected: 5_000 }, tool: { ...wipe, risk: "high" as const } };
    const { risk, reasons } = decide(three, enabled);
    expect(risk).toBe("critical");
    expect(reasons.filter(({ effect }) => effect === "RAISE").map(({ rule }) => rule)).toEqual([
      "adjuster destructive: its effects",
      "adjuster broadcast: `@channel` is a group",
      "adjuster blast radius: 5000 things at once, more than 100",
    ]);
  });

  it.each<[string, Partial<Facts>, Risk]>([
    ["ten recipients", { suggestion: { recipients: people(10) } }, "safe"],
    ["eleven", { suggestion: { recipients: people(11) } }, "medium"],
    ["a group as target", { suggestion: { target: "everyone" } }, "medium"],
    ["a mailing list", { suggestion: { recipients: ["dev-list@acme.com"] } }, "medium"],
    ["all@", { suggestion: { recipients: ["All Staff <ALL@acme.com>"] } }, "medium"],
    ["a host of lists", { suggestion: { recipients: ["postern@lists.acme.com"] } }, "medium"],
    ["a google group", { suggestion: { recipients: ["x@googlegroups.com"] } }, "medium"],
    ["Slack's own spelling", { suggestion: { target: "<!channel>" } }, "medium"],
    ["one person", { suggestion: { target: "ada@acme.com" } }, "safe"],
    ["one whose name only begins so", { suggestion: { target: "allen@acme.com" } }, "safe"],
    ["an argument, where the tool says nothing", { arguments: { to: "everyone@acme.com" } }, "medium"],
    ["many in one text", { arguments: { cc: people(12).join(", ") } }, "medium"],
    ["many in lists of lists", { arguments: { to: [people(6), people(6)] } }, "medium"],
    ["an argument that is no text", { arguments: { to: 7, cc: null, bcc: { all: true } } }, "safe"],
    ["an argument, where the tool says otherwise", { arguments: { to: "all" }, suggestion: { target: "ada" } }, "safe"],
    ["what only reads", { tool: { ...mail, effects: "read" }, arguments: { channel: "all" } }, "safe"],
    ["one text where a list belongs", { suggestion: { recipients: people(11).join() as never } }, "medium"],
    ["things that are no names", { suggestion: { recipients: [1, null] as never, target: 7 as never } }, "safe"],
    ["a hundred things", { suggestion: { affected: 100 } }, "safe"],
    ["a hundred and one", { suggestion: { affected: 101 } }, "medium"],
    ["things that cannot be counted", { suggestion: { affected: Number.NaN } }, "medium"],
    ["an action called delete", { tool: { ...mail, action: "deleteAll" } }, "medium"],
    [
      "a tool called so, its server left out",
      { tool: { ...mail, tool: "files__wipe-disk", server: "files" } },
      "medium",
    ],
    ["only the server called so", { tool: { ...mail, tool: "drop__list", server: "drop" } }, "safe"],
    ["a word that only holds it", { tool: { ...mail, tool: "list_deleted_items" } }, "safe"],
    ["a risk that an operator stated", { tool: { ...mail, action: "delete", riskSource: "operator" } }, "safe"],
    [
      "the same, to a group",
      { tool: { ...mail, action: "delete", riskSource: "operator" }, suggestion: group },
      "medium",
    ],
  ])("%s", (_, facts, risk) => expect(decide(facts, enabled).risk).toBe(risk));

  const eleven = people(11);
  it.each<[string, Json]>([
    ["line breaks", eleven.join("\n")],
    ["blanks", eleven.join(" ")],
    ["tabs", eleven.join("\t")],
    ["semicolons", eleven.join(";")],
    ["bars", eleven.join("|")],
    ["slashes", eleven.join("/")],
    ["full-width commas", eleven.join("\uff0c")],
    ["ideographic commas", eleven.join("\u3001")],
    ["Arabic commas", eleven.join("\u060c ")],
    ["percent-encoded commas", eleven.join("%2C")],
    ["twice encoded commas", eleven.join("%252C")],
    ["line separators", eleven.join("\u2028")],
    ["full-width at signs", eleven.join(",").replaceAll("@", "\uff20")],
    ["zero-width characters", eleven.join(",").replaceAll("@", "\u200b@\u2060")],
    ["names before them", eleven.map((one, i) => `"Lovelace, Ada ${i}" <${one}>`).join(", ")],
    ["one pair of angle brackets", `<${eleven.join(",")}>`],
    ["angle brackets alone", eleven.map((one) => `<${one}>`).join("")],
    ["quoted local parts", eleven.map((one) => one.replace(/^(.*)@/, '"$1"@')).join(" ")],
    ["comments", eleven.map((one) => one.replace("@", "(x, (y))@")).join(" ")],
    ["the quotes of a name", `"${eleven.join(", ")}" <x@acme.com>`],
    ["a mailto link", `mailto:${eleven.slice(0, 4).join(",")}?cc=${eleven[4]}&bcc=${eleven.slice(5).join("%2c")}`],
    ["a mailto link as HTML writes it", `mailto:${eleven[0]}?subject=a&amp;to=${eleven.slice(1).join(",")}`],
    ["several mailto links", eleven.map((one) => `MAILTO:${one}`).join(" ")],
    ["objects", eleven.map((email, i) => ({ name: `Ada ${i}`, email }))],
    ["nested objects", eleven.map((address) => ({ emailAddress: { address, name: "Ada" } }))],
    ["the names of an object", Object.fromEntries(eleven.map((one) => [one, "Ada"]))],
    ["JSON in a text", JSON.stringify(eleven)],
    ["a group in the grammar of mail", `Friends: ${eleven.join(", ")};`],
    ["numbers", eleven.map((_, i) => 1000 + i)],
    ["handles", eleven.map((_, i) => `@u${i}`).join(" ")],
    ["one text that is too long to read", `ada@acme.com${" ".repeat(100_000)}`],
  ])("counts eleven recipients in %s", (_how, to) => {
    expect(decide({ arguments: { to } }, enabled).risk).toBe("medium");
  });

  it.each<[string, Json]>([
    ["a name before an address", `"Lovelace, Ada, Countess of" <ada@acme.com>`],
    [
      "its own address as a name",
      people(10)
        .map((one) => `"${one}" <${one}>`)
        .join("; "),
    ],
    [
      "comments",
      people(10)
        .map((one) => `${one} (Ada Lovelace, London)`)
        .join(","),
    ],
    ["objects with names", people(10).map((email) => ({ name: "Ada King Noel", email }))],
    ["the subject and body of a link", `mailto:ada@acme.com?subject=one%20two,three&body=${"word,".repeat(20)}`],
    ["empty places", ` ,;\n${people(10).join(",,\n")},`],
  ])("counts no more than ten in %s", (_how, to) => {
    expect(decide({ arguments: { to } }, enabled).risk).toBe("safe");
  });

  it.each([
    '"everyone"@acme.com',
    '"every\\one"@acme.com',
    "everyone(x)@acme.com",
    "(x)everyone@acme.com",
    "everyone @ acme.com",
    "everyone@(x)acme.com",
    "EVERYONE@ACME.COM",
    "\uff45\uff56\uff45\uff52\uff59\uff4f\uff4e\uff45@acme.com",
    "every\u200bone@acme.com",
    "every\u{e0100}one@acme.com",
    "everyone%40acme.com",
    "%65veryone@acme.com",
    "mailto:everyone@acme.com",
    "mailto:ada@acme.com?bcc=%65veryone@acme.com",
    "Ada <ada@acme.com>\neveryone@acme.com",
    "ada@acme.com everyone@acme.com",
    "everyone@acme.com ada@acme.com",
    "everyone+now@acme.com",
    "staff+now@acme.com",
    "everyone@acme.com.",
    "undisclosed: everyone@acme.com;",
    "ada everyone",
    "\uff20channel",
    "<!everyone> hello",
    "<!subteam^S012|@all-of-them>",
    "<#C012|general>, <!here|here>",
  ])("finds the group in %j", (to) => {
    expect(decide({ arguments: { to } }).risk).toBe("medium");
    expect(decide({ arguments: { to: [{ address: to }] } }).risk).toBe("medium");
    expect(decide({ suggestion: { recipients: [to] } }).risk).toBe("medium");
    expect(decide({ suggestion: { target: to } }).risk).toBe("medium");
  });

  it.each(["(", '\\"', '"', "a", "@", "<", "mailto:", " ", "%25", "a@", "(a)"])(
    "reads a long row of %j in time",
    async (piece) => {
      const to = `${piece.repeat(Math.floor(99_000 / piece.length))}x`;
      await expectWork(2_000, (at) => decide({ arguments: { to: `${to}${at}` } }));
    },
  );

  it.each(["toRecipients", "To", "BCC", "cc_recipients", "attendees"])("looks into an argument called %s", (name) => {
    expect(decide({ arguments: { [name]: "everyone@acme.com" } }).risk).toBe("medium");
    expect(decide({ arguments: { message: { [name]: [{ email: "everyone@acme.com" }] } } }).risk).toBe("medium");
  });

  it("each can be set and be switched off, and all of them", () => {
    const many = { suggestion: { recipients: people(3) } };
    expect(decide(many, { adjusters: { broadcast: { moreThan: 2 } } }).risk).toBe("medium");
    expect(decide({ suggestion: group }, { adjusters: { broadcast: false } }).risk).toBe("safe");
    const board = { suggestion: { recipients: ["Board-2026@acme.com"] } };
    expect(decide(board, { adjusters: { broadcast: { groups: ["board*@acme.com"] } } }).risk).toBe("medium");
    expect(decide({ arguments: { room: "all" } }, { adjusters: { broadcast: { arguments: ["room"] } } }).risk).toBe(
      "medium",
    );
    expect(decide({ suggestion: { affected: 6 } }, { adjusters: { blastRadius: { moreThan: 5 } } }).risk).toBe(
      "medium",
    );
    expect(
      decide({ tool: { ...mail, action: "void" } }, { adjusters: { destructive: { words: ["void"] } } }).risk,
    ).toBe("medium");
    expect(decide({ tool: wipe, suggestion: { ...group, affected: 999 } }, { ...enabled, adjusters: false }).risk).toBe(
      "safe",
    );
  });

  it("neither uses nor caches a decision for a call that one of them raises", () => {
    const policy = createPolicy();
    const ask = (suggestion: Suggestion | undefined): Risk => policy.decide({ ...untouched, suggestion }).risk;
    expect([
      ask(undefined),
      ask(group),
      ask({ recipients: people(12) }),
      ask(undefined),
      ask({ target: "ada" }),
    ]).toEqual([...["safe", "medium", "medium", "safe", "safe"]]);
  });

  it.each<[PolicyOptions, RegExp]>([
    [{ adjusters: { broadcast: { moreThan: -1 } } }, /`adjusters.broadcast.moreThan`: `-1` is too small/],
    [{ adjusters: { broadcast: { groups: [""] } } }, /`adjusters.broadcast.groups\[0\]`: It is empty/],
    [{ adjusters: { blast: true } as never }, /`blast` is not a known key/],
    [{ adjusters: { blastRadius: { more: 1 } as never } }, /`adjusters.blastRadius.more`/],
    [{ taint: "on" as never }, /`taint`: `"on"`/],
  ])("a mistake in %j is named", (options, message) => expect(() => createPolicy(options)).toThrow(message));

  it("is part of the policy's version", () => {
    const versions = [{}, { adjusters: false as const }, { taint: "raise" as const }].map(
      (one) => createPolicy(one).version,
    );
    expect(new Set(versions).size).toBe(3);
  });
});

it("no adjuster, guardrail or part of the pack lowers a risk or a verdict, whatever they see (cases 129, 135)", async () => {
  const suggestion = fc.record(
    {
      risk: fc.constantFrom(...risks),
      target: fc.constantFrom("all", "ada", ""),
      recipients: fc.array(fc.constantFrom("a@b.c", "all@b.c"), { maxLength: 12 }),
      affected: fc.oneof(fc.integer(), fc.constant(Number.NaN)),
    },
    { requiredKeys: [] },
  );
  const finding = fc.record({
    guardrail: fc.constant("g"),
    effect: fc.constantFrom("DENY" as const, "CONFIRM" as const, "RAISE" as const, "ALLOW" as const),
    why: fc.constant("x"),
  });
  const pack: PolicyOptions["pack"] = {
    quietHours: { from: "00:00", to: "12:00", timeZone: "UTC" },
    antiFlap: { cooldownSeconds: 10 },
    notifications: { tools: ["mail"], maxPerHour: 2 },
  };
  const strictness = (given: Decision): number => [...verdicts, "DENY"].indexOf(given.verdict);
  await fc.assert(
    fc.property(
      anyOptions,
      anyFacts,
      suggestion,
      fc.array(finding, { maxLength: 3 }),
      (options, facts, said, findings) => {
        const asked = { ...facts, suggestion: said };
        const plain = createPolicy({ ...options, adjusters: false }).decide(asked);
        const full = createPolicy({ ...options, pack, taint: "raise" }).decide({ ...asked, findings });
        if (plain.verdict !== "DENY" || full.verdict !== "DENY")
          expect(rankOf(full.risk)).toBeGreaterThanOrEqual(rankOf(plain.risk));
        expect(strictness(full)).toBeGreaterThanOrEqual(strictness(plain));
      },
    ),
    runs(0.3),
  );
});

it("a name falls into its words", () => {
  expect(wordsOf("deleteFile")).toEqual(["delete", "file"]);
  expect(wordsOf("files__delete-file2")).toEqual(["files", "delete", "file2"]);
  expect(wordsOf("HTTPReset")).toEqual(["http", "reset"]);
  expect(wordsOf("__")).toEqual([]);
});
