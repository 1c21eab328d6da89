import { isIP } from "node:net";
import { autonomies, nearest } from "@postern/core";
import { type ConfigProblem, ConfigProblems } from "./problem.ts";

export const logLevels = ["error", "warn", "info", "debug"] as const;

const namePattern = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/i;

/** What `listen.host` and `--host` take: an address of this machine, or a name that has one. */
export function isListenHost(text: string): boolean {
  return isIP(text) !== 0 || (namePattern.test(text) && !/^[\d.]+$/.test(text));
}

export const wrongListenHost =
  "Write an address of this machine without a port: `127.0.0.1` (only this machine), `0.0.0.0` or `::` (every address), or one of its names.";

/** The result of reading one text: the value, or what is wrong with the text. */
type OverrideReading<T> = { readonly value: T } | Pick<ConfigProblem, "message" | "fix">;

/** Each setting that a flag or a variable may give. Flags win over the environment, and both win over the file. */
const settings = {
  config: { flag: "--config", variable: "POSTERN_CONFIG", read: readPath },
  data: { flag: "--data", variable: "POSTERN_DATA", read: readPath },
  port: { flag: "--port", variable: "POSTERN_PORT", read: readPort },
  host: { flag: "--host", variable: "POSTERN_HOST", read: readHost },
  autonomy: { flag: "--autonomy", variable: "POSTERN_AUTONOMY", read: oneOf(autonomies) },
  logLevel: { flag: "--log-level", variable: "POSTERN_LOG_LEVEL", read: oneOf(logLevels) },
} as const;

type SettingName = keyof typeof settings;
type ValueOf<R> = R extends { readonly value: infer Value } ? Value : never;

/** As typed: everything is text. */
export type Flags = { readonly [Name in SettingName]?: string };
export type Environment = Readonly<Record<string, string | undefined>>;
export type Overrides = { readonly [Name in SettingName]?: ValueOf<ReturnType<(typeof settings)[Name]["read"]>> };

/**
 * Flags and environment alone. Their data folder and port are enough to find a running Postern. An empty variable counts
 * as not set, because shells and CI set variables to nothing.
 *
 * @throws ConfigProblems with every mistake
 */
export function loadOverrides({
  flags,
  environment,
}: {
  readonly flags: Flags;
  readonly environment: Environment;
}): Overrides {
  const overrides: Record<string, unknown> = {};
  const problems: ConfigProblem[] = [];
  for (const [name, { flag, variable, read }] of Object.entries(settings)) {
    const typed = flags[name as SettingName]; // a key of the table
    const text = typed ?? (environment[variable] || undefined);
    if (text === undefined) continue;
    const reading: OverrideReading<unknown> = read(text);
    if ("value" in reading) overrides[name] = reading.value;
    else if (typed === undefined) problems.push({ source: "environment", key: variable, ...reading });
    else problems.push({ source: "command line", key: flag, ...reading });
  }
  if (problems.length > 0) throw new ConfigProblems(problems);
  return overrides as Overrides; // each value was read by its own reader
}

function readPath(text: string): OverrideReading<string> {
  if (text.trim() !== "" && !text.includes("\0")) return { value: text };
  return { message: "It names nothing.", fix: "Write a path." };
}

function readPort(text: string): OverrideReading<number> {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return { value: port };
  return {
    message: `\`${text}\` is not a port.`,
    fix: "Write a whole number from 0 to 65535; 0 takes a free one.",
  };
}

function readHost(text: string): OverrideReading<string> {
  if (isListenHost(text)) return { value: text };
  return { message: `\`${text}\` is no address to listen on.`, fix: wrongListenHost };
}

function oneOf<T extends string>(options: readonly T[]): (text: string) => OverrideReading<T> {
  return (text) => {
    const value = options.find((option) => [text, text.toUpperCase(), text.toLowerCase()].includes(option));
    if (value !== undefined) return { value };
    const meant = nearest(text, options);
    const fix = meant === undefined ? "Write one of them." : `Did you mean \`${meant}\`?`;
    return { message: `\`${text}\` is not one of ${options.join(", ")}.`, fix };
  };
}
