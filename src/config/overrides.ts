import type { Autonomy } from "../core/call.ts";
import { nearest } from "../core/nearest.ts";
import { autonomies } from "../core/risk.ts";
import { type LogLevel, logLevels, loopbackHosts } from "./config-schema.ts";
import type { ConfigProblem } from "./problem.ts";

/** As typed: everything is text. */
export interface Flags {
  readonly config?: string;
  readonly data?: string;
  readonly port?: string;
  readonly host?: string;
  readonly autonomy?: string;
  readonly logLevel?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What stands over the file: flags over environment. */
export interface Overrides {
  readonly config?: string;
  readonly data?: string;
  readonly port?: number;
  readonly host?: string;
  readonly autonomy?: Autonomy;
  readonly logLevel?: LogLevel;
}

interface OverrideText {
  readonly source: "command line" | "environment";
  readonly name: string;
  readonly text: string;
}

const names: readonly (readonly [keyof Flags, string, string])[] = [
  ["config", "--config", "POSTERN_CONFIG"],
  ["data", "--data", "POSTERN_DATA"],
  ["port", "--port", "POSTERN_PORT"],
  ["host", "--host", "POSTERN_HOST"],
  ["autonomy", "--autonomy", "POSTERN_AUTONOMY"],
  ["logLevel", "--log-level", "POSTERN_LOG_LEVEL"],
];

export interface Mistyped {
  readonly name: string;
  readonly meant: string;
}

/** Variables that nobody reads and that are spelled nearly as one that is read. */
export function mistypedVariables(environment: Environment): readonly Mistyped[] {
  const known = names.map(([, , variable]) => variable);
  return Object.keys(environment).flatMap((name) => {
    const meant = name.startsWith("POSTERN_") && !known.includes(name) ? nearest(name, known) : undefined;
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** An empty variable says nothing: shells and CI set them so. */
export function overridesFrom(
  flags: Flags,
  environment: Environment,
): { readonly overrides: Overrides; readonly problems: readonly ConfigProblem[] } {
  const said = new Map<keyof Flags, OverrideText>();
  for (const [key, flag, variable] of names) {
    const byFlag = flags[key];
    const byVariable = environment[variable];
    if (byFlag !== undefined) said.set(key, { source: "command line", name: flag, text: byFlag });
    else if (byVariable !== undefined && byVariable !== "")
      said.set(key, { source: "environment", name: variable, text: byVariable });
  }
  const problems: ConfigProblem[] = [];
  const one = <T extends string>(key: keyof Flags, options: readonly T[]): T | undefined => {
    const given = said.get(key);
    if (given === undefined) return undefined;
    const found = options.find(
      (option) => option === given.text || option === given.text.toUpperCase() || option === given.text.toLowerCase(),
    );
    if (found === undefined) problems.push(notOneOf(given, options));
    return found;
  };
  const port = portOf(said.get("port"), problems);
  const config = pathOf(said.get("config"), problems);
  const data = pathOf(said.get("data"), problems);
  const host = one("host", loopbackHosts);
  const autonomy = one("autonomy", autonomies);
  const logLevel = one("logLevel", logLevels);
  const overrides: Overrides = {
    ...(config !== undefined && { config }),
    ...(data !== undefined && { data }),
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
    ...(autonomy !== undefined && { autonomy }),
    ...(logLevel !== undefined && { logLevel }),
  };
  return { overrides, problems };
}

function pathOf(given: OverrideText | undefined, problems: ConfigProblem[]): string | undefined {
  if (given === undefined) return undefined;
  if (given.text.trim() !== "" && !given.text.includes("\0")) return given.text;
  problems.push({
    source: given.source,
    key: given.name,
    message: "It names nothing.",
    fix: "Write a path.",
  });
  return undefined;
}

function portOf(given: OverrideText | undefined, problems: ConfigProblem[]): number | undefined {
  if (given === undefined) return undefined;
  const port = Number(given.text);
  if (/^\d{1,5}$/.test(given.text) && port <= 65_535) return port;
  problems.push({
    source: given.source,
    key: given.name,
    message: `\`${given.text}\` is not a port.`,
    fix: "Write a whole number from 0 to 65535; 0 takes a free one.",
  });
  return undefined;
}

function notOneOf({ source, name, text }: OverrideText, options: readonly string[]): ConfigProblem {
  const meant = nearest(text, options);
  const fix = meant === undefined ? "Write one of them." : `Did you mean \`${meant}\`?`;
  return { source, key: name, message: `\`${text}\` is not one of ${options.join(", ")}.`, fix };
}
