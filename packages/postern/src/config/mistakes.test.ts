import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigFolder, problemsOf } from "../../../../test/fakes/config-folder.ts";
import { expectWork } from "../../../../test/fakes/in-time.ts";

const configs = new ConfigFolder();
afterAll(() => configs[Symbol.dispose]());

/** Keys of a server in another client's `mcp.json`, and the beginning of what to write. */
const otherClients = (
  [
    ["type: stdio", "Remove it: `command` means stdio"],
    ["disabled: true", "Write `enabled: false`"],
    ["timeout: 60", "Write `call_timeout_ms`, in milliseconds."],
    ["serverUrl: https://a.example", "Write `url`."],
    ["httpUrl: https://a.example", "Write `url`."],
    ["autoApprove: [a]", "Write `tools: { NAME: { risk: safe } }`"],
    ["alwaysAllow: [a]", "Write `tools: { NAME: { risk: safe } }`"],
    ["disabledTools: [a]", "Write `tools: { NAME: { enabled: false } }`"],
    ["excludeTools: [a]", "Write `tools: { NAME: { enabled: false } }`"],
    ["envFile: .env", "Write the variables under `env`"],
    ["transport: streamable-http", "Write `http` for Streamable HTTP"],
    ["transport: stdio", "With `command` there is none."],
  ] as const
).map(([line, said]) => [`another client's \`${line}\``, `servers:\n  files:\n    ${line}\n`, said] as const);

