import { resolve } from "node:path";
import { counted, messageOf, nearest, RuntimeFault } from "@postern/core";
import {
  skills as contract,
  type SkillList,
  type SkillProblemView,
  type SkillView,
  shape,
  skillList,
} from "@postern/core/contract";
import type { Skills } from "../../builtin/skills/skills.ts";
import { skillsToWire } from "../../server/wire.ts";
import type { CommandGroup } from "../command.ts";
import { quoted } from "../command-name.ts";
import { exitCodes } from "../exit-codes.ts";
import { flagsOf } from "../flags.ts";
import { type Columns, print, type Work } from "../output/print.ts";
import { type Paint, paintFor } from "../output/terminal.ts";
import { labelled, visible } from "../output/text.ts";
import { settingsFor } from "../settings-here.ts";
import { UsageProblem } from "../usage-problem.ts";

const needs = { tools: true } as const;

export function commands(group: CommandGroup): void {
  group.list("list", "what was found", {
    isDefault: true,
    needs,
    rows: "skills",
    ask: ({ operator }) => operator.skills.list(),
    columns,
    empty: "No skills. Name their folder under `skills.folders` in postern.yaml.",
    below: belowTable,
  });
  group.answer("show <name>", "one skill: what it is for, and its warnings", {
    needs,
    ask: async ({ operator }, { name }) => {
      const { skills, refused } = await operator.skills.list();
      const skill = skills.find((one) => one.name === name || one.aliases.includes(name));
      if (skill === undefined) throw new RuntimeFault("skill_unknown", unknownSkill(name, skills, refused.length));
      return skill;
    },
    text: skillText,
  });
  group.run(
    "check [folder...]",
    "read every skill as it lies on the disk now; exit code 1 when one would not be loaded",
    {
      words: { "[folder...]": "the configured ones when left out" },
      run: async ({ sent: { folder: named }, host, flags }) => {
        const { skillFolders, skillLinksAndGroups: linksAndGroups } = await settingsFor(flags);
        const folders = named.length > 0 ? named.map((folder) => resolve(folder)) : skillFolders;
        if (folders.length === 0)
          throw new UsageProblem("Name a folder of skills, or configure `skills.folders` in postern.yaml.");
        const { openSkills } = await import("../../builtin/skills/open-skills.ts");
        const checked = loadAll(await openSkills({ folders, linksAndGroups }));
        print({ host, flags }, checked, checkText(checked, paintFor(host.terminal)));
        return checked.refused.length === 0 ? exitCodes.ok : exitCodes.failed;
      },
    },
  );
  for (const [verb, help] of [
    ["activate", "hold a run to a skill"],
    ["deactivate", "let a run go on without it"],
  ] as const)
    group.answer(`${verb} <name>`, help, {
      flags: flagsOf(contract[verb].body, { run_id: { name: "run", value: "id", help: "of which run" } }),
      needs,
      ask: ({ operator }, sent) => operator.skills[verb](sent),
      text: ({ run_id, active }) => `Active in run ${run_id}: ${active.join(", ") || "none"}.\n`,
    });
}

const columns: Columns<SkillView> = {
  SKILL: ({ name }) => name,
  VERSION: ({ version }) => version,
  TOOLS: ({ allowed_tools }) => allowed_tools.join(" ") || "all",
  WARNINGS: ({ warnings }) => (warnings.length === 0 ? "" : String(warnings.length)),
  "WHAT IT IS FOR": ({ description }) => description,
};

function belowTable({ skills, refused }: SkillList, { command }: Work): string {
  const odd = skills.find(({ warnings }) => warnings.length > 0);
  return [
    odd === undefined ? "" : `\`${command} skills show ${quoted(visible(odd.name))}\` says what its warnings are.\n`,
    refused.length === 0 ? "" : `${refused.length} not loaded: \`${command} skills check\` says why.\n`,
  ].join("");
}

function unknownSkill(name: string, skills: readonly SkillView[], refused: number): string {
  const meant = nearest(
    name,
    skills.map((one) => one.name),
  );
  const guess = meant === undefined ? "`postern skills` lists them." : `Did you mean \`${meant}\`?`;
  const more = refused === 0 ? "" : ` ${refused} were not loaded: \`postern skills check\` says why.`;
  return `There is no skill \`${visible(name)}\`. ${guess}${more}`;
}

function skillText(
  { name, version, description, allowed_tools: tools, path, warnings }: SkillView,
  { paint }: Work,
): string {
  const line = labelled(paint, 10);
  return [
    `${paint("bold", visible(name))} ${visible(version)}\n`,
    line("is for", description),
    line("tools", tools.join(" ") || "all"),
    line("file", path ?? "given in code"),
    ...warnings.map((warning) => line("warning", `${warning}.`)),
  ].join("");
}

/** Loads the instructions too. A running Postern has the skills as they were when it started. */
function loadAll(library: Skills): SkillList {
  const { skills, refused, notes } = shape(skillList, skillsToWire(library));
  const unloadable: SkillProblemView[] = [];
  const loaded: SkillView[] = [];
  for (const skill of skills) {
    try {
      const isEmpty = library.load(skill.name).instructions === "";
      loaded.push(isEmpty ? { ...skill, warnings: [...skill.warnings, "it has no instructions"] } : skill);
    } catch (error) {
      if (!(error instanceof RuntimeFault)) throw error;
      unloadable.push({ path: skill.path ?? skill.name, problem: messageOf(error), fix: "Correct its SKILL.md." });
    }
  }
  return { skills: loaded, refused: [...refused, ...unloadable], notes };
}

function checkText({ skills, refused, notes }: SkillList, paint: Paint): string {
  const line = (level: "ok" | "warn" | "fail", path: string | null, message: string): string => {
    const color = { ok: "green", warn: "yellow", fail: "red" } as const;
    return `${paint(color[level], level.padEnd(4))}  ${visible(path ?? "given in code")}: ${visible(message)}\n`;
  };
  const sentence = ({ problem, fix }: SkillProblemView): string => `${problem}. Fix: ${fix}`;
  const clean = skills.filter(({ warnings }) => warnings.length === 0);
  return [
    ...clean.map(({ path, name, version }) => line("ok", path, `${name} ${version}`)),
    ...skills.flatMap(({ path, warnings }) => warnings.map((warning) => line("warn", path, `${warning}.`))),
    ...notes.map((note) => line("warn", note.path, sentence(note))),
    ...refused.map((problem) => line("fail", problem.path, sentence(problem))),
    `\n${counted(skills.length, "skill")}, ${skills.length - clean.length} with warnings, ${refused.length} refused.\n`,
  ].join("");
}
