/**
 * `npm run proof -- skills FOLDER [--json]`: every SKILL.md beneath a folder, checkouts of published skills for example.
 * Each is loaded with its body, or refused with a reason. Any other end is a failure of ours.
 */
import { readdirSync, realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { openSkills } from "../../../packages/postern/src/builtin/skills/open-skills.ts";

interface Count {
  readonly files: number;
  readonly loaded: number;
  readonly shadowed: number;
  readonly clean: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly warned: Readonly<Record<string, number>>;
  readonly unexplained: readonly string[];
  readonly ms: number;
}

const words = process.argv.slice(2);
const [folder] = words.filter((word) => !word.startsWith("--"));
if (folder === undefined) {
  process.stderr.write("Name a folder: npm run proof -- skills FOLDER [--json]\n");
  process.exitCode = 2;
} else {
  const count = await run(realpathSync(resolve(folder)));
  process.stdout.write(words.includes("--json") ? `${JSON.stringify(count, undefined, 2)}\n` : textOf(count));
  if (count.unexplained.length > 0) process.exitCode = 1;
}

async function run(root: string): Promise<Count> {
  const started = performance.now();
  const seen = { files: 0, loaded: 0, shadowed: 0, clean: 0 };
  const refused = new Map<string, number>();
  const warned = new Map<string, number>();
  const unexplained: string[] = [];
  for (const parent of parentsOf(root)) {
    const inside = skillsIn(parent);
    seen.files += inside.length;
    const skills = await openSkills({ folders: [parent] });
    for (const { problem } of skills.refused) add(refused, kindOf(problem));
    seen.shadowed += skills.notes.filter(({ problem }) => problem.includes("was found first")).length;
    for (const { name, warnings } of skills.list()) {
      const { instructions } = skills.load(name);
      seen.loaded += 1;
      if (warnings.length === 0 && instructions !== "") seen.clean += 1;
      for (const kind of new Set(warnings.map(kindOf))) add(warned, kind);
      if (instructions === "") add(warned, "no instructions");
    }
    const problems = new Set([...skills.refused, ...skills.notes, ...skills.list()].map(({ path }) => path));
    unexplained.push(...inside.filter((path) => !problems.has(path)).map((path) => relative(root, path)));
  }
  const ms = Math.round(performance.now() - started);
  return { ...seen, refused: sorted(refused), warned: sorted(warned), unexplained, ms };
}

/** Returns the folders that contain skill folders. It does not follow links, because a checkout may link to itself. */
function parentsOf(root: string): readonly string[] {
  const parents = new Set<string>();
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) walk(join(folder, entry.name));
      else if (isSkillFile(entry.name) && folder !== root) parents.add(dirname(folder));
    }
  };
  walk(root);
  return [...parents].sort();
}

function skillsIn(parent: string): readonly string[] {
  return readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^[._]/.test(entry.name))
    .map(({ name }) => join(parent, name))
    .filter((path) => readdirSync(path).some(isSkillFile));
}

function isSkillFile(name: string): boolean {
  return name === "SKILL.md" || name === "skill.md";
}

/** Removes what differs from file to file, so that equal reasons are counted together. */
function kindOf(sentence: string): string {
  return sentence
    .replace(/ \(its front matter.*?\)|\bline \d+, column \d+/g, "")
    .replace(/^`name` is missing.*/, "name: missing")
    .replace(/^name `.*?`: not the name of its folder.*/, "name: not the name of its folder")
    .replace(/^name `.*?`: \d+ characters/, "name: too many characters")
    .replace(/^name `.*?`: /, "name: ")
    .replace(/\d{2,}/g, "N")
    .replace(/^front matter is not YAML \(.*\) and/, "front matter is not YAML and");
}

function add(counts: Map<string, number>, kind: string): void {
  counts.set(kind, (counts.get(kind) ?? 0) + 1);
}

function sorted(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(([, one], [, other]) => other - one));
}

function textOf({ files, loaded, shadowed, clean, refused, warned, unexplained, ms }: Count): string {
  const lines = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([kind, count]) => `${String(count).padStart(8)}  ${kind}\n`)
      .join("");
  const refusals = Object.values(refused).reduce((sum, count) => sum + count, 0);
  return [
    `${files} files, ${loaded} loaded (${clean} without a warning), ${shadowed} with a name that was taken, ${refusals} refused, ${unexplained.length} unexplained; ${ms} ms\n`,
    `refused:\n${lines(refused)}warned:\n${lines(warned)}`,
    ...unexplained.map((path) => `UNEXPLAINED ${path}\n`),
  ].join("");
}