/** What is written, and what is said about it: file, line, column, key, value, fix. */
const mistakes: readonly (readonly [what: string, yaml: string, said: string])[] = [
  [
    "an unknown key",
    "version: 1\nlistn:\n  port: 1\n",
    "FILE:2:1 listn: `listn` is not a known key. Fix: Did you mean `listen`?",
  ],
  [
    "an unknown key inside",
    "listen:\n  prot: 1\n",
    "FILE:2:3 listen.prot: `prot` is not a known key. Fix: Did you mean `port`?",
  ],
  [
    "a key of an earlier version",
    "chains:\n  drivers: {}\n",
    "FILE:2:3 chains.drivers: `chains.drivers` has another name now. Fix: Write `chains.engine_settings`; its content stays the same.",
  ],
  [
    "a key without a near name",
    "log:\n  zzz: 1\n",
    "FILE:2:3 log.zzz: `zzz` is not a known key. Fix: Known here: level.",
  ],
  [
    "text for a number",
    'listen:\n  port: "7420"\n',
    'FILE:2:9 listen.port: `"7420"` is not a number. Fix: Write a number.',
  ],
  [
    "a span where seconds are wanted",
    "approvals:\n  ttl_seconds: 1h\n",
    'FILE:2:16 approvals.ttl_seconds: `"1h"` is not a number. Fix: Write seconds: 3600.',
  ],
  [
    "a span where milliseconds are wanted",
    "limits:\n  call_timeout_ms: 30s\n",
    'FILE:2:20 limits.call_timeout_ms: `"30s"` is not a number. Fix: Write milliseconds: 30000.',
  ],
  [
    "a port that is none",
    "listen:\n  port: 70000\n",
    "FILE:2:9 listen.port: `70000` is too big. Fix: Write at most 65535.",
  ],
  [
    "half a millisecond",
    "limits:\n  call_timeout_ms: 0.5\n",
    "FILE:2:20 limits.call_timeout_ms: `0.5` is not a whole number. Fix: Write a whole number.",
  ],
  [
    "an address with a port",
    "listen:\n  host: 0.0.0.0:80\n",
    'FILE:2:9 listen.host: `"0.0.0.0:80"`: Write an address of this machine without a port: `127.0.0.1` (only this machine)',
  ],
  [
    "a level that is none",
    "autonomy: a2\n",
    'FILE:1:11 autonomy: `"a2"` is not one of `A0`, `A1`, `A2`, `A3`, `A4`. Fix: Did you mean `A2`?',
  ],
  [
    "a level that is as near to one as to the other",
    "autonomy: A7\n",
    'FILE:1:11 autonomy: `"A7"` is not one of `A0`, `A1`, `A2`, `A3`, `A4`. Fix: Write one of them.',
  ],
  [
    "a program and its arguments in one list",
    "servers:\n  files:\n    command: [npx, -y, some-server]\n",
    "FILE:3:14 servers.files.command: A list is not text. Fix: Write the program alone, and what follows it under `args`: `command: npx` and `args: [-y, some-server]`.",
  ],
  [
    "a way to pin that is none",
    "servers:\n  files:\n    command: npx\n    pin: strikt\n",
    'FILE:4:10 servers.files.pin: `"strikt"` is not one of `first_seen`, `strict`. Fix: Did you mean `strict`?',
  ],
  [
    "an effect that is none, deep inside",
    "policy:\n  rules:\n    - effect: deny\n      tool: a\n    - tool: b\n      effect: alow\n",
    'FILE:6:15 policy.rules[1].effect: `"alow"` is not one of `allow`, `confirm`, `deny`. Fix: Did you mean `allow`?',
  ],
  [
    "a rule without effect",
    "policy:\n  rules:\n    - tool: b\n",
    "FILE:3:7 policy.rules[0].effect: It is missing. Fix: Add it: one of `allow`, `confirm`, `deny`.",
  ],
  [
    "a way of writing memories that is none",
    "memory:\n  enabled: true\n  write_mode: always\n",
    'FILE:3:15 memory.write_mode: `"always"` is not one of `disabled`, `candidate`, `external`. Fix: Write one of them.',
  ],
  [
    "a memory kept by a server that is not there",
    "servers:\n  notes: { command: node }\nmemory:\n  enabled: true\n  provider: { server: note }\n",
    'FILE:5:23 memory.provider.server: `"note"` is not one of `servers`. Fix: Name one that is there, or write `provider: embedded`.',
  ],
  [
    "a list for a mapping",
    "servers:\n  - command: node\n",
    "FILE:2:3 servers: A list is not a mapping (`name: …` lines). Fix: Write a mapping (`name: …` lines).",
  ],
  ["a number for text", "data: 12\n", "FILE:1:7 data: `12` is not text. Fix: Write text, in quotes."],
  [
    "a server's unknown key",
    "servers:\n  files:\n    comand: node\n",
    "FILE:3:5 servers.files.comand: `comand` is not a known key. Fix: Did you mean `command`?",
  ],
  [
    "another client's `mcpServers`",
    "mcpServers:\n  files:\n    command: node\n",
    "FILE:1:1 mcpServers: `mcpServers` is not a known key. Fix: Write `servers`, and under it each server by its name",
  ],
  ...otherClients,
  [
    "a server's name that cannot be part of a tool's",
    "servers:\n  my files:\n    command: node\n",
    'FILE:2:3 servers."my files": `my files` cannot be a name here. Fix: Use 1 to 32 letters, digits, - and single _ inside: it is part of its tools\' names.',
  ],
  [
    "a risk of a server's tool",
    "servers:\n  f:\n    command: x\n    tools:\n      t: { risk: hihg }\n",
    "Did you mean `high`?",
  ],
  [
    "a key that is given twice",
    "autonomy: A1\nlog: {}\nautonomy: A4\n",
    "FILE:3:1: The key `autonomy` is there twice. Fix: Keep one of the two; which one should win is not guessed.",
  ],
  ["a tab", "listen:\n\tport: 1\n", "FILE:2:1: The line is indented with a tab. Fix: Indent with spaces."],
  [
    "a tag",
    "data: !!js/function x\n",
    "FILE:1:7: `!!js/function` is a tag, and tags are not read. Fix: Write plain values",
  ],
  ["two documents", "version: 1\n---\nversion: 1\n", "Fix: Keep one document; remove the `---` between them."],
  ["the name that is no data", "log:\n  __proto__:\n    level: info\n", "FILE:2:3: `__proto__` cannot be a key."],
  ["a list as key", "? [a, b]\n: 1\n", "FILE:1:3: A list or a mapping cannot be a key."],
  ["an unclosed quote", 'data: "abc\n', "A quote is not closed. Fix: Close it"],
  ["an unclosed bracket", "servers: { a: { command: x }\n", "A `[` or `{` is not closed. Fix: Close it"],
  [
    "a pattern without quotes",
    "policy:\n  rules:\n    - { effect: deny, tool: *mail* }\n",
    'Put a pattern in quotes: `"*mail*"`',
  ],
  [
    "a star without quotes",
    "data: *\n",
    'FILE:1:7: A value that begins with `*` is the name of an anchor. Fix: Put a pattern in quotes: `"*"`.',
  ],
  ["two colons in a line", "data: a: b\n", "FILE:1:7: A value holds a second `: `, in its line"],
  [
    "a key that is not below its neighbours",
    "listen:\n  port: 1\n   host: ::1\n",
    "Else begin a new line, indented like its neighbours",
  ],
  ["a value that begins with @", "data: @x\n", "FILE:1:7: A value cannot begin with `@` without quotes."],
  ["a line that is indented too little", "listen:\n  port: 1\n host: ::1\n", "Fix: Give it as many spaces"],
  ["a line without a colon", "data\nautonomy: A1\n", "FILE:1:1: This line is neither `key: value` nor"],
  ["a backslash in double quotes", 'data: "C:\\q"\n', "`\\q` means nothing inside double quotes. Fix: Write `\\\\`"],
  ["an address that is none", "listen:\n  host: 300.1.1.1\n", "`: Write an address of this machine"],
  ["a host name with a path", "listen:\n  hosts: [a.example/x]\n", "`: Write it as clients do in `Host`"],
  ["a proxy by its name", "listen:\n  trusted_proxies: [proxy]\n", "`: Write an address or a network"],
  ["every address as a proxy", "listen:\n  trusted_proxies: [0.0.0.0/0]\n", "A name or `/0` is not one."],
  ["a threshold that lets critical calls pass", "policy:\n  max_risk_unapproved: critical\n", "FILE:1:1 policy:"],
];

