import type { JsonObject } from "@postern/core";
import type { ScriptProgram, ToolSketch } from "@postern/core/sandbox";
import { defineTool } from "../tools/define.ts";
import type { LocalTool } from "../tools/kinds.ts";
import type { Offer } from "../tools/tool.ts";
import { chainToolName } from "./names.ts";
import { scriptOffer } from "./offer.ts";
import { runScript } from "./run-script.ts";
import type { ScriptHost } from "./script-run.ts";
import { placeOf, pythonSignature, typescriptSignature } from "./signatures.ts";
import { withoutFences } from "./source-text.ts";

/** Longer than any script a model writes. */
const longestCode = 200_000;

/** The start of the tool's description; `describeChain` adds what a script can call. */
const chainPurpose =
  "Runs one script that calls tools as functions and pipes their results, instead of one call at a time. Every call in it passes the same checks as a direct one.";

/**
 * The tool itself is safe, because its calls are gated one by one. It is not idempotent, so a script that was
 * interrupted is found again when it is sent without a key. With its key it continues.
 */
export function chainTool(host: ScriptHost): LocalTool {
  const { languages } = host.engines;
  return defineTool({
    name: chainToolName,
    title: "Run a script that calls tools",
    description: chainPurpose,
    toolType: "PIPELINE",
    risk: "safe",
    effects: "write",
    idempotent: false,
    suspends: true,
    input: schemaFor(languages, host.terms.limits.totalTimeoutMs),
    execute: (given, context) => {
      const {
        code,
        language,
        timeout = 300,
      } = given as {
        readonly code: string;
        readonly language?: ScriptProgram["language"];
        readonly timeout?: number;
      }; // the schema defines it
      const { source, language: named } = withoutFences(code);
      const guessed = named !== undefined && languages.includes(named) ? named : languageIn(source, languages);
      return runScript({ source, language: language ?? guessed, timeoutMs: timeout * 1000 }, context, host);
    },
  });
}

function schemaFor(languages: readonly ScriptProgram["language"][], totalMs: number): JsonObject {
  return {
    type: "object",
    properties: {
      code: { type: "string", minLength: 1, maxLength: longestCode, description: "The script." },
      language: {
        type: "string",
        enum: languages,
        description: "Its language; guessed when left out.",
      },
      timeout: {
        type: "number",
        exclusiveMinimum: 0,
        description: `Seconds the script may take; ${Math.floor(totalMs / 1000)} at most. Time in which it waits for a person does not count.`,
      },
    },
    required: ["code"],
    additionalProperties: false,
  };
}

const pythonMarks: readonly RegExp[] = [
  /^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(/m,
  /^[ \t]*(?:if|for|while|with|try|elif|else|except|class|match)\b[^{\n:]*:[^{\n]*$/m,
  /^[ \t]*(?:import[ \t]+\w+(?:\.\w+)*(?:[ \t]+as[ \t]+\w+)?[ \t]*$|from[ \t]+[\w.]+[ \t]+import\b)/m,
  /\b(?:None|True|False|elif|lambda|not in)\b/,
  /(?<![\w.])print\(/,
  /\bf"[^"\n]*\{|\bf'[^'\n]*\{/,
  /(?<!\b(?:if|while|for|switch|function) ?)(?<=\w)\((?:[^(){}=;]*,)?\s*[A-Za-z_]\w*\s*=(?![=>])/, // tools.echo(text="a")
];
const javascriptMarks: readonly RegExp[] = [
  /^[ \t]*(?:const|let|var)\s+[\w{[]/m,
  /=>|===|!==|&&|\|\||\?\?/,
  /\bfunction\b|\bnew\s+[A-Z]/,
  /\bconsole\.\w+\(/,
  /;[ \t]*(?:\/\/.*)?$/m,
  /\(\{/,
  /[`]/,
];
const typeMarks =
  /^[ \t]*(?:interface|type|enum)\s+\w+|\b(?:const|let)\s+\w+\s*:\s*\w|\)\s*:\s*(?:Promise|string|number|void|boolean)\b|\bas\s+(?:const|string|number|unknown)\b/m;

/** For callers that do not name the language of a script. */
export function guessLanguage(source: string): ScriptProgram["language"] {
  const score = (marks: readonly RegExp[]): number => marks.filter((mark) => mark.test(source)).length;
  if (score(pythonMarks) > score(javascriptMarks)) return "python";
  return typeMarks.test(source) ? "typescript" : "javascript";
}

/** Guesses among the languages that an engine here runs. */
function languageIn(source: string, languages: readonly ScriptProgram["language"][]): ScriptProgram["language"] {
  const guessed = guessLanguage(source);
  return languages.includes(guessed) ? guessed : (languages[0] ?? guessed);
}

/** Longer lists of signatures cost a model more in every turn than one call of `help`. */
const mostSignatures = 8000;

/**
 * Returns the same actions, with a description of `tool_chain` that says what a script of this caller can call: the typed
 * signature of each tool or, if there are many, the servers and how to search.
 */
export function describeChain(
  actions: readonly Offer[],
  isShown: (action: Offer) => boolean,
  languages: readonly ScriptProgram["language"][],
): readonly Offer[] {
  const at = actions.findIndex(({ tool }) => tool === chainToolName);
  const chain = actions[at];
  if (chain === undefined) return actions;
  const { sketches } = scriptOffer(actions.filter(isShown));
  return actions.with(at, Object.freeze({ ...chain, description: descriptionFor(sketches, languages) }));
}

function descriptionFor(sketches: readonly ToolSketch[], languages: readonly ScriptProgram["language"][]): string {
  const parts = [chainPurpose];
  if (languages.includes("python")) parts.push(pythonHow);
  if (languages.includes("javascript")) parts.push(javascriptHow);
  parts.push(handleHow, toolsPart(sketches, languages));
  return parts.join("\n");
}

const pythonHow =
  "Python: `r = tools.server.tool(name=value)`, `await asyncio.gather(…)` runs calls together; a refused or failed call raises ToolError (`.code`, `.advice`). The last expression or `print` is the answer. Names that are keywords end in `_` (`tools.x.import_(from_=1)`), other signs are `_`.";
const javascriptHow =
  "JavaScript or TypeScript: `const r = await tools.server.tool({ name: value })`, `Promise.all` runs calls together; a refused or failed call throws ToolError (`.code`, `.advice`). `return` a value, or print with console.log.";
const handleHow =
  "A result has .text, .structured, .ref, .files, .notes and .status; a big one is only a preview with .ref: pass the result on to another tool, or read it with .materialize(). help(tools.x) tells more of a tool. If a call needs a person, the script waits and goes on later: send the same script again.";

function toolsPart(sketches: readonly ToolSketch[], languages: readonly ScriptProgram["language"][]): string {
  const sign = languages.includes("javascript") ? typescriptSignature : pythonSignature;
  const lines = sketches.map(sign);
  if (lines.reduce((sum, line) => sum + line.length, 0) <= mostSignatures) return ["Tools:", ...lines].join("\n");
  const groups = Map.groupBy(sketches, ({ server = "" }) => server);
  const counted = [...groups].map(([server, own]) =>
    server === "" ? own.slice(0, 40).map(placeOf).join(", ") : `tools.${server} (${own.length})`,
  );
  return `${sketches.length === 1 ? "1 tool" : `${sketches.length} tools`}: ${counted.join(", ")}. Search them inside a script: help("words"), help(tools.server.tool).`;
}
