/** A runtime whose tools are the operations of an OpenAPI document. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  type ServerConfig,
  type ToolOutcome,
} from "../../packages/postern/src/index.ts";
import type { ApiServer } from "./api-server.ts";
import { ownFolder } from "./own-folder.ts";
import { asker } from "./runtime-fixture.ts";

export const documents = join(import.meta.dirname, "openapi");
export const shop = join(documents, "shop.yaml");
export const pets = join(documents, "pets.json");
export const values: Readonly<Record<string, string>> = {
  "shop/token": "t0ken-of-the-shop",
  "shop/key": "key-in-the-query",
  "pets/login": "ann:pass-of-ann-1",
  "pets/key": "key-in-the-header",
};
export const secrets: NonNullable<RuntimeOptions["secrets"]> = {
  get: async (connector, key) => ({ reveal: () => values[`${connector}/${key}`] ?? "" }),
};

export async function runtimeWith(config: ServerConfig, options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
  const runtime = await createRuntime({
    servers: { api: { risk: "medium", allowPrivate: true, ...config } },
    ...{ policy: { maxRiskUnapproved: "high" }, secrets, ...options },
  });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

export const shopAuth = { token: "secret://shop/token", key: "secret://shop/key" };

export async function shopAt(server: ApiServer, config: Partial<ServerConfig> = {}): Promise<Runtime> {
  return runtimeWith({ openapi: shop, baseUrl: `${server.origin}/v1`, auth: shopAuth, ...config });
}

export function call(runtime: Runtime, tool: string, given: object = {}): Promise<ToolOutcome> {
  return runtime.invoke({ tool: `api__${tool}`, arguments: given as never }, asker);
}

/** A document with these paths, in a file of its own. */
export function written(paths: object, more: object = {}): string {
  const file = join(ownFolder(), "document.json");
  const info = { title: "Own", version: "1" };
  writeFileSync(
    file,
    JSON.stringify({ openapi: "3.1.0", info, servers: [{ url: "https://api.invalid" }], paths, ...more }),
  );
  return file;
}

export const problemOf = (runtime: Runtime): string => runtime.health().servers[0]?.problem ?? "";
export const refusedBy = (runtime: Runtime): readonly string[] =>
  runtime.health().servers[0]?.refused.map(({ tool, why }) => `${tool}: ${why}`) ?? [];
