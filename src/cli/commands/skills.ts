import { resolve } from "node:path";
import type { Skills } from "../../builtin/skills/skills.ts";
import { messageOf, RuntimeFault } from "../../core/fault.ts";
import { nearest } from "../../core/nearest.ts";
import { counted } from "../../core/shown.ts";
import { shape } from "../../server/contract/route.ts";
import { type SkillList, type SkillProblemView, type SkillView, skillList } from "../../server/contract/skills.ts";
import { skillsToWire } from "../../server/contract/wire.ts";
import { quoted } from "../command-name.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import type { GlobalFlags, Host } from "../host.ts";
import { printJson, type Work, withPostern } from "../session.ts";
import { type Paint, paintFor } from "../terminal.ts";
import { table, visible } from "../text.ts";
import { UsageProblem } from "../usage-problem.ts";

export async function listSkills(host: Host, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const found = await work.operator.skills.list();
    if (work.json) printJson(work, found);
    else work.terminal.out(listText(work, found));
    return exitCodes.ok;
  });
}

function listText({ command, paint, terminal }: Work, { skills, refused }: SkillList): string {
  const more = refused.length === 0 ? "" : `${refused.length} not loaded: \`${command} skills check\` says why.\n`;
  if (skills.length === 0) return `No skills. Name their folder under \`skills.folders\` in postern.yaml.\n${more}`;
  const rows = skills.map(({ name, version, allowed_tools, warnings, description }) => [
    name,
    version,
    allowed_tools.length === 0 ? "all" : allowed_tools.join(" "),
    warnings.length === 0 ? "" : String(warnings.length),
    description,
  ]);
  const headings = ["SKILL", "VERSION", "TOOLS", "WARNINGS", "WHAT IT IS FOR"];
  const odd = skills.find(({ warnings }) => warnings.length > 0);
  const why =
    odd === undefined ? "" : `\`${command} skills show ${quoted(visible(odd.name))}\` says what its warnings are.\n`;
  return `${table(headings, rows, { terminal, paint })}${why}${more}`;
}

export async function showSkill(host: Host, name: string, flags: GlobalFlags): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const { skills, refused } = await work.operator.skills.list();
    const skill = skills.find((one) => one.name === name || one.aliases.includes(name));
    if (skill === undefined) throw new RuntimeFault("skill_unknown", unknownSkill(name, skills, refused.length));
    if (work.json) printJson(work, skill);
    else work.terminal.out(skillText(work, skill));
    return exitCodes.ok;
  });
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

function skillText({ paint }: Work, skill: SkillView): string {
  const { name, version, description, allowed_tools: tools, path, warnings } = skill;
  const line = (label: string, text: string): string => `  ${paint("dim", label.padEnd(10))} ${text}\n`;
  return [
    `${paint("bold", visible(name))} ${visible(version)}\n`,
    line("is for", visible(description)),
    line("tools", tools.length === 0 ? "all" : visible(tools.join(" "))),
    line("file", visible(path ?? "given in code")),
    ...warnings.map((warning) => line("warning", paint("yellow", visible(`${warning}.`)))),
  ].join("");
}

/** As they lie on the disk now, instructions included; a running Postern has them as they were when it started. */
export async function checkSkills(host: Host, given: readonly string[], flags: GlobalFlags): Promise<ExitCode> {
  const folders = given.length > 0 ? given.map((folder) => resolve(folder)) : (await host.inspect(flags)).skillFolders;
  if (folders.length === 0)
    throw new UsageProblem("Name a folder of skills, or configure `skills.folders` in postern.yaml.");
  const { openSkills } = await import("../../builtin/skills/open-skills.ts");
  const checked = loadingAll(await openSkills({ folders }));
  if (flags.json === true) printJson(host, checked);
  else host.terminal.out(checkText(checked, paintFor(host.terminal)));
  return checked.refused.length === 0 ? exitCodes.ok : exitCodes.failed;
}

function loadingAll(library: Skills): SkillList {
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

/** By the operator: an agent can hold itself to a skill, and never let itself go. */
export async function switchSkill(
  host: Host,
  { verb, name }: { readonly verb: "activate" | "deactivate"; readonly name: string },
  { run = "", ...flags }: GlobalFlags & { readonly run?: string },
): Promise<ExitCode> {
  return withPostern({ host, flags, needs: { tools: true } }, async (work) => {
    const { operator } = work;
    const now = await operator.skills[verb]({ name, run_id: run });
    if (work.json) printJson(work, now);
    else
      work.terminal.out(`Active in run ${now.run_id}: ${now.active.length === 0 ? "none" : now.active.join(", ")}.\n`);
    return exitCodes.ok;
  });
}
