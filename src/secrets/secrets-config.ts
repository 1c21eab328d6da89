/** The `secrets` section of a configuration file (snake_case) and what it becomes. Only src/config imports this. */
import { join, resolve } from "node:path";
import { z } from "zod";
import { type BackendName, backendNames, type SecretSettings } from "./open-secrets.ts";
import { type PatternMode, patternModes } from "./secret-store.ts";

export interface SecretsFile {
  readonly backend?: BackendName | readonly BackendName[] | undefined;
  readonly file?: string | undefined;
  readonly key_file?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly timeout_ms?: number | undefined;
  readonly patterns?: PatternMode | undefined;
}

const backend = z.enum(backendNames);
const path = z.string().min(1);

export const secretsSchema: z.ZodType<SecretsFile> = z
  .strictObject({
    backend: z
      .union([backend, z.array(backend).min(1).max(backendNames.length)])
      .optional()
      .describe(
        "Where `secret://connector/key` comes from; of several the first that has it. [sealed, environment] when nothing is said.",
      ),
    file: path
      .optional()
      .describe(
        "Of `sealed`: the file `postern secrets set` writes; secrets.age in the data folder when nothing is said.",
      ),
    key_file: path
      .optional()
      .describe("Of `sealed`: its key, mode 0600; secrets.key in the data folder. POSTERN_SECRETS_KEY goes before it."),
    command: z
      .array(z.string())
      .min(2)
      .optional()
      .describe("Of `command`: program and arguments, with {connector} and {key} in them. No shell."),
    timeout_ms: z.int().min(1).max(300_000).optional().describe("Of `command`: 10000 when nothing is said."),
    patterns: z
      .enum(patternModes)
      .optional()
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

/** @param base what relative paths are relative to */
export function secretSettingsFrom(file: SecretsFile, base: string, dataFolder: string): SecretSettings {
  const { backend: given = ["sealed", "environment"], command = [], timeout_ms: timeoutMs, patterns = "mark" } = file;
  return {
    backends: [given].flat(),
    file: file.file === undefined ? join(dataFolder, "secrets.age") : resolve(base, file.file),
    keyFile: file.key_file === undefined ? join(dataFolder, "secrets.key") : resolve(base, file.key_file),
    command,
    timeoutMs,
    patterns,
  };
}
