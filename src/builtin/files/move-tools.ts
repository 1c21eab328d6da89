import { defineTool } from "../../tools/define.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import { answering, type FileKit, previewing, targeting } from "./kit.ts";
import type { DeleteInput, FileMoves, MoveInput } from "./moves.ts";
import { flag, input, path, text } from "./schemas.ts";
import { changesFiles } from "./write-tools.ts";

/** `move_file`: files and folders, also from one root to another of the same file system. */
export function moveTool(kit: FileKit): LocalTool {
  const move = answering<MoveInput>(fromOf, async (given, context) => (await movesOf(kit)).move(given, context));
  return defineTool({
    ...changesFiles,
    classifyRisk: targeting(kit, toOf),
    name: "move_file",
    idempotent: false,
    description: `Gives a file or folder another name or place; what is there already is replaced only with \`overwrite\`. ${kit.roots.describe(true)}`,
    input: input(
      {
        from: text("What is moved."),
        to: text("Its new path, its name included."),
        overwrite: flag("Replace a file that is there."),
      },
      ["from", "to"],
    ),
    execute: (given, context) => move(given as unknown as MoveInput, context), // the schema says so
    preview: (given, caller) =>
      previewing<MoveInput>(fromOf, async (wanted) => (await movesOf(kit)).showMove(wanted, caller))(
        given as unknown as MoveInput,
      ),
  });
}

/** `delete_file`: one file or one empty folder. Destructive, so a policy must name it and a person is asked (D27, C5). */
export function deleteTool(kit: FileKit): LocalTool {
  const remove = answering<DeleteInput>(pathOf, async (given, context) => (await movesOf(kit)).remove(given, context));
  return defineTool({
    name: "delete_file",
    risk: "critical",
    effects: "destructive",
    permissions: ["filesystem.delete"],
    classifyRisk: targeting(kit, pathOf),
    idempotent: false,
    description: `Deletes a file or an empty folder, for good. ${kit.roots.describe(true)}`,
    input: input({ path }, ["path"]),
    execute: (given, context) => remove(given as unknown as DeleteInput, context), // the schema says so
    preview: (given, caller) =>
      previewing<DeleteInput>(pathOf, async (wanted) => (await movesOf(kit)).showRemove(wanted, caller))(
        given as unknown as DeleteInput,
      ),
  });
}

async function movesOf(kit: FileKit): Promise<FileMoves> {
  const moves = await import("./moves.ts");
  return new moves.FileMoves(kit);
}

function fromOf({ from }: MoveInput): string {
  return from;
}

function toOf({ to }: MoveInput): string {
  return to;
}

function pathOf(given: { readonly path: string }): string {
  return given.path;
}
