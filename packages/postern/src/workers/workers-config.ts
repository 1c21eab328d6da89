/** The `workers` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */
import { resolve } from "node:path";
import type { CamelCased } from "@postern/core";
import { z } from "zod";
import type { NatsSettings } from "./nats.ts";
import type { WorkersOptions } from "./options.ts";
import { publicKeyPattern } from "./worker-key.ts";

const path = z.string().min(1);
const reference = z
  .string()
  .regex(
    /^secret:\/\/[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/,
    "Write `secret://connector/key`; `postern secrets set` keeps the value.",
  );
const publicKey = z.string().regex(publicKeyPattern, "Write the 43 characters that `postern workers key` prints.");
export const groupName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "Use 1 to 32 of a-z 0-9 -: it is part of a subject.");
const patterns = z.array(z.string().min(1)).min(1);

const nats = z
  .strictObject({
    url: z
      .string()
      .regex(/^(?:nats|tls):\/\/[^\s/@]+$/, "Write `nats://HOST:PORT`, or `tls://HOST:PORT`, without a password in it.")
      .describe("Where NATS with JetStream listens: `nats://HOST:PORT`, or `tls://HOST:PORT`."),
    credentials_file: path.exactOptional().describe("A file of `nsc`, relative to this file."),
    user: z.string().min(1).exactOptional(),
    password: reference.exactOptional().describe("`secret://connector/key`."),
    token: reference.exactOptional().describe("`secret://connector/key`."),
    ca_file: path.exactOptional().describe("Certificates to trust instead of those of the system."),
    cert_file: path.exactOptional().describe("Of this client, with `key_file`."),
    key_file: path.exactOptional(),
  })
  .refine(
    ({ user, password }) => (user === undefined) === (password === undefined),
    "`user` and `password` go together: give both or none.",
  )
  .refine(
    ({ cert_file: cert, key_file: key }) => (cert === undefined) === (key === undefined),
    "`cert_file` and `key_file` go together: give both or none.",
  );

const group = z
  .strictObject({
    tools: patterns.exactOptional().describe("Tools that run there: names, or patterns with `*`."),
    permissions: patterns
      .exactOptional()
      .describe("Tools that need one of these permissions run there; `*` is any text."),
    workers: z.array(z.string()).min(1).describe("Names of `keys`: the workers of the group."),
  })
  .refine(
    ({ tools, permissions }) => tools !== undefined || permissions !== undefined,
    "Give `tools` or `permissions`, or both.",
  );

export const workersSchema = z.strictObject({
  nats,
  keys: z
    .record(z.string().min(1).max(64), publicKey)
    .describe("Public keys by name: at a gateway those of its workers, at a worker those of its gateways."),
  groups: z.record(groupName, group).exactOptional().describe("Of a gateway: which tools run on which workers."),
  gateway_url: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe("Of a gateway: where workers read artifacts. Default: as people reach it, else this machine."),
  lease_ms: z
    .int()
    .min(3_000)
    .max(600_000)
    .exactOptional()
    .describe("Of a gateway: a call whose worker is silent for so long is unknown. Default: 10000."),
  max_waiting: z
    .int()
    .min(0)
    .max(100_000)
    .exactOptional()
    .describe("Of a gateway: calls that wait for a free worker, a group. Default: 256."),
  max_running: z.int().min(1).max(10_000).exactOptional().describe("Of a worker: orders it runs at once. Default: 16."),
});

export type WorkersSection = CamelCased<z.output<typeof workersSchema>>;

/** @param base the folder that relative paths are relative to */
export function workerSettingsFrom(
  given: WorkersSection,
  base: string,
): Omit<WorkersOptions, "url"> & { readonly maxRunning: number; readonly gatewayUrl: string | undefined } {
  const { keys, groups = {}, gatewayUrl, leaseMs = 10_000, maxWaiting = 256, maxRunning = 16 } = given;
  return { nats: natsFrom(given.nats, base), keys, groups, gatewayUrl, leaseMs, maxWaiting, maxRunning };
}

function natsFrom(given: WorkersSection["nats"], base: string): NatsSettings {
  const files = ["credentialsFile", "caFile", "certFile", "keyFile"] as const;
  const placed = files.flatMap((name) => {
    const file = given[name];
    return file === undefined ? [] : [[name, resolve(base, file)] as const];
  });
  return { ...given, ...Object.fromEntries(placed) };
}
