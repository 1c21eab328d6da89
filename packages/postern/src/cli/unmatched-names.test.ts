import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const open: CommandLine[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one[Symbol.dispose]();
});

function postern(configuration: string): CommandLine {
  const made = new CommandLine();
  open.push(made);
  writeFileSync(
    join(made.folder, "postern.yaml"),
    `tools:\n  modules: [./tools.ts]\nlisten:\n  port: 0\n${configuration}`,
  );
  return made;
}

const server = resolve("test/fakes/large-server.ts");
const wrong = `policy:
  rules:
    - { effect: deny, tool: sned }
    - { effect: deny, tool: "ehco*" }
    - { effect: confirm, server: larg }
    - { effect: deny, tool: later, optional: true }
    - { effect: deny, tool: away__anything }
  sandbox:
    - { tool: wipee, argument: $.path, within: ["/work/**"] }
  pack:
    notifications: { tools: [send, sendd], max_per_hour: 9 }
approvals:
  routes:
    - { name: two, match: { tools: [wipe, wpie] }, quorum: 2 }
    - { match: { servers: [larg] } }
    - { match: { tools: [someday] }, optional: true }
guardrails:
  - { use: personal_data, tools: [sendmail] }
servers:
  large:
    command: ${process.execPath}
    args: [${JSON.stringify(server)}]
    tools:
      waitng: { enabled: false }
      someday: { risk: safe, optional: true }
      requests: { risk: safe }
  away: { url: "http://127.0.0.1:1/mcp", tools: { anything: { risk: safe } } }
`;
const printed: readonly string[] = [
  "postern.yaml:7: The rule deny #1 matches no tool that is registered, so it denies nothing; did you mean `send`?",
  "postern.yaml:8: The rule deny #2 matches no tool that is registered, so it denies nothing; did you mean `echo*`?",
  "postern.yaml:9: The rule confirm #3 matches no tool that is registered, so it asks about nothing; did you mean `large`?",
  "postern.yaml:13: The sandbox constraint #1 matches no tool that is registered, so it denies nothing; did you mean `wipe`?",
  "The tool `sendd` of `pack.notifications` matches nothing that is registered; did you mean `send`?",
  "postern.yaml:18: The tool `wpie` of the approval route `two` matches nothing that is registered; did you mean `wipe`?",
  "postern.yaml:19: The server `larg` of the approval route `routes[1]` matches nothing that is registered; did you mean `large`?",
  "The tool `sendmail` of the guardrail `personal-data` matches nothing that is registered.",
  "postern.yaml:28: `servers.large.tools.waitng` names no tool that the server lists, so it switches nothing off; did you mean `waiting`?",
];

describe("a name in the configuration that matches nothing", () => {
  it("is reported by `start`, with its place and the name that was meant", async () => {
    const made = postern(wrong);
    const { child, end } = made.open(["start", "--data", ".postern"]);
    let seen = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        seen += chunk.toString();
      });
    const output = (text: string) => expect.poll(() => seen, { timeout: 20_000 }).toContain(text);
    await output("Try next");
    await output("servers.large.tools.waitng"); // its server has connected
    child.kill("SIGTERM");
    const { out, err } = await end;
    const messages = err
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages.filter((message) => message.includes("match"))).toEqual(printed.slice(0, -1));
    expect(messages).toContain(printed.at(-1));
    expect(out).toMatch(/warning +[89] names in the configuration match nothing/);
  });

  it("is reported by `doctor`, `policy show` and `policy warnings`", async () => {
    const made = postern(wrong);
    const doctor = await made.run("doctor", "--json");
    const { findings } = JSON.parse(doctor.out) as { findings: { level: string; message: string; fix?: string }[] };
    for (const message of printed) expect(findings).toContainEqual(expect.objectContaining({ level: "warn", message }));
    expect(findings.find(({ message }) => message === printed[0])?.fix).toContain("`optional: true`");
    expect(doctor.out).not.toContain("tools.requests"); // it stands for the server's resources and prompts
    const shown = (await made.run("policy", "show")).out.replaceAll(/\s+/g, " ");
    for (const message of printed) expect(shown).toContain(message.replace(/^postern.yaml:\d+: /, "").slice(0, 60));
    const warned = await made.run("policy", "warnings", "--json");
    const { warnings } = JSON.parse(warned.out) as { warnings: { message: string }[] };
    expect([warned.code, warnings]).toEqual([
      1,
      expect.arrayContaining(
        printed.map((message) => expect.objectContaining({ message: message.replace(/^postern.yaml:\d+: /, "") })),
      ),
    ]);
  });

  it("is judged when its server connects", async () => {
    const made = postern(
      `policy:\n  rules: [{ effect: deny, tool: late__waitng }]\nservers:\n  late:\n    command: sh\n    args: [-c, "test -f ready && exec ${process.execPath} ${server}"]\n`,
    );
    const { child, end } = await made.start(".postern");
    let err = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      err += chunk.toString();
    });
    expect(err).not.toContain("matches no tool");
    writeFileSync(join(made.folder, "ready"), "");
    await expect.poll(() => err, { timeout: 20_000 }).toContain("did you mean `late__waiting`?");
    child.kill("SIGTERM");
    await end;
  });

  it("is no matter where everything matches", async () => {
    const made = postern(
      `policy:\n  rules: [{ effect: deny, tool: send }, { effect: deny, tool: large__waiting }]\nservers:\n  large:\n    command: ${process.execPath}\n    args: [${JSON.stringify(server)}]\n    tools: { waiting: { enabled: false } }\n`,
    );
    const { child, end } = await made.start(".postern");
    child.kill("SIGTERM");
    const { out, err } = await end;
    expect(`${out}${err}`).not.toMatch(/match(?:es)? (?:no tool|nothing)/);
  });
});
