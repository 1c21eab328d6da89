import { counted, type JsonObject, RuntimeFault } from "@postern/core";
import { defineTool } from "../../tools/define.ts";
import type { LocalTool } from "../../tools/kinds.ts";
import type { ToolAnswer, ToolContext } from "../../tools/tool.ts";
import { FileRejection } from "../files/guard/rejection.ts";
import { shortened } from "./roster.ts";
import { type LoadedSkill, type SkillFile, type SkillRun, type Skills, unknownToolWarnings } from "./skills.ts";

const skillTool = { toolType: "SKILL", risk: "safe", idempotent: true } as const;

/** Two tools with one verb each, and one tool with both verbs as actions. No tool grants anything: activating only restricts. */
export function skillTools(skills: Skills): readonly LocalTool[] {
  return [listTool(skills), loadTool(skills), bothTool(skills)];
}

const id = { type: "string", minLength: 1, maxLength: 256 };

function listTool(skills: Skills): LocalTool {
  return defineTool({
    name: "list_skills",
    title: "List skills",
    description: "Lists the skills there are: instructions for a kind of work, each with when to use it.",
    ...skillTool,
    effects: "read",
    input: { type: "object", properties: {}, additionalProperties: false },
    execute: (_input, context) => list(skills, context),
  });
}

function loadTool(skills: Skills): LocalTool {
  return defineTool({
    name: "load_skill",
    title: "Load a skill",
    description: "Reads a skill's instructions; with `path` one of the files it brings along. Changes nothing.",
    ...skillTool,
    effects: "read",
    input: {
      type: "object",
      properties: {
        skill_id: { ...id, description: "Its name from `list_skills`." },
        path: {
          type: "string",
          minLength: 1,
          maxLength: 1024,
          description: "A file of the skill, `references/forms.md` for example.",
        },
      },
      required: ["skill_id"],
      additionalProperties: false,
    },
    execute: (given, context) => {
      const { skill_id, path } = given as { readonly skill_id: string; readonly path?: string }; // the schema says so
      return orError(() =>
        path === undefined ? load(skills, skill_id, context) : file(skills, { skill: skill_id, path }, context),
      );
    },
  });
}

function bothTool(skills: Skills): LocalTool {
  return defineTool({
    name: "skills",
    title: "Skills",
    description:
      "`list`: the skills there are. `activate`: a skill's instructions hold for the rest of this run, and only the tools it allows can be called.",
    ...skillTool,
    effects: "write",
    input: {
      type: "object",
      properties: {
        action: { type: "string", enum: ["list", "activate"] },
        name: { ...id, description: "Of the skill to activate." },
      },
      required: ["action"],
      additionalProperties: false,
    },
    execute: (given, context) => {
      const { action, name } = given as { readonly action: "list" | "activate"; readonly name?: string }; // the schema says so
      if (action === "list") return list(skills, context);
      if (name === undefined) return error("`activate` needs `name`, the skill; `list` lists them.");
      return orError(() => activate(skills, name, context));
    },
  });
}

function list(skills: Skills, context: ToolContext): ToolAnswer {
  const all = skills.list();
  const active = new Set(skills.active(runOf(context)));
  context.emit("skill.indexed", `Offered: ${counted(all.length, "skill")}.`, { count: all.length });
  const entries = all.map(({ name, description, version }) => ({
    skill_id: name,
    description: shortened(description),
    version,
    active: active.has(name),
  }));
  const lines = entries.map((entry) => `${entry.skill_id}${entry.active ? " (active)" : ""}: ${entry.description}`);
  return { content: lines.length === 0 ? "There are no skills." : lines.join("\n"), structured: { skills: entries } };
}

function load(skills: Skills, given: string, context: ToolContext): ToolAnswer {
  const loaded = skills.load(given);
  announce(loaded, false, context);
  return answer(loaded);
}

async function activate(skills: Skills, name: string, context: ToolContext): Promise<ToolAnswer> {
  const loaded = await skills.activateByAgent(runOf(context), name, context.principal);
  announce(loaded, true, context);
  return answer(loaded, `Skill \`${loaded.skill.name}\` is active.${allowedNow(skills, loaded, context)}\n\n`);
}

/** What the run may call from now on, as the end of a sentence. */
function allowedNow(skills: Skills, { skill }: LoadedSkill, context: ToolContext): string {
  if (skill.allowedTools.length === 0) return "";
  const unknown = new Set(skills.unknownTools(skill));
  const known = skill.allowedTools.filter((tool) => !unknown.has(tool));
  const { tenant, runId, agent } = runOf(context);
  const attached = skills.activeFor(tenant, runId, agent)?.held?.names ?? [];
  const within = attached.length === 0 ? "" : `, if ${attached.map((one) => `\`${one}\``).join(", ")} allows them too`;
  if (known.length > 0)
    return ` Of your tools these can be called now${within}: ${known.join(", ")}, and those that list and load skills.`;
  const [why = ""] = unknownToolWarnings(skill, [...unknown]);
  return ` But ${why}: only those that list and load skills can be called now.`;
}

interface FileName {
  readonly skill: string;
  readonly path: string;
}

function file(skills: Skills, named: FileName, context: ToolContext): ToolAnswer {
  const read = readOrReject(skills, named, context);
  const bytes = read.kind === "text" ? Buffer.byteLength(read.text) : read.bytes.length;
  context.emit("file.read", `Read a file of a skill (${bytes} bytes).`, { ...named, bytes });
  return read.kind === "text" ? { content: [{ type: "text", text: read.text }] } : media(read, named.path);
}

function readOrReject(skills: Skills, named: FileName, context: ToolContext): SkillFile {
  try {
    return skills.read(named.skill, named.path);
  } catch (fault) {
    if (fault instanceof RuntimeFault && fault.cause instanceof FileRejection && fault.cause.isGuard)
      context.emit("file.rejected", "A file of a skill was not read.", { ...named, reason: fault.cause.reason });
    throw fault;
  }
}

function media({ bytes, mediaType }: Extract<SkillFile, { kind: "bytes" }>, path: string): ToolAnswer {
  const [family] = mediaType.split("/");
  const type = family === "image" || family === "audio" ? family : "file";
  return {
    content: [{ type, mediaType, data: Buffer.from(bytes).toString("base64"), name: path.split("/").at(-1) ?? path }],
  };
}

function announce({ skill, digest }: LoadedSkill, active: boolean, context: ToolContext): void {
  const { name, version } = skill;
  context.emit("skill.loaded", `Loaded the skill \`${name}\`.`, { skill: name, version, digest, active });
}

function answer({ skill, instructions, digest, files }: LoadedSkill, note = ""): ToolAnswer {
  const { name, description, version, allowedTools } = skill;
  const about: JsonObject = {
    skill_id: name,
    description: shortened(description),
    version,
    digest,
    allowed_tools: allowedTools,
    files,
  };
  const listed =
    files.length === 0 ? "" : `\n\nFiles of this skill, for \`load_skill\` with \`path\`:\n${files.join("\n")}`;
  return { content: `${note}${instructions}${listed}`, structured: about };
}

function runOf({ principal, runId }: ToolContext): SkillRun {
  return { tenant: principal.tenant, runId, agent: principal.agent };
}

/** The caller can act on faults of skills: their messages name the skill and hold no path of the machine. */
async function orError(run: () => ToolAnswer | Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await run();
  } catch (fault) {
    if (fault instanceof RuntimeFault && fault.code.startsWith("skill_")) return error(fault.message);
    throw fault;
  }
}

function error(text: string): ToolAnswer {
  return { content: [{ type: "text", text }], isError: true };
}
