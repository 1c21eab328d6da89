/** Caddy and nginx with the files of deploy/ in front of gateways, without TLS. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ownFolder } from "./own-folder.ts";

const deploy = join(import.meta.dirname, "../../deploy");

export const balancers = ["caddy", "nginx"] as const;
export type BalancerName = (typeof balancers)[number];

export interface Balancer extends AsyncDisposable {
  readonly url: string;
}

export function isInstalled(name: BalancerName): boolean {
  return spawnSync(name, ["-v"]).error === undefined;
}

interface BalancerOptions {
  /** Where it listens. Gateways allow the name by `listen.hosts`. */
  readonly port: number;
  readonly gateways: readonly { readonly port: number }[];
}

export async function startBalancer(name: BalancerName, options: BalancerOptions): Promise<Balancer> {
  const folder = ownFolder();
  const { words, env } = name === "caddy" ? caddy(folder, options) : nginx(folder, options);
  const child = spawn(name, words, { env: { ...process.env, HOME: folder, ...env }, stdio: "ignore" });
  const ended = once(child, "exit");
  const url = `http://127.0.0.1:${options.port}`;
  await expect.poll(() => fetch(`${url}/readyz`).then(({ status }) => status, String), { timeout: 20_000 }).toBe(200);
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

interface BalancerCommand {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function caddy(folder: string, { port, gateways }: BalancerOptions): BalancerCommand {
  const file = join(folder, "Caddyfile");
  writeFileSync(file, `{\n\tadmin off\n}\nimport ${join(deploy, "Caddyfile")}\n`);
  return {
    words: ["run", "--config", file, "--adapter", "caddyfile"],
    env: {
      ...{ XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, POSTERN_NAME: `http://127.0.0.1:${port}` },
      POSTERN_UPSTREAM: gateways.map((gateway) => `127.0.0.1:${gateway.port}`).join(" "),
    },
  };
}

function nginx(folder: string, { port, gateways }: BalancerOptions): BalancerCommand {
  const servers = gateways.map((gateway) => `server 127.0.0.1:${gateway.port};`).join(" ");
  const site = readFileSync(join(deploy, "nginx.conf"), "utf8")
    .replaceAll("server 127.0.0.1:7420;", servers)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^\s*ssl_.*$/gm, "");
  writeFileSync(join(folder, "site.conf"), site);
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(" ");
  const file = join(folder, "nginx.conf");
  const http = `http { access_log off; ${temporary} include ${folder}/site.conf; }`;
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/log;\nevents { worker_connections 4096; }\n${http}\n`,
  );
  return { words: ["-c", file], env: {} };
}
