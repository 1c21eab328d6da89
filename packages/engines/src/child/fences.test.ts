import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { SandboxProcess } from "./child-process.ts";
import { closeIn, fencesHere, packagePlaces, permissionFlags } from "./fences.ts";

const children: SandboxProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill();
    await child.gone;
  }
});

/** An engine that has been broken out of: it runs what it likes with all that Node gives its process. */
async function brokenOut(attempt: string, fenced = true): Promise<unknown> {
  const program = `const { readSync, writeSync } = require("node:fs");
const net = require("node:net"), dgram = require("node:dgram");
let token;
const read = () => { const h = Buffer.alloc(4); if (readSync(0, h, 0, 4) === 0) process.exit(0); const b = Buffer.alloc(h.readUInt32BE(0)); let have = 0; while (have < b.length) have += readSync(0, b, have, b.length - have); return JSON.parse(b) };
const say = (frame) => { const b = Buffer.from(JSON.stringify({ token, ...frame })); const h = Buffer.alloc(4); h.writeUInt32BE(b.length); writeSync(1, Buffer.concat([h, b])) };
token = read().token;
if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534) }
say({ ready: true });
read();
const tried = (work) => { try { return work() } catch (error) { return error.code ?? error.message } };
(async () => { say({ got: await (async () => { ${attempt} })().catch((error) => error.code ?? error.message) }) })();`;
  const child = await SandboxProcess.start({
    command: process.execPath,
    args: [...(fenced ? permissionFlags(["/nonexistent"]) : ["--no-warnings"]), "-e", program],
    frames: { maxBytes: 100_000, maxDepth: 50 },
    closed: fenced,
  });
  children.push(child);
  child.send({ do: "try" });
  const answer = await child.receive();
  return answer.kind === "frame" ? answer.frame["got"] : answer;
}

const hasLimits = fencesHere().includes("limits");

it.each([
  [
    "a file",
    'return tried(() => require("node:fs").readFileSync("/etc/passwd", "latin1").length)',
    "ERR_ACCESS_DENIED",
  ],
  ["writing", 'return tried(() => require("node:fs").writeFileSync("/tmp/postern-out", "x"))', "ERR_ACCESS_DENIED"],
  ["a process", 'return tried(() => require("node:child_process").execSync("id").toString())', "ERR_ACCESS_DENIED"],
  [
    "a worker",
    'return tried(() => new (require("node:worker_threads").Worker)("1", { eval: true }))',
    "ERR_ACCESS_DENIED",
  ],
  ["an add-on", 'return tried(() => process.dlopen({ exports: {} }, "/x.node"))', "ERR_DLOPEN_DISABLED"],
  [
    "eval",
    'return tried(() => new Function("return 1")())',
    "Code generation from strings disallowed for this context",
  ],
  ["its environment", "return Object.keys(process.env).length", 0],
])("an engine that is broken out of has not %s", async (_, attempt, expected) => {
  expect(await brokenOut(attempt)).toBe(expected);
});

it.runIf(hasLimits)("opens no connection from a broken engine: no TCP, UDP or name lookup", async () => {
  const server = createServer((socket) => socket.end("hello"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const attempt = `const connected = await new Promise((resolve) => { const s = net.connect(${port}, "127.0.0.1", () => resolve("connected")); s.on("error", (error) => resolve(error.code)) });
    const sent = await new Promise((resolve) => { try { const s = dgram.createSocket("udp4"); s.on("error", (error) => resolve(error.code)); s.send("x", ${port}, "127.0.0.1", (error) => resolve(error?.code ?? "sent")) } catch (error) { resolve(error.code) } });
    return [connected, sent]`;
  try {
    expect(await brokenOut(attempt, false)).toEqual(["connected", "sent"]); // without the fence there is a network
    expect(await brokenOut(attempt)).toEqual([expect.stringMatching(/^E/), expect.stringMatching(/^E/)]);
  } finally {
    server.close();
  }
});

it.runIf(process.getuid?.() === 0)("runs a sandbox of root as user nobody", async () => {
  expect(
    await brokenOut("return [process.getuid(), process.getgid(), process.getgroups(), tried(() => process.setuid(0))]"),
  ).toEqual([65_534, 65_534, expect.not.arrayContaining([0]), "EPERM"]);
});

const setpriv = "/usr/bin/setpriv";

it.runIf(hasLimits && process.getuid?.() === 0 && existsSync(setpriv))(
  "a root that may limit only its own closes in what has become nobody's",
  async () => {
    const nobodys = spawn("sleep", ["60"], { uid: 65_534, gid: 65_534 });
    try {
      const source = `import { closeIn } from "${new URL("./fences.ts", import.meta.url).href}";
        console.log(await closeIn(${nobodys.pid}, { cpuSeconds: 7 }));`;
      const without = ["--bounding-set=-sys_resource", "--inh-caps=-sys_resource", process.execPath];
      const host = spawnSync(setpriv, [...without, "--input-type=module", "-e", source], { encoding: "utf8" });
      expect([host.stdout, host.stderr]).toEqual(["undefined\n", ""]);
      expect(readFileSync(`/proc/${nobodys.pid}/limits`, "latin1")).toMatch(/^Max cpu time +7 +7 /m);
    } finally {
      nobodys.kill("SIGKILL");
    }
  },
);

it.runIf(hasLimits)("reports that a process is gone when it limits it", async () => {
  expect(await closeIn(2 ** 22 - 1, { cpuSeconds: 1 })).toMatch(/no such|No such/);
});

it("allows a program to look up only its own package", () => {
  const folder = mkdtempSync(join(tmpdir(), "postern-places-"));
  try {
    mkdirSync(join(folder, "packages"));
    mkdirSync(join(folder, "project"));
    symlinkSync(join(folder, "packages"), join(folder, "project", "node_modules"));
    const places = packagePlaces(join(folder, "project", "program.js"), "engine");
    expect(places.slice(0, 3)).toEqual([
      join(folder, "project", "node_modules"), // the link itself: it is asked for before it is followed
      join(folder, "project", "node_modules", "engine*"),
      join(folder, "node_modules", "engine*"),
    ]);
    expect(places).toContain("/node_modules/engine*");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
