/**
 * `node test/container/run.ts [ROOT]`, after `npm run release`: starts the file system of the container image read-only and as
 * uid 10001, behind a real Caddy with TLS, and calls a tool through it. podman runs it if it can here, else bubblewrap.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readAll } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { root } from "../../scripts/packages.ts";

const uid = 10_001;
const folder = mkdtempSync(join(tmpdir(), "postern-container-"));
chmodSync(folder, 0o755);
const [given] = process.argv.slice(2);
const image = given ?? join(folder, "root");
const started: ChildProcess[] = [];

const place = (name: string): string => join(folder, name);
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await holds().catch(() => false)) return;
    await pause(100);
  }
  throw new Error(`After a minute it is not so: ${what}.`);
}

function open(command: string, words: readonly string[], options: object = {}): ChildProcess {
  const child = spawn(command, words, { stdio: ["ignore", "inherit", "inherit"], ...options });
  started.push(child);
  return child;
}

interface Ports {
  readonly inner: number;
  readonly outer: number;
}

/** Secrets are links and readable by all, as Kubernetes mounts them. */
function prepare({ inner, outer }: Ports): void {
  for (const name of ["config", "secrets", "data"]) mkdirSync(place(name), { mode: 0o755 });
  chownSync(place("data"), uid, uid);
  chmodSync(place("data"), 0o700);
  mkdirSync(join(place("secrets"), "..data"), { mode: 0o755 });
  const token = execFileSync("openssl", ["rand", "-base64", "32"], { encoding: "utf8" });
  const text = token.trim().replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  writeFileSync(join(place("secrets"), "..data", "operator_token"), `${text}\n`, { mode: 0o644 });
  execFileSync("ln", ["-s", "..data/operator_token", join(place("secrets"), "operator_token")]);
  const listen = {
    host: "0.0.0.0",
    port: inner,
    public_url: `https://localhost:${outer}`,
    trusted_proxies: ["127.0.0.1"],
  };
  writeFileSync(join(place("config"), "postern.yaml"), JSON.stringify({ listen, tools: { modules: ["./tools.mts"] } }));
  writeFileSync(
    join(place("config"), "tools.mts"),
    `export const echo = { name: "echo", description: "Says it again.", risk: "safe", effects: "read", idempotent: true,
      inputSchema: { type: "object", properties: { text: { type: "string" } } }, execute: ({ text }) => text };
    export const slow = { ...echo, name: "slow", execute: async () => { await new Promise((go) => setTimeout(go, 2_000)); return "slept"; } };`,
  );
}

const environment = {
  ...{ HOME: "/tmp", PATH: "/usr/local/bin:/usr/bin", NODE_DISABLE_COMPILE_CACHE: "1", POSTERN_DATA: "/data" },
  ...{ POSTERN_CONFIG: "/etc/postern/postern.yaml", POSTERN_OPERATOR_TOKEN_FILE: "/run/secrets/operator_token" },
};
const command = ["/usr/bin/tini", "--", "node", "/app/node_modules/postern/bin/postern.js", "start"];

interface Container {
  readonly how: string;
  readonly child: ChildProcess;
  stop(): void;
}

function startContainer(): Container {
  const podman = spawnSync("podman", [
    "run",
    "--rm",
    "--network=host",
    "--rootfs",
    image,
    "/usr/bin/tini",
    "--version",
  ]);
  return podman.status === 0 ? underPodman() : underBubblewrap();
}

function underPodman(): Container {
  const name = `postern-${process.pid}`;
  const mounts = ["config:/etc/postern:ro", "secrets:/run/secrets:ro", "data:/data"].map(
    (one) => `--volume=${place(one)}`,
  );
  const set = Object.entries(environment).map(([key, value]) => `--env=${key}=${value}`);
  const limits = ["--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", `--user=${uid}`];
  const words = ["run", "--rm", `--name=${name}`, "--network=host", ...limits, ...mounts, ...set, "--rootfs", image];
  const child = open("podman", [...words, ...command]);
  return { how: "podman", child, stop: () => void spawnSync("podman", ["kill", "--signal=TERM", name]) };
}

function underBubblewrap(): Container {
  const mounts = [
    ...[
      "--ro-bind",
      image,
      "/",
      "--proc",
      "/proc",
      "--dev",
      "/dev",
      "--tmpfs",
      "/tmp",
      "--bind",
      place("data"),
      "/data",
    ],
    ...["--ro-bind", place("config"), "/etc/postern", "--ro-bind", place("secrets"), "/run/secrets"],
  ];
  const set = Object.entries(environment).flatMap(([key, value]) => ["--setenv", key, value]);
  const words = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--as-pid-1", "--die-with-parent", "--clearenv"];
  const options = { uid, gid: uid, stdio: ["ignore", "inherit", "inherit", "pipe"] };
  const child = open(
    "bwrap",
    [...words, "--info-fd", "3", "--chdir", "/etc/postern", ...set, ...mounts, ...command],
    options,
  );
  let info = "";
  child.stdio[3]?.on("data", (chunk: Buffer) => {
    info += chunk.toString();
  });
  return { how: "bubblewrap", child, stop: () => void process.kill(JSON.parse(info)["child-pid"], "SIGTERM") };
}

