import { basename, dirname, join } from "node:path";
import { sha256 } from "@postern/core/system";
import { Silhouettes } from "../../tools/names.ts";
import { FileRejection } from "../files/guard/rejection.ts";
import type { SkillInput } from "./define-skill.ts";
import { type RefusedSkill, readSkillText, type SkillText } from "./front-matter.ts";
import { skillFrom } from "./read-skill.ts";
import { type SkillEntry, SkillFolder } from "./skill-folder.ts";
import { maxSkillBytes, type Skill, type SkillProblem } from "./skills.ts";

/** A skill, and where its files are if it is not defined in code. */
export type FoundSkill = { readonly skill: SkillInput; readonly entry: undefined } | SkillOnDisk;

export interface SkillOnDisk {
  readonly skill: Skill;
  readonly folder: SkillFolder;
  /** Its folder's name in `folder`. */
  readonly entry: string;
  /** The file with its instructions. */
  readonly file: string;
  /** SHA-256 of the front matter as it was read at the start. */
  readonly head: string;
}

export interface Discovered {
  /** By name, in order of the names. */
  readonly found: ReadonlyMap<string, FoundSkill>;
  readonly refused: readonly SkillProblem[];
  readonly notes: readonly SkillProblem[];
}

/** A folder with more entries is no skill folder. */
const maxEntries = 20_000;

/** How many folders lie around a skill's own, its groups, at most. */
const mostGroups = 4;

interface DiscoverOptions {
  readonly folders: readonly string[];
  /** Skills defined in code. They come before those of the folders. */
  readonly skills?: readonly SkillInput[] | undefined;
  /** Follow links to skills, and look for skills in groups: folders without a SKILL.md of their own. */
  readonly linksAndGroups?: boolean | undefined;
}

/** The skills defined in code, then `FOLDER/NAME/SKILL.md` of each folder. Of two skills with one name the first wins. */
export function discover({ folders, skills = [], linksAndGroups = false }: DiscoverOptions): Discovered {
  const search = new Search(linksAndGroups);
  for (const skill of skills) search.add({ skill, entry: undefined });
  for (const folder of folders) search.folder(folder);
  return search.done();
}

class Search {
  readonly #found = new Map<string, FoundSkill>();
  readonly #silhouettes = new Silhouettes();
  readonly #refused: SkillProblem[] = [];
  readonly #notes: SkillProblem[] = [];
  readonly #linksAndGroups: boolean;
  /** Real paths of groups, so that links in a circle end. */
  readonly #groups = new Set<string>();
  #seen = 0;
  /** Folders of the present one, with its groups. */
  #looked = 0;

  constructor(linksAndGroups: boolean) {
    this.#linksAndGroups = linksAndGroups;
  }

