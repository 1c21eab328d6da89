import type { ScriptProgram, ToolSketch } from "../engines/sandbox.ts";
import type { Offer } from "../tools/tool.ts";
import { chainPurpose } from "./chain-tool.ts";
import { chainToolName } from "./names.ts";
import { scriptOffer } from "./offer.ts";
import { placeOf, pythonSignature, typescriptSignature } from "./signatures.ts";

/** More characters of signatures than this cost every turn of a model more than a look into `help` costs once. */
const mostSignatures = 8000;

/**
 * The same actions; `tool_chain` among them says what a script of this caller can call: each tool's typed signature, or,
 * where there are many, the servers and how to look.
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
  "A result has .text, .structured, .ref, .files and .status; a big one is only a preview with .ref: pass the result on to another tool, or read it with .materialize(). help(tools.x) tells more of a tool. If a call needs a person, the script waits and goes on later: send the same script again.";

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