/** Its authority is not installed on this machine. */
function startCaddy({ inner, outer }: Ports): string {
  const file = place("Caddyfile");
  const global = "{\n\tskip_install_trust\n\tauto_https disable_redirects\n\tadmin off\n}\n";
  writeFileSync(file, `${global}import ${join(root, "deploy/Caddyfile")}\n`);
  const env = {
    ...{ PATH: process.env["PATH"], HOME: folder, XDG_DATA_HOME: place("caddy"), XDG_CONFIG_HOME: place("caddy") },
    ...{ POSTERN_NAME: `localhost:${outer}`, POSTERN_UPSTREAM: `127.0.0.1:${inner}` },
  };
  open("caddy", ["run", "--config", file, "--adapter", "caddyfile"], { env, stdio: "ignore" });
  return join(place("caddy"), "caddy/pki/authorities/local/root.crt");
}

/** Runs the packed command on this machine, against the container. */
function postern(ports: Ports, authority: string, ...words: readonly string[]): string {
  const at = ["--url", `https://localhost:${ports.outer}`, "--token-file", join(place("secrets"), "operator_token")];
  const bin = join(image, "app/node_modules/postern/bin/postern.js");
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    NODE_EXTRA_CA_CERTS: authority,
    NODE_DISABLE_COMPILE_CACHE: "1",
  };
  return execFileSync(process.execPath, [bin, ...words, ...at], { cwd: folder, env, encoding: "utf8" });
}

/** An agent of its own calls over MCP and TLS. */
async function overMcp({ outer }: Ports, authority: string, token: string): Promise<unknown> {
  const ca = readFileSync(authority);
  const ask = async (method: string, params: object, session: object = {}): Promise<readonly [unknown, object]> => {
    const headers = {
      ...{
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      ...session,
    };
    const sent = request(`https://localhost:${outer}/mcp`, { method: "POST", ca, headers });
    sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    const [answered]: IncomingMessage[] = (await once(sent, "response")) as IncomingMessage[];
    assert.ok(answered !== undefined);
    const { result } = JSON.parse(await readAll(answered));
    return [result, { "mcp-session-id": answered.headers["mcp-session-id"] }];
  };
  const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "container", version: "1" } };
  const [, session] = await ask("initialize", client);
  const [{ content }] = (await ask("tools/call", { name: "echo", arguments: { text: "over MCP" } }, session)) as [
    { readonly content: unknown },
    object,
  ];
  return { content };
}

async function check(): Promise<void> {
  if (given === undefined)
    execFileSync(process.execPath, [join(root, "scripts/container-root.ts"), image], { stdio: "inherit" });
  const ports = { inner: await freePort(), outer: await freePort() };
  prepare(ports);
  const container = startContainer();
  const ready = (): Promise<number> => fetch(`http://127.0.0.1:${ports.inner}/readyz`).then(({ status }) => status);
  await until("/readyz is 200", async () => (await ready()) === 200);
  const authority = startCaddy(ports);
  await until("Caddy has an authority", async () => existsSync(authority));
  await until("Caddy answers", async () => postern(ports, authority, "tools").includes("echo"));

  assert.equal(postern(ports, authority, "call", "echo", "text=far"), "far\n");
  const { token } = JSON.parse(postern(ports, authority, "tokens", "create", "ada", "--json"));
  const answer = await overMcp(ports, authority, token);
  assert.deepEqual(answer, { content: [{ type: "text", text: "over MCP" }] });
  const seen = postern(ports, authority, "calls", "list", "--json");
  assert.equal(JSON.parse(seen).calls[0].tool, "echo");
  assert.equal(statSync(place("data")), uid);
  assert.ok(readdirSync(place("data")).includes("postern.db"));
  assert.ok(!readdirSync(place("data")).includes("operator.token"), "the token came from the mount");

  const text = readFileSync(join(place("secrets"), "operator_token"), "utf8").trim();
  const running = fetch(`http://127.0.0.1:${ports.inner}/v1/calls`, {
    method: "POST",
    headers: { authorization: `Bearer ${text}`, "content-type": "application/json" },
    body: JSON.stringify({ tool: "slow" }),
  });
  await until("the call runs", async () =>
    postern(ports, authority, "calls", "list", "--state", "attempted", "--json").includes("slow"),
  );
  const ended = once(container.child, "exit");
  container.stop();
  await until("/readyz is 503", async () => (await ready()) === 503);
  assert.equal(((await (await running).json()) as { text: string }).text, "slept");
  assert.deepEqual(await ended, [0, null]);
  process.stdout.write(`The container works under ${container.how}.\n`);
}

function statSync(path: string): number {
  return Number(execFileSync("stat", ["--format=%u", path], { encoding: "utf8" }));
}

try {
  await check();
} finally {
  for (const child of started) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
