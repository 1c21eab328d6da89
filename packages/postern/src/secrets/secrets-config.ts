/** The `secrets` section of a configuration file (snake_case) and what it becomes. Only packages/postern/src/config imports this. */
import { join, resolve } from "node:path";
import type { CamelCased } from "@postern/core";
import { z } from "zod";
import { backendNames, type SecretSettings } from "./open-secrets.ts";
import { patternModes } from "./secret-store.ts";

const backend = z.enum(backendNames);
const path = z.string().min(1);

export const secretsSchema = z
  .strictObject({
    backend: z
      .union([backend, z.array(backend).min(1).max(backendNames.length)])
      .exactOptional()
      .describe(
        "Where `secret://connector/key` comes from: the first of these that has it. Default: [sealed, environment].",
      ),
    file: path
      .exactOptional()
      .describe("Of `sealed`: the file `postern secrets set` writes. Default: secrets.age in the data folder."),
    key_file: path
      .exactOptional()
      .describe("Of `sealed`: its key, mode 0600; secrets.key in the data folder. POSTERN_SECRETS_KEY goes before it."),
    command: z
      .array(z.string())
      .min(2)
      .exactOptional()
      .describe("Of `command`: program and arguments, with {connector} and {key} in them. No shell."),
    timeout_ms: z.int().min(1).max(300_000).exactOptional().describe("Of `command`. Default: 10000."),
    patterns: z
      .enum(patternModes)
      .exactOptional()
      .describe(
        "What merely looks like a secret in a result: `mark` records it (default), `mask` also masks it, `off` ignores it.",
      ),
  })
  .refine(
    ({ backend: given = [], command }) => (command !== undefined) === [given].flat().includes("command"),
    "`command` and `backend: command` go together: give both or none.",
  )
  .refine(
    ({ backend: given = [] }) => new Set([given].flat()).size === [given].flat().length,
    "The same `backend` stands there twice.",
  );

type SecretsSection = CamelCased<z.output<typeof secretsSchema>>;

/** @param base the folder that relative paths are relative to */
export function secretSettingsFrom(secrets: SecretsSection, base: string, dataFolder: string): SecretSettings {
  const {
    backend: backends = ["sealed", "environment"],
    file,
    keyFile,
    command = [],
    timeoutMs,
    patterns = "mark",
  } = secrets;
  return {
    backends: [backends].flat(),
    file: file === undefined ? join(dataFolder, "secrets.age") : resolve(base, file),
    keyFile: keyFile === undefined ? join(dataFolder, "secrets.key") : resolve(base, keyFile),
    command,
    timeoutMs,
    patterns,
  };
}