  folder(given: string): void {
    const before = this.#seen;
    this.#looked = 0;
    try {
      const folder = new SkillFolder(given);
      this.#groups.add(folder.path);
      this.#entries(folder, 0);
      if (this.#seen === before) this.#notes.push(emptyFolder(folder));
    } catch (error) {
      if (!(error instanceof FileRejection)) throw error;
      this.#refused.push({
        path: given,
        problem: `it ${problemOf(error)}`,
        fix: "Name a folder that holds one folder for each skill.",
      });
    }
  }

  #entries(folder: SkillFolder, groups: number): void {
    const entries = folder.entries();
    this.#looked += entries.length;
    if (this.#looked > maxEntries)
      throw new FileRejection("too_large", `holds ${this.#looked} folders; at most ${maxEntries} are looked at.`);
    for (const entry of entries) this.#entry(folder, entry, groups);
  }

  #entry(folder: SkillFolder, { name, isLink }: SkillEntry, groups: number): void {
    const path = join(folder.path, name);
    const refuse = ({ problem, fix }: RefusedSkill): void => void this.#refused.push({ path, problem, fix });
    if (isLink && !this.#linksAndGroups) {
      refuse({
        problem: "it is a symbolic link; links are not followed",
        fix: "Copy the skill, name the folder it really lies in, or set `skills.links_and_groups: true` if you trust where links lead.",
      });
      return;
    }
    try {
      const place = isLink ? linkedFolder(path) : { folder, name };
      const read = readSkill(place.folder, place.name);
      if (read === undefined) {
        this.#group(join(place.folder.path, place.name), groups + 1);
        return;
      }
      this.#seen += 1;
      if ("problem" in read) refuse(read);
      else this.add(read);
    } catch (error) {
      if (!(error instanceof FileRejection)) throw error;
      refuse({ problem: `it ${problemOf(error)}`, fix: "Correct the link, or remove it." });
    }
  }

  /** A folder without a SKILL.md: a group of skills, or any other folder. */
  #group(path: string, groups: number): void {
    if (!this.#linksAndGroups || groups > mostGroups || this.#groups.has(path)) return;
    this.#groups.add(path);
    this.#entries(new SkillFolder(path), groups);
  }

  add(found: FoundSkill): void {
    const { name, path } = found.skill;
    const first = this.#found.get(name)?.skill;
    if (first !== undefined) {
      const problem = `\`${name}\` is taken by ${placeOf(first)}, which was found first`;
      this.#notes.push({
        path: path ?? name,
        problem,
        fix: "Rename one of them, or remove the one that is not wanted.",
      });
      return;
    }
    const alike = this.#found.get(this.#silhouettes.alike(name) ?? "")?.skill;
    if (alike !== undefined) {
      const problem = `\`${name}\` looks like \`${alike.name}\` (${placeOf(alike)})`;
      this.#notes.push({
        path: path ?? name,
        problem,
        fix: "Rename one of them: a person could take one for the other.",
      });
    }
    this.#found.set(name, found);
    this.#silhouettes.add(name);
  }

  done(): Discovered {
    const sorted = [...this.#found].sort(([one], [other]) => (one < other ? -1 : 1));
    return { found: new Map(sorted), refused: this.#refused, notes: this.#notes };
  }
}

/** Where a link leads now. Later reads open that folder, not the link. @throws FileRejection */
function linkedFolder(path: string): { readonly folder: SkillFolder; readonly name: string } {
  const { path: real } = new SkillFolder(path);
  return { folder: new SkillFolder(dirname(real)), name: basename(real) };
}

/** Returns undefined if it has no SKILL.md. */
function readSkill(folder: SkillFolder, entry: string): SkillOnDisk | RefusedSkill | undefined {
  const read = readText(folder, entry, "SKILL.md") ?? readText(folder, entry, "skill.md");
  if (read === undefined || "problem" in read) return read;
  const { file, text } = read;
  const path = join(folder.path, entry);
  const lower = file === "SKILL.md" ? [] : ["the file should be named `SKILL.md`, in capitals"];
  const skill = skillFrom({ ...text, warnings: [...lower, ...text.warnings] }, entry, path);
  return "problem" in skill ? skill : { skill, folder, entry, file, head: sha256(text.head) };
}

/** Reads a skill's file with its body. `load` reads it again. Returns undefined if there is none. */
export function readText(
  folder: SkillFolder,
  entry: string,
  file: string,
): { readonly file: string; readonly text: SkillText } | RefusedSkill | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(folder.read([entry, file], maxSkillBytes));
    if (text.includes("\0"))
      return { problem: `its ${file} holds NUL characters; it is no text`, fix: "Save it as UTF-8 text." };
    const read = readSkillText(text);
    return "problem" in read ? read : { file, text: read };
  } catch (error) {
    if (error instanceof FileRejection)
      return error.reason === "not_found"
        ? undefined
        : { problem: `its ${file} ${problemOf(error)}`, fix: fixFor(error) };
    if (error instanceof TypeError) return { problem: `its ${file} is not UTF-8 text`, fix: "Save it as UTF-8." };
    throw error;
  }
}

/** A problem has no full stop, because its fix follows in the same line. */
function problemOf({ message }: FileRejection): string {
  return message.replace(/\.$/, "");
}

function fixFor({ reason }: FileRejection): string {
  if (reason === "too_large") return "Move what is long into `references/`; an agent reads that when it needs it.";
  if (reason === "link" || reason === "hard_link") return "Put a copy of the file in its place.";
  return "Make it a plain file that Postern may read.";
}

function placeOf({ path }: Skill): string {
  return path ?? "one given in code";
}

function emptyFolder({ path }: SkillFolder): SkillProblem {
  return {
    path,
    problem: "there are no skills in it",
    fix: "A skill lies at `NAME/SKILL.md` in it; name the folder around the skills' own, or set `skills.links_and_groups: true` if they lie in groups.",
  };
}
