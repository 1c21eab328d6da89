import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { CommandLine } from "../../test/fakes/command-line.ts";
import { type ApprovalsSection, approvalSettingsFrom } from "../approvals/approvals-config.ts";
import { noOpaqueFields, toCamelCase } from "../core/case.ts";
import type { DoctorFinding } from "./findings.ts";
import { auditFinding, engineFinding, routeFindings } from "./running-checks.ts";

let cli: CommandLine;
beforeAll(() => {
  cli = new CommandLine();
});
afterAll(() => cli[Symbol.dispose]());

const tool = `export default { name: "NAME", description: "x", input: { type: "object" }, risk: "safe",
  effects: "read", idempotent: true, execute: () => "x" };`;

/** A configuration in a folder of its own, and what doctor says of it. */
async function doctored(
  name: string,
  configuration: string,
  files: Readonly<Record<string, string>> = {},
): Promise<{
  readonly folder: string;
  readonly code: number | null;
  readonly err: string;
  readonly findings: readonly DoctorFinding[];
}> {
  const folder = join(cli.folder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "postern.yaml"), configuration);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { code, out, err } = await cli.run("doctor", "--json", "--port", "0", "--config", join(folder, "postern.yaml"));
  return { folder, code, err, findings: JSON.parse(out).findings };
}

it("names each folder and file of the configuration that is not there or is something else", async () => {
  const { folder, code, findings } = await doctored(
    "away",
    `tools: { folders: [tools, gone, postern.yaml], modules: [none.ts] }
skills: { folders: [nowhere] }
files: { enabled: true, roots: { docs: { path: papers } } }
servers: { one: { command: node, cwd: elsewhere } }
`,
    { "tools/a/tool.mjs": tool },
  );
  expect(code).toBe(1);
  const output = findings.filter(({ check }) => check === "paths");
  expect(output.map(({ level, message }) => `${level} ${message}`)).toEqual([
    `fail \`tools.folders[1]\`: ${folder}/gone is not there.`,
    `fail \`tools.folders[2]\`: ${folder}/postern.yaml is no folder.`,
    `fail \`tools.modules[0]\`: ${folder}/none.ts is not there.`,
    `warn \`skills.folders[0]\`: ${folder}/nowhere is not there.`,
    `fail \`files.roots.docs\`: ${folder}/papers is not there.`,
    `warn \`servers.one.cwd\`: ${folder}/elsewhere is not there.`,
  ]);
  for (const { fix } of output) expect(fix).toMatch(/^Make it readable, or correct `/);
});

it("names each tool of a folder that does not register, and why, as a finding and not beside it", async () => {
  const { folder, code, err, findings } = await doctored("tools", "tools: { folders: [tools] }\n", {
    "tools/a/tool.mjs": tool,
    "tools/b/tool.mjs": "export const nothing = 1;",
    "tools/c/tool.mjs": "throw new Error('boom');",
    "tools/d/tool.mjs": tool,
  });
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(findings.filter(({ check }) => check === "start")).toEqual(
    [
      `${folder}/tools/b/tool.mjs is skipped: it exports no tool.`,
      `${folder}/tools/c/tool.mjs is skipped: boom`,
      `${folder}/tools/d/tool.mjs is skipped: a tool named \`NAME\` was found before it.`,
    ].map((message) => ({ level: "warn", check: "start", message })),
  );
  expect(findings.find(({ check }) => check === "store")?.message).toContain("it offers");
});

it("warns of a server that is given what decides about it, and of a console that cannot write what it may", async () => {
  const data = join(cli.folder, "own-data");
  const { folder, findings } = await doctored(
    "reach",
    `data: ${JSON.stringify(data)}
console: { edit_policy: true }
servers: { files: { command: node, args: [-e, "0", .], enabled: false } }
`,
  );
  expect(findings.find(({ check }) => check === "reach")).toMatchObject({
    level: "warn",
    message: `Server \`files\` is given ${folder}, which shares files with the configuration ${folder}/postern.yaml.`,
  });
  expect(findings.some(({ check }) => check === "paths")).toBe(false);
  const printed = await cli.run("doctor", "--port", "0", "--config", join(folder, "postern.yaml"));
  expect(printed).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nPostern works, with \d+ warnings?; see above\.\n$/),
  });
  if (process.getuid?.() === 0) return; // to whom nothing is closed
  chmodSync(join(folder, "postern.yaml"), 0o400);
  const again = await cli.run("doctor", "--json", "--port", "0", "--config", join(folder, "postern.yaml"));
  expect(again.out).toContain("`console.edit_policy` is true, and the configuration is closed to this user.");
});

it("names each route that no person here could answer", async () => {
  const file = `data: ${JSON.stringify(join(cli.folder, "routes-data"))}
approvals:
  routes:
    - { name: typo, match: { tools: [a] }, to: { users: [anne], groups: [opps] } }
    - { name: two, match: { tools: [b] }, quorum: 2 }
    - { name: late, match: { tools: [c] }, escalate_after_seconds: 3600, escalate_to: { roles: [approver] } }
`;
  const { findings } = await doctored("routes", file);
  const output = (found: readonly DoctorFinding[]) =>
    found.filter(({ check }) => check === "routes").map(({ level, message }) => `${level} ${message}`);
  const late = "warn `late`: it is over before it is escalated, but for tools whose requests stay open longer";
  expect(output(findings)).toEqual([late]);
  const ann = { name: "ann", roles: ["approver"], groups: [], disabled: false } as never; // what of an account is looked at
  const { approvals } = parse(file);
  expect(
    output([...routeFindings(approvalSettingsFrom(toCamelCase(approvals, noOpaqueFields) as ApprovalsSection), [ann])]),
  ).toEqual([
    "warn `typo`: there is no account `anne`",
    "warn `typo`: no approver is in the group `opps`",
    "warn `typo`: an approval cannot be given: 0 people it is sent to may decide",
    "warn `two`: 2 approvals cannot be given: 1 person it is sent to may decide",
    late,
  ]);
});

