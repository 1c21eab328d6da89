import type { JsonObject } from "../../core/json.ts";
import { defineTool } from "../../tools/define.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { EditInput, FileChanges, WriteInput } from "./changes.ts";
import { answering, type FileKit, previewing, targeting } from "./kit.ts";
import { input, path, text, wholeNumber } from "./schemas.ts";

/** What all tools that change files have in common. What a person was shown is what is written: their previews bind, so a file that changed meanwhile voids the approval. */
export const changesFiles = {
  risk: "medium",
  effects: "write",
  permissions: ["filesystem.write"],
} as const;

const encoding: JsonObject = { enum: ["utf8", "base64"], description: "How the content is given; utf8 when left out." };
const wholeInput = input({ path, content: text("The content."), encoding }, ["path", "content"]);
const editInput = input(
  {
    path,
    old_text: { type: "string", minLength: 1, description: "What is there now, with its line breaks." },
    new_text: text("What stands there afterwards."),
    count: wholeNumber(1, 10_000, "How often it is there; all of them are replaced. Once when left out."),
  },
  ["path", "old_text", "new_text"],
);

/** `write_file` (SPEC 15.1), `edit_file` and `append_file`: one change of a file at a time. */
export function writeTools(kit: FileKit): readonly LocalTool[] {
  const where = kit.roots.describe(kit.mayWrite);
  const write = answering<WriteInput>(pathOf, async (given, context) => (await changesOf(kit)).write(given, context));
  const append = answering<WriteInput>(pathOf, async (given, context) => (await changesOf(kit)).append(given, context));
  const classifyRisk = targeting(kit, pathOf);
  return [
    defineTool({
      ...changesFiles,
      classifyRisk,
      name: "write_file",
      idempotent: true,
      description: `Writes a whole file, in the place of one that is there; missing folders are made. ${where}`,
      input: wholeInput,
      execute: (given, context) => write(given as unknown as WriteInput, context), // the schema says so
      preview: (given, caller) =>
        previewing<WriteInput>(pathOf, async (wanted) => (await changesOf(kit)).showWrite(wanted, caller))(
          given as unknown as WriteInput,
        ),
    }),
    editTool(kit),
    defineTool({
      ...changesFiles,
      classifyRisk,
      name: "append_file",
      idempotent: false,
      description: `Adds to the end of a file; one that is not there is made. ${where}`,
      input: wholeInput,
      execute: (given, context) => append(given as unknown as WriteInput, context), // the schema says so
      preview: (given, caller) =>
        previewing<WriteInput>(pathOf, async (wanted) => (await changesOf(kit)).showAppend(wanted, caller))(
          given as unknown as WriteInput,
        ),
    }),
  ];
}

function editTool(kit: FileKit): LocalTool {
  const edit = answering<EditInput>(pathOf, async (given, context) => (await changesOf(kit)).edit(given, context));
  return defineTool({
    ...changesFiles,
    classifyRisk: targeting(kit, pathOf),
    name: "edit_file",
    idempotent: false,
    description: `Replaces a text in a file by another, exactly; it must be there once, or \`count\` times. ${kit.roots.describe(kit.mayWrite)}`,
    input: editInput,
    execute: (given, context) => edit(given as unknown as EditInput, context), // the schema says so
    preview: (given, caller) =>
      previewing<EditInput>(pathOf, async (wanted) => (await changesOf(kit)).showEdit(wanted, caller))(
        given as unknown as EditInput,
      ),
  });
}

async function changesOf(kit: FileKit): Promise<FileChanges> {
  const changes = await import("./changes.ts");
  return new changes.FileChanges(kit);
}

function pathOf(given: { readonly path: string }): string {
  return given.path;
}
