import type { JsonObject } from "../core/json.ts";
import type { ScriptProgram } from "../engines/sandbox.ts";
import { defineTool } from "../tools/define.ts";
import type { LocalTool } from "../tools/kinds.ts";
import type { ScriptHost } from "./chain-dependencies.ts";
import { guessLanguage } from "./guess-language.ts";
import { chainToolName } from "./names.ts";
import { runScript } from "./run-script.ts";

/** Longer than any script a model writes. */
const longestCode = 200_000;

/** What a model is told of it wherever it is offered; `describeChain` adds what it can call. */
export const chainPurpose =
  "Runs one script that calls tools as functions and pipes their results, instead of one call at a time. Every call in it passes the same checks as a direct one.";

/**
 * SPEC 12.2. Safe itself: its calls are gated one by one. Not idempotent, so that what was interrupted is found again when it
 * is sent without a key; under its own key it goes on where it was (recovery.ts).
 */
export function chainTool(house: ScriptHost): LocalTool {
  const { languages } = house.engines;
  return defineTool({
    name: chainToolName,
    title: "Run a script that calls tools",
    description: chainPurpose,
    toolType: "PIPELINE",
    risk: "safe",
    effects: "write",
    idempotent: false,
    suspends: true,
    input: schemaFor(languages, house.terms.limits.totalTimeoutMs),
    execute: (given, context) => {
      const {
        code,
        language,
        timeout = 300,
      } = given as {
        readonly code: string;
        readonly language?: ScriptProgram["language"];
        readonly timeout?: number;
      }; // the schema says so
      const script = { source: code, language: language ?? languageOf(code, languages), timeoutMs: timeout * 1000 };
      return runScript(script, context, house);
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
        description: "Which language it is in; guessed when left out.",
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

/** Where only one is spoken there is nothing to guess. */
function languageOf(code: string, languages: readonly ScriptProgram["language"][]): ScriptProgram["language"] {
  const guessed = guessLanguage(code);
  if (languages.includes(guessed) || languages.length === 0) return guessed;
  return languages[0] ?? guessed;
}
