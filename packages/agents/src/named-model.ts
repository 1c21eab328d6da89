/** The models that `postern agent run --model` names. Their packages are the user's. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isRecord, messageOf, RuntimeFault, withHiddenShown } from "@postern/core";
import { type AiSdkLanguageModel, aiSdkModel } from "./ai-sdk-model.ts";
import type { AgentModel } from "./model.ts";

interface Provider {
  readonly package: string;
  /** The function of the package that makes a model from its name. */
  readonly exported: string;
  /** The variable of the environment that holds its key. */
  readonly key?: string;
}

const providers: ReadonlyMap<string, Provider> = new Map([
  ["anthropic", { package: "@ai-sdk/anthropic", exported: "anthropic", key: "ANTHROPIC_API_KEY" }],
  ["openai", { package: "@ai-sdk/openai", exported: "openai", key: "OPENAI_API_KEY" }],
  ["google", { package: "@ai-sdk/google", exported: "google", key: "GOOGLE_GENERATIVE_AI_API_KEY" }],
]);

/** The version of the AI SDK's interface for models that the loop speaks. */
const specification = "v4";

/**
 * @param named `anthropic/claude-…`, or `PACKAGE#EXPORT/MODEL` for any other provider of the AI SDK
 * @throws RuntimeFault `options_invalid` for a name of no model, and when its key is missing; `dependency_missing` when its package is not installed, or too old
 */
export async function namedModel(named: string): Promise<AgentModel> {
  const { provider, modelId } = parsed(named);
  const module = await load(provider.package, named);
  const make = module[provider.exported];
  if (typeof make !== "function")
    throw new RuntimeFault(
      "options_invalid",
      `\`${withHiddenShown(provider.package)}\` exports no function \`${withHiddenShown(provider.exported)}\`; it exports ${Object.keys(module).join(", ")}.`,
    );
  if (provider.key !== undefined && (process.env[provider.key] ?? "") === "")
    throw new RuntimeFault(
      "options_invalid",
      `\`--model ${withHiddenShown(named)}\` needs a key, and ${provider.key} is not set. Set it in the environment of this command.`,
    );
  const model: unknown = make(modelId);
  if (isLanguageModel(model)) return aiSdkModel(model);
  const version = isRecord(model) ? String(model["specificationVersion"]) : "none";
  throw new RuntimeFault(
    "dependency_missing",
    `\`${provider.package}\` gives a model of the AI SDK's interface ${version}, and ${specification} is needed: run \`npm install ${provider.package}@latest\`.`,
  );
}

function parsed(named: string): { readonly provider: Provider; readonly modelId: string } {
  const [, packageName, exported, short = "", modelId = ""] =
    /^(?:([^#\s]+)#([\w$]+)|([\w-]+))\/(.+)$/.exec(named) ?? [];
  const provider =
    packageName === undefined || exported === undefined ? providers.get(short) : { package: packageName, exported };
  if (provider !== undefined) return { provider, modelId };
  throw new RuntimeFault(
    "options_invalid",
    `\`--model ${withHiddenShown(named)}\` names no model. Write ${[...providers.keys()].map((name) => `\`${name}/MODEL\``).join(", ")}, or \`PACKAGE#EXPORT/MODEL\` for another provider of the AI SDK.`,
  );
}

async function load(name: string, named: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(nearby(name) ?? name);
  } catch (error) {
    if (!isMissing(error, name))
      throw new RuntimeFault("dependency_missing", `\`${name}\` cannot be loaded: ${messageOf(error)}`, {
        cause: error,
      });
    throw new RuntimeFault(
      "dependency_missing",
      `\`--model ${withHiddenShown(named)}\` needs the package \`${withHiddenShown(name)}\`: run \`npm install ${withHiddenShown(name)}\`.`,
      { cause: error },
    );
  }
}

/** The package of the current folder: a project has its own version. */
function nearby(name: string): string | undefined {
  try {
    return pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
  } catch {
    return undefined; // then it must be beside Postern
  }
}

function isMissing(error: unknown, name: string): boolean {
  return isRecord(error) && error["code"] === "ERR_MODULE_NOT_FOUND" && messageOf(error).includes(`'${name}'`);
}

function isLanguageModel(model: unknown): model is AiSdkLanguageModel {
  return isRecord(model) && model["specificationVersion"] === specification && typeof model["doStream"] === "function";
}
