import type { JsonObject } from "../../core/json.ts";
import type { Suggestion } from "../../policy/policy.ts";
import type { ProviderDefinedTool } from "../../tools/kinds.ts";
import type { ToolContext } from "../../tools/tool.ts";
import { type FileToolOptions, fileKit } from "../files/files.ts";
import { answering, previewing, targeting } from "../files/kit.ts";
import type { FileCaller } from "../files/roots.ts";
import { Editor, type EditorInput, editorSchema } from "./editor.ts";
import { rootedPath } from "./rooted.ts";

const commands = ["view", "create", "str_replace", "insert"] as const;

/**
 * Anthropic's text editor (`text_editor_20250728`), run beneath the file guard. Looking at a file is `safe`.
 *
 * @throws RuntimeFault as `fileTools` does
 *
 * @example
 * const runtime = await createRuntime({ tools: [textEditorTool({ roots: { src: { path: "src", writable: true } } })] });
 *
 * @public
 */
export function textEditorTool(options: Omit<FileToolOptions, "write" | "delete">): ProviderDefinedTool {
  const kit = fileKit({ ...options, write: true });
  const pathOf = ({ path = "" }: EditorInput): string => rootedPath(kit, path);
  const editor = new Editor(kit, { inKit: (path) => rootedPath(kit, path), shown: (path) => path });
  const run = answering<EditorInput>(pathOf, (given, context) => editor.run(given, context));
  const target = targeting(kit, pathOf);
  const name = "str_replace_based_edit_tool";
  return Object.freeze({
    ...({ name, risk: "medium", effects: "write", openWorld: false, idempotent: false } as const),
    description: `Shows files and folders, creates files, replaces a text that stands there once, inserts lines. ${kit.roots.describe(true)}`,
    permissions: ["filesystem.write"],
    providerSpecs: { anthropic: { type: "text_editor_20250728", name } },
    callTypes: [],
    input: editorSchema(commands, {}),
    classifyRisk: (given: unknown) => classified(given as EditorInput, target), // as sent
    preview: (given: unknown, caller: FileCaller) =>
      (given as EditorInput).command === "view" // the schema says so
        ? null
        : previewing<EditorInput>(
            pathOf,
            async (wanted) => (await editor.preview(wanted, caller)) ?? {},
          )(given as EditorInput),
    handleCall: (call: { readonly arguments: JsonObject }, context: ToolContext) =>
      run(call.arguments as unknown as EditorInput, context), // the schema says so
  });
}

/** Looking changes nothing. */
export function classified(given: EditorInput, target: (given: unknown) => Suggestion): Suggestion {
  return { ...target(given), ...(given.command === "view" && { risk: "safe" as const }) };
}