it("looks for the secret of the sign-in, and at variables that are nearly ours", async () => {
  process.env["POSTERN_DAAT"] = "/srv/postern";
  try {
    const { findings } = await doctored(
      "openid",
      `accounts:
  openid: { issuer: "https://id.invalid", client_id: postern, client_secret: "secret://openid/client" }
`,
    );
    expect(findings.filter(({ check }) => check === "secrets")).toMatchObject([
      { level: "warn", message: expect.stringContaining("`openid/client`") },
    ]);
    expect(findings.filter(({ check }) => check === "environment")).toEqual([
      {
        level: "warn",
        check: "environment",
        message: "Nothing reads the variable `POSTERN_DAAT`.",
        fix: "Did you mean `POSTERN_DATA`?",
      },
    ]);
  } finally {
    delete process.env["POSTERN_DAAT"];
  }
});

it("asks the policy its tests: how many hold, and each that does not with its line", async () => {
  const { code, findings } = await doctored(
    "policy-tests",
    `tools: { folders: [tools] }
policy:
  rules:
    - { effect: deny, tool: NAME, id: closed }
  tests:
    - { name: it is closed, call: { tool: NAME }, expect: DENY }
    - name: it is open
      call: { tool: NAME }
      expect: ALLOW
`,
    {
      "tools/a/tool.mjs": tool,
      "more.policy-tests.yaml": "tests:\n  - { name: of nobody, call: { tool: NAMES }, expect: ALLOW }\n",
    },
  );
  expect(code).toBe(1);
  const output = findings.filter(({ check }) => check === "policy tests");
  expect(output.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "ok 1 of 3 expectations hold",
    "fail policy-tests/postern.yaml:7: `it is open` does not hold. The verdict is DENY, not ALLOW.",
    "warn policy-tests/more.policy-tests.yaml:2: `of nobody` does not hold. There is no tool `NAMES`; did you mean `NAME`?",
  ]);
  const none = await doctored("no-policy-tests", "policy: {}\n");
  expect(none.findings.find(({ check }) => check === "policy tests")?.level).toBe("ok");
  const broken = await doctored("bad-policy-tests", "policy: {}\n", { "bad.policy-tests.yaml": "tests: 5\n" });
  expect(broken.findings.find(({ check }) => check === "policy tests")).toMatchObject({
    level: "fail",
    message: expect.stringContaining("bad.policy-tests.yaml"),
  });
});

it("says when no engine can run, with what each is without, and which one is down while others run", () => {
  const bubblewrap = "`bwrap` is not installed (apt-get install bubblewrap)";
  const away = { name: "cpython", language: "python", problem: bubblewrap } as const;
  const ready = { name: "quickjs", language: "javascript" } as const;
  expect(engineFinding([])).toMatchObject({ level: "ok", message: "code mode is off" });
  expect(engineFinding([away])).toEqual({
    level: "warn",
    check: "engines",
    message: `without cpython: ${bubblewrap}`,
    fix: "No script can run; install an engine, or see `chains.engines`.",
  });
  expect(engineFinding([ready, away])).toMatchObject({
    level: "warn",
    message: `quickjs (javascript)\nwithout cpython: ${bubblewrap}`,
    fix: expect.stringMatching(/apt install bubblewrap python3.*npm install pyodide deno/),
  });
  expect(engineFinding([ready, away, { name: "pyodide", language: "python" }])).toMatchObject({ level: "ok" });
  expect(engineFinding([ready, { ...away, down: true }])).toMatchObject({
    level: "warn",
    fix: "Repair `cpython`, or leave it out of `chains.engines`; until then scripts go to the others.",
  });
});

it("calls no log intact that could not be read or was not read", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const broken = { intact: false, events: 10, first_broken: 7, why: "malformed", at } as const;
  const intact = { intact: true, events: 40, head: "00", checkpoints: 1, at } as const;
  const printed = [{ size: 3 }, ...[intact, broken].map((checked) => ({ size: 40, checked })), "fetch failed"];
  const unread = (["damaged", "failing"] as const).map((unreadable) => ({
    size: 40,
    checked: { ...broken, unreadable },
  }));
  expect([...printed, ...unread].map(auditFinding).map(({ level, message }) => `${level} ${message}`)).toEqual([
    "ok 3 events, not read again since the start",
    `ok 40 events, intact at ${at}`,
    `fail It is not intact from event 7 on (${at}): malformed`,
    "fail It cannot be read: fetch failed",
    `fail It cannot be read from event 7 on (${at}): malformed`,
    `warn It cannot be read from event 7 on (${at}): malformed`,
  ]);
});

it("names each tool whose schema providers of models refuse", async () => {
  const input = '{ type: "object", properties: { $filter: { type: "string" } }, anyOf: [{ required: ["$filter"] }] }';
  const odd = tool.replace("NAME", "query").replace('{ type: "object" }', input);
  const files = { "tools/query/tool.mjs": odd, "tools/plain/tool.mjs": tool.replace("NAME", "plain") };
  const { findings } = await doctored("schemas", "tools: { folders: [tools] }\n", files);
  const found = findings.filter(({ check }) => check === "schemas");
  expect(found.map(({ level, message }) => `${level} ${message}`)).toEqual([
    "warn Providers of models refuse a request with `query` as it is declared: the property `$filter`, `anyOf` at the top.",
  ]);
});