describe("a mistake in a configuration names file, line, key and the fix", () => {
  it.each(mistakes)("%s", async (_, yaml, said) => {
    const lines = await problemsOf(configs.load(yaml));
    expect(lines.join("\n")).toContain(said);
    for (const line of lines) expect(line).toMatch(/^FILE:\d+:\d+.*: .* Fix: .+/);
  });
});

it("reports all mistakes at once", async () => {
  expect(await problemsOf(configs.load("autonomy: A9\nlisten:\n  port: x\nfoo: 1\n"))).toHaveLength(3);
});

it("refuses aliases that grow without bound, quickly", async () => {
  const levels = Array.from(
    { length: 9 },
    (_, i) => `  l${i + 1}: &l${i + 1} [${Array.from({ length: 10 }, () => `*l${i}`).join()}]`,
  );
  await expectWork(1_000, async () => {
    const lines = await problemsOf(configs.load(`servers:\n  l0: &l0 [x]\n${levels.join("\n")}\n`));
    expect(lines[0]).toContain("alias");
  });
});

it("refuses a file that is not UTF-8 text, or is too long", async () => {
  writeFileSync(join(configs.path, "latin.yaml"), Buffer.from([0x64, 0x3a, 0x20, 0xe4]));
  expect((await problemsOf(configs.named("latin.yaml")))[0]).toContain("UTF-8");
  expect((await problemsOf(configs.load(`# ${"x".repeat(1024 * 1024)}`)))[0]).toContain("at most");
  expect((await problemsOf(configs.load("data: a\0b")))[0]).toContain("NUL");
});
