/** Reads a policy that is not in force from a text, with the line of every rule, to compare it with the one in force. */
import { readFile, realpath } from "node:fs/promises";
import { basename, extname, isAbsolute, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type Autonomy, autonomies, RuntimeFault } from "@postern/core";
import { whyUnreadable } from "@postern/core/system";
import { z } from "zod";
import { type JsonSchemaKeys, type KeyPath, keysOf } from "../checks/schema-problems.ts";
import type { PolicyOptions } from "../policy/decide.ts";
import { expectationFrom } from "../policy/options.ts";
import type { Expectation } from "../policy/report/expectations.ts";
import { type ExpectationFile, policySchemas } from "../policy/schema.ts";
import { codeConfig } from "./code-config.ts";
import { configKeys } from "./config-schema.ts";
import { policyOf, textIn } from "./load.ts";
import { parseChecked } from "./parse-checked.ts";
import { ConfigProblems, type Locate } from "./problem.ts";
import { readSource } from "./source.ts";

/** A file as it was read. JSON is YAML too. */
export interface NamedConfiguration {
  readonly name: string;
  readonly text: string;
}

export interface PolicyText {
  readonly policy: PolicyOptions;
  readonly tests: readonly Expectation[];
  readonly autonomy: Autonomy;
}

/** The only sections that are read. */
export const policySectionShape = {
  policy: policySchemas().section.optional(),
  autonomy: z.enum(autonomies).optional(),
};
const sections = z.looseObject(policySectionShape);
const table = z.strictObject({ tests: z.array(policySchemas().expectation) });

/**
 * @param base folder that paths in it are relative to; only Cedar files in it are read
 * @throws RuntimeFault `policy_invalid` with every mistake, a line each
 */
export async function readPolicyText(named: NamedConfiguration, base: string): Promise<PolicyText> {
  try {
    const { data, locate } = parsedText(named, sections, configKeys);
    const { policy: section = {}, autonomy = "A2" } = data;
    for (const file of [section.cedar?.policies, section.cedar?.schema]) await checkCedarFile(file, base);
    const policy = await policyOf({ policy: section }, locate, textIn(base));
    return { policy, autonomy, tests: expectationsFrom(section.tests ?? [], ["policy", "tests"], locate) };
  } catch (error) {
    throw asFault(error);
  }
}

/**
 * A `*.policy-tests.yaml`: `tests:` and a list.
 *
 * @throws RuntimeFault `policy_invalid` with every mistake, a line each
 */
export function readTestsText(named: NamedConfiguration): readonly Expectation[] {
  try {
    const { data, locate } = parsedText(named, table);
    return expectationsFrom(data.tests, ["tests"], locate);
  } catch (error) {
    throw asFault(error);
  }
}

/**
 * A configuration as the text that `readPolicyText` reads. A configuration in code is run; its rules have no lines.
 *
 * @param folder the name is shown relative to it
 */
export async function configurationText(file: string, folder: string): Promise<NamedConfiguration> {
  const shown = relative(folder, file);
  const name = shown === "" || shown.startsWith("..") ? file : shown;
  if (isCode(file)) {
    const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    return { name: basename(name), text: JSON.stringify(codeConfig(module.default, name).data) };
  }
  try {
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(await readFile(file)) };
  } catch (error) {
    throw new RuntimeFault("policy_invalid", `\`${name}\` ${whyUnreadable(error)}.`);
  }
}

/** A configuration in code is run once, so it is not read again. */
export function isCode(file: string): boolean {
  return /^\.m?[jt]s$/.test(extname(file).toLowerCase());
}

/** @throws ConfigProblems with every mistake */
export function parsedText<T>(
  { name, text }: NamedConfiguration,
  schema: z.ZodType<T>,
  keys: () => JsonSchemaKeys = () => keysOf(schema),
): { readonly data: T; readonly locate: Locate } {
  const source = readSource(name, text);
  const locate: Locate = (path, part) => ({ source: name, ...source.place(path, part) });
  return { data: parseChecked(schema, source.value, { keys, locate }), locate };
}

function expectationsFrom(files: readonly ExpectationFile[], above: KeyPath, locate: Locate): readonly Expectation[] {
  return files.map((file, i) => {
    const { source, line } = locate([...above, i], "value");
    return expectationFrom(file, line === undefined ? source : `${source}:${line}`);
  });
}

/**
 * A viewer may send a policy, and Cedar's errors quote the file they name. So a policy may name only Cedar files of this
 * folder, not a token beside the configuration and no link to one.
 */
export async function checkCedarFile(file: string | undefined, base: string): Promise<void> {
  if (file === undefined) return;
  if (isAbsolute(file) || !isWithin(base, join(base, file)))
    throw new RuntimeFault("policy_invalid", `\`${file}\` lies outside ${base}; name a file inside it.`);
  const real = await realpath(join(base, file)).catch(() => undefined); // the reader reports a missing file
  const isNamed = [file, real ?? file].every((path) => cedarName.test(path));
  if (!isNamed || (real !== undefined && !isWithin(await realpath(base), real)))
    throw new RuntimeFault(
      "policy_invalid",
      `\`${file}\` is not a Cedar file of this folder; name one that ends in \`.cedar\` or \`.cedarschema\` and does not lead out of it.`,
    );
}

const cedarName = /\.(?:cedar|cedarschema)(?:\.json)?$/;

function isWithin(folder: string, path: string): boolean {
  const inside = relative(folder, path);
  return inside !== "" && !isAbsolute(inside) && inside.split(sep)[0] !== "..";
}

/** Mistakes of a configuration as one fault, for who reads it over HTTP. */
export function asFault(error: unknown): unknown {
  return error instanceof ConfigProblems ? new RuntimeFault("policy_invalid", error.message, { cause: error }) : error;
}
