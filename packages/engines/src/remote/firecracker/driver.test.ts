import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { driven } from "../../../../core/src/testing/driven.ts";
import { guestLoader } from "../guest.ts";
import { FirecrackerDriver, type FirecrackerOptions } from "./driver.ts";
import { jailCommand } from "./machine.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-fc-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const guest = `guest = spawn("/bin/sh", ["-c", ${JSON.stringify(`exec ${guestLoader}`)}], { env: { PATH: "/usr/bin:/bin" }, stdio: ["pipe", "pipe", "ignore"] });
    guest.stdin.on("error", () => {});
    socket.pipe(guest.stdin);
    guest.stdout.pipe(socket);
    guest.on("exit", () => socket.end());`;

interface Fake {
  /** What is done with a request to the API. */
  readonly api?: string;
  /** What is done with a connection that has said its line. */
  readonly vsock?: string;
  readonly first?: string;
}

let fakes = 0;

/** A jailer and Firecracker in one: it speaks the API and the vsock handshake, and its guest is a plain Python. */
function fake({
  api = "answer.writeHead(204).end()",
  vsock = `socket.write("OK 1073741824\\n"); ${guest}`,
  first = "",
}: Fake): string {
  fakes += 1;
  const path = join(folder, `jailer-${fakes}`);
  const source = `#!${process.execPath}
import { createServer } from "node:http";
import * as net from "node:net";
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { basename } from "node:path";
const words = process.argv.slice(2);
const word = (name) => words[words.indexOf(name) + 1];
const root = word("--chroot-base-dir") + "/" + basename(word("--exec-file")) + "/" + word("--id") + "/root";
let guest, connections = 0;
${first}
createServer((request, answer) => {
  let body = "";
  request.on("data", (chunk) => { body += chunk; }).on("end", () => {
    appendFileSync(${JSON.stringify(join(folder, "asked"))}, request.method + " " + request.url + " " + body + "\\n");
    ${api};
  });
}).listen(root + "/api.socket");
net.createServer((socket) => {
  connections++;
  socket.on("error", () => {});
  socket.once("data", (line) => {
    if (line.toString() !== "CONNECT 5000\\n") return socket.destroy();
    ${vsock}
  });
}).listen(root + "/vsock.socket");
`;
  writeFileSync(path, source);
  chmodSync(path, 0o755);
  return path;
}

function options(how: Fake = {}, more: Partial<FirecrackerOptions> = {}): FirecrackerOptions {
  for (const file of ["kernel", "image", "kvm", "firecracker"]) writeFileSync(join(folder, file), "");
  return {
    firecracker: join(folder, "firecracker"),
    jailer: fake(how),
    kernel: join(folder, "kernel"),
    image: join(folder, "image"),
    kvm: join(folder, "kvm"),
    chrootBase: join(folder, "jails"),
    ...{ uid: 1000, gid: 1000, warm: 0, startMs: 5_000 },
    ...more,
  };
}

const jails = (): readonly string[] => readdirSync(join(folder, "jails", "firecracker"));
const limits = { cpuMs: 1_000, memoryBytes: 128 * 1024 * 1024, outputBytes: 100_000, wallMs: 6_000 };
const canRun = process.getuid?.() === 0 && existsSync("/usr/bin/python3") && existsSync("/usr/bin/unshare");
if (!canRun) process.stderr.write("NOT TESTED: a fake Firecracker needs root, python3 and unshare\n");

describe.skipIf(!canRun)("a Firecracker machine, by its protocol", { timeout: 60_000 }, () => {
  it("runs a script over its vsock, with no network card and no disk", async () => {
    await using driver = new FirecrackerDriver(options());
    const source = 'a = tools.echo(to="x")\nb = tools.echo(to=a.text + "y")\nb.text';
    expect(await driven(driver, source, limits)).toMatchObject({ step: "done", value: "xy" });
    const asked = readFileSync(join(folder, "asked"), "utf8").trim().split("\n");
    expect(asked.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "PUT /machine-config",
      "PUT /boot-source",
      "PUT /vsock",
      "PUT /actions",
    ]);
    expect(asked[0]).toContain('"mem_size_mib":384');
    expect(asked[1]).toContain('"initrd_path":"/image"');
    expect(asked.join()).not.toMatch(/network-interfaces|drives/);
  });

  it("runs in an empty network namespace", async () => {
    await using driver = new FirecrackerDriver(options());
    const source = `names = [line.split(":")[0].strip() for line in open("/proc/self/net/dev") if ":" in line]
