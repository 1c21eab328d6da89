/** What a script asks of Postern itself: no tool is called, no budget spent, and nothing here has an effect outside. */
import { messageOf, RuntimeFault } from "../core/fault.ts";
import type { JsonObject } from "../core/json.ts";
import { codeOf } from "../core/system/error-code.ts";
import { pythonName } from "../engines/cpython/names.ts";
import { tooLarge } from "../engines/large-arguments.ts";
import type { AskedCall, SettledCall, ToolSketch } from "../engines/sandbox.ts";
import { cut } from "../results/cut.ts";
import { answered, refused, tooMuchAtOnce } from "./answers.ts";
import { materialized, put } from "./host-artifacts.ts";
import { numberIn, textIn } from "./members.ts";
import type { ScriptRun } from "./script-run.ts";
import { placeOf, pythonPlaceOf, pythonSignature, typescriptSignature } from "./signatures.ts";

const mostFound = 20;
const longestProgress = 2_000;
const longestQuery = 200;

export async function answerHost(asked: AskedCall, run: ScriptRun): Promise<SettledCall> {
  if (!run.budget.ask())
    return refused(asked.place, "budget_exhausted", "The script has asked for help, files and progress too often.");
  const problem = tooLarge(asked, run.facts.house.terms);
  if (problem !== undefined) return refused(asked.place, "arguments_invalid", problem);
  try {
    switch (asked.kind) {
      case "help":
        return help(asked, run);
      case "progress":
        run.facts.context.progress(
          cut(textIn(asked.arguments, "text", "message", "content") ?? "", longestProgress),
          numberIn(asked.arguments, "fraction"),
        );
        return answered(asked, {});
      case "materialize":
        return await materialized(asked, run);
      case "artifact":
        return await put(asked, run);
      default:
        return refused(asked.place, "internal", "A script cannot ask for that.");
    }
  } catch (error) {
    if (error instanceof RuntimeFault && error.code === "artifact_unavailable")
      return refused(asked.place, "artifact_unavailable", error.message);
    run.parts.log(`A script's \`${asked.kind ?? asked.tool}\` failed: ${messageOf(error)}.`); // it may name places of this host
    const message = `The artifacts could not be read or written (${codeOf(error)}); try it again, or do without.`;
    return refused(asked.place, "result_unavailable", message);
  }
}

function help(asked: AskedCall, run: ScriptRun): SettledCall {
  const text = helpText(asked.arguments, run);
  return run.budget.bring(Buffer.byteLength(text)) ? answered(asked, { text }) : tooMuchAtOnce(asked.place);
}

/** Signature and description of one tool; or what fits a few words; or all names. */
function helpText(given: JsonObject, { facts }: ScriptRun): string {
  const { sketches } = facts.offer;
  const name = (textIn(given, "tool", "name", "query", "text") ?? "").slice(0, longestQuery);
  const isExact = (sketch: ToolSketch): boolean =>
    [sketch.name, sketch.short, pythonName(sketch.short), placeOf(sketch), pythonPlaceOf(sketch)].includes(name);
  const exact = sketches.find(isExact);
  if (exact !== undefined) return described(exact);
  const words = name
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word !== "" && word !== "tools");
  const found = sketches.filter((sketch) => {
    const text = `${sketch.name} ${sketch.description}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (found.length === 0) return `Nothing fits \`${name}\`. There are: ${names(sketches)}.`;
  if (words.length === 0 || found.length > mostFound) return `There are: ${names(found)}.`;
  return found.map(described).join("\n\n");
}

function described(sketch: ToolSketch): string {
  return `${typescriptSignature(sketch)}\n${pythonSignature(sketch)}\n${sketch.description}`;
}

function names(sketches: readonly ToolSketch[]): string {
  return sketches.map(placeOf).join(", ") || "none";
}
