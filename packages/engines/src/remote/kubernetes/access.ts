/** The address of a cluster and the credentials: from a kubeconfig, from the pod this process runs in, or from options. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isJsonObject, type Json, type JsonObject, RuntimeFault } from "@postern/core";
import { parse } from "yaml";

export interface AccessOptions {
  /** The path of a kubeconfig. `exec` and `auth-provider` are refused, because they run programs. */
  readonly kubeconfig?: string;
  /** The context of the kubeconfig. Default: its `current-context`. */
  readonly context?: string;
  /** `https://…:6443`, without a kubeconfig. Without both: the cluster this process runs in. */
  readonly server?: string;
  readonly token?: string | (() => Promise<string>);
  /** Read again for every request, because clusters replace it. */
  readonly tokenFile?: string;
  /** The cluster's certificate authority: a file. */
  readonly authority?: string;
}

export interface Access {
  readonly server: URL;
  readonly tls: { readonly ca?: Buffer | string; readonly cert?: Buffer | string; readonly key?: Buffer | string };
  token(): Promise<string | undefined>;
}

const inCluster = "/var/run/secrets/kubernetes.io/serviceaccount";
const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** @throws RuntimeFault `config_invalid` */
export async function openAccess(options: AccessOptions): Promise<Access> {
  if (options.kubeconfig !== undefined) return fromKubeconfig(options.kubeconfig, options.context);
  if (options.server !== undefined) {
    const { server, token, tokenFile, authority } = options;
    return {
      server: serverOf(server),
      tls: authority === undefined ? {} : { ca: await readFile(authority) },
      token: async () => (tokenFile === undefined ? (typeof token === "function" ? token() : token) : read(tokenFile)),
    };
  }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = process.env;
  if (host === undefined || !existsSync(`${inCluster}/token`))
    throw invalid("No cluster is named, and this process runs in none; give `kubeconfig`, or `server` and a token.");
  return {
    server: serverOf(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    tls: { ca: await readFile(`${inCluster}/ca.crt`) },
    token: () => read(`${inCluster}/token`),
  };
}

async function fromKubeconfig(path: string, wanted: string | undefined): Promise<Access> {
  const config: unknown = parse(await readFile(path, "utf8"));
  if (!isJsonObject(config)) throw invalid(`\`${path}\` is no kubeconfig.`);
  const name = wanted ?? config["current-context"];
  if (typeof name !== "string") throw invalid(`\`${path}\` has no \`current-context\`; name a \`context\`.`);
  const context = named(config, "context", name);
  const cluster = named(config, "cluster", textIn(context, "cluster") ?? "");
  const user = named(config, "user", textIn(context, "user") ?? "");
  if (cluster["insecure-skip-tls-verify"] === true)
    throw invalid("A cluster whose certificate is not checked is not used; take out `insecure-skip-tls-verify`.");
  for (const way of ["exec", "auth-provider", "username"])
    if (user[way] !== undefined)
      throw invalid(`The user of \`${name}\` signs in by \`${way}\`; use a token or a client certificate instead.`);
  const [ca, cert, key] = await Promise.all([
    pemOf(cluster, "certificate-authority", path),
    pemOf(user, "client-certificate", path),
    pemOf(user, "client-key", path),
  ]);
  const tokenFile = textIn(user, "tokenFile");
  return {
    server: serverOf(textIn(cluster, "server") ?? ""),
    tls: { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) },
    token: async () => (tokenFile === undefined ? textIn(user, "token") : read(resolve(dirname(path), tokenFile))),
  };
}

function named(config: JsonObject, field: "context" | "cluster" | "user", name: string): JsonObject {
  const list = `${field}s`;
  const entries: Json | undefined = config[list];
  const all: readonly Json[] = Array.isArray(entries) ? entries : [];
  const found = all.find((entry) => isJsonObject(entry) && entry["name"] === name);
  const inner = isJsonObject(found) ? found[field] : undefined;
  if (!isJsonObject(inner)) throw invalid(`The kubeconfig has no \`${name}\` among its \`${list}\`.`);
  return inner;
}

/** The data is in the kubeconfig or in a file that it names. */
async function pemOf(entry: JsonObject, name: string, kubeconfig: string): Promise<Buffer | undefined> {
  const data = textIn(entry, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, "base64");
  const path = textIn(entry, name);
  return path === undefined ? undefined : readFile(resolve(dirname(kubeconfig), path));
}

function textIn(entry: JsonObject, name: string): string | undefined {
  const value = entry[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Without TLS a token is sent to this machine only. */
function serverOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" || (url?.protocol === "http:" && loopback.has(url.hostname))) return url;
  throw invalid(`\`${text}\` is not the address of a cluster; it must begin with \`https://\`.`);
}

async function read(path: string): Promise<string> {
  return (await readFile(path, "utf8")).trim();
}

function invalid(message: string): RuntimeFault {
  return new RuntimeFault("config_invalid", message);
}