[name for name in names if name != "lo" and not name.startswith(("tun", "sit", "ip", "gre", "erspan"))]`;
    expect(await driven(driver, source, limits)).toMatchObject({ step: "done", value: [] });
  });

  it("waits for a guest that boots slowly", async () => {
    const vsock = `if (connections < 4) return socket.destroy(); socket.write("OK 1"); setTimeout(() => { socket.write("\\n"); ${guest} }, 30)`;
    await using driver = new FirecrackerDriver(options({ vsock }));
    expect(await driven(driver, "1 + 1", limits)).toMatchObject({ value: 2 });
  });

  it("ends an endless script and removes its jail", async () => {
    await using driver = new FirecrackerDriver(options());
    expect(await driven(driver, "while True: pass", limits)).toMatchObject({ step: "failed", why: "cpu" });
    const sleeper = "import time\ntime.sleep(100)";
    expect(await driven(driver, sleeper, { ...limits, wallMs: 500 })).toMatchObject({ step: "failed", why: "wall" });
    await driver[Symbol.asyncDispose]();
    expect(jails()).toEqual([]);
  });

  it("reports a machine that dies as a crash", async () => {
    const vsock = `socket.write("OK 1\\n"); ${guest} setTimeout(() => process.kill(process.pid, "SIGKILL"), 3_000);`;
    await using driver = new FirecrackerDriver(options({ vsock }));
    const end = await driven(driver, "import time\ntime.sleep(100)", { ...limits, wallMs: 30_000 });
    expect(end).toMatchObject({ step: "failed", why: "crash" });
  });

  it.each<[string, Fake, RegExp]>([
    [
      "refuses its configuration",
      { api: `answer.writeHead(400).end('{"fault_message":"bad kernel"}')` },
      /refused \/machine-config \(400\): .*bad kernel/,
    ],
    ["breaks its API's protocol", { api: 'request.socket.end("nonsense")' }, /did not start/],
    ["ends at once", { first: 'console.error("no cgroups"); process.exit(1)' }, /ended while it started.*no cgroups/],
    [
      "never opens its API",
      { first: "await new Promise(() => setInterval(() => {}, 1000))" },
      /not there within 1500 ms: no API socket/,
    ],
    ["greets with nonsense", { vsock: 'socket.write("HELLO\\n")' }, /greeting/],
    ["greets without end", { vsock: 'socket.write("O".repeat(5000))' }, /greeting/],
    ["hangs up in front of its guest", { vsock: "socket.destroy()" }, /does not listen/],
    ["has a guest that says nothing", { vsock: 'socket.write("OK 1\\n")' }, /not ready within 1500 ms/],
    ["hangs up on the program", { vsock: 'socket.end("OK 1\\n")' }, /closed/],
    ["says no frame of ours", { vsock: 'socket.write("OK 1\\nHTTP/1.1 200 OK")' }, /larger than/],
    [
      "says something first",
      { vsock: 'socket.write(Buffer.concat([Buffer.from("OK 1\\n"), Buffer.of(0, 0, 0, 2), Buffer.from("{}")]))' },
      /token/,
    ],
  ])("one that %s gives no sandbox, and leaves nothing", async (_, how, why) => {
    await using driver = new FirecrackerDriver(options(how, { startMs: 1_500 }));
    await expect(driven(driver, "1", limits)).rejects.toThrow(why);
    await driver[Symbol.asyncDispose]();
    expect(jails()).toEqual([]);
  });

  it("asks again when the socket does not listen yet", async () => {
    const bound = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])";
    const first = `const { execFileSync } = await import("node:child_process"), { unlinkSync } = await import("node:fs");
execFileSync("/usr/bin/python3", ["-c", ${JSON.stringify(bound)}, root + "/api.socket"]);
await new Promise((resolve) => setTimeout(resolve, 300));
unlinkSync(root + "/api.socket");`;
    await using driver = new FirecrackerDriver(options({ first }, { startMs: 15_000 }));
    expect(await driven(driver, "1 + 1", limits)).toMatchObject({ value: 2 });
  });

  it("ends a warm machine with the driver", async () => {
    await using driver = new FirecrackerDriver(options({}, { warm: 1 }));
    expect(await driven(driver, "1 + 1", limits)).toMatchObject({ value: 2 });
    await expect.poll(jails).not.toEqual([]);
    await driver[Symbol.asyncDispose]();
    expect(jails()).toEqual([]);
  });

  it("removes jails of a dead Postern, not of a living one", async () => {
    const dead = join(folder, "jails", "firecracker", "postern-4194303-00000000");
    const living = join(folder, "jails", "firecracker", `postern-${process.ppid}-00000000`);
    for (const path of [dead, living]) mkdirSync(join(path, "root"), { recursive: true });
    await using driver = new FirecrackerDriver(options());
    expect(await driven(driver, "1", limits)).toMatchObject({ value: 1 });
    expect([existsSync(dead), existsSync(living)]).toEqual([false, true]);
    rmSync(living, { recursive: true });
  });
});

it.runIf(process.getuid?.() === 0 && process.platform === "linux")(
  "refuses to run where it cannot isolate",
  async () => {
    const why = (more: Partial<FirecrackerOptions>): Promise<string | undefined> =>
      new FirecrackerDriver(options({}, more)).unavailable();
    expect(await why({})).toBeUndefined();
    expect(await why({ kvm: join(folder, "no-kvm") })).toContain("no-kvm");
    expect(await why({ uid: 0 })).toContain("not run as root");
    expect(await why({ unshare: join(folder, "no-unshare") })).toContain("no-unshare");
    expect(await why({ firecracker: join(folder, "kernel") })).toContain("must hold `firecracker`");
    expect(await why({ chrootBase: join(folder, "x".repeat(100)) })).toContain("too long");
    expect(await why({ kernel: "kernel" })).toContain("`kernel` is not there");
  },
);

it("passes user, folder and limits to the jailer", () => {
  const settings = { ...options(), cpus: 2, unshare: "/usr/bin/unshare" } as const;
  const words = jailCommand({ ...settings, groups: 2 }, { id: "postern-1", memoryMebibytes: 128 });
  expect(words.slice(0, 10)).toEqual([
    ...["--net", "--", settings.jailer],
    ...["--id", "postern-1", "--exec-file", join(folder, "firecracker"), "--uid", "1000", "--gid"],
  ]);
  expect(words.filter((_, at) => words[at - 1] === "--cgroup")).toEqual([
    ...["memory.max=201326592", "pids.max=32", "cpu.max=200000 100000"],
  ]);
  const first = jailCommand({ ...settings, groups: 1 }, { id: "postern-1", memoryMebibytes: 128 });
  expect(first).toContain("memory.limit_in_bytes=201326592");
  expect(first).toContain("cpu.cfs_quota_us=200000");
  expect(words).not.toContain("--netns");
});
