import { access, chmod, constants, copyFile, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname } from "node:path";
import { type Clock, defined, RuntimeFault } from "@postern/core";
import { codeOf, sha256 } from "@postern/core/system";
import type {
  EditablePolicyFile,
  PolicyAuthor,
  PolicyDocument,
  PolicyReloaded,
  PolicySaved,
} from "../server/policy-reader.ts";
import { writeWhole } from "../system/whole-file.ts";
import type { PolicyInForce } from "./policy-in-force.ts";
import { atSameLine, findSection, type PolicySection, withSection } from "./policy-section.ts";
import { isCode, readPolicyText } from "./policy-text.ts";

export interface PolicyFileOptions {
  /** The configuration, absolute. */
  readonly file: string;
  /** `console.edit_policy`. */
  readonly mayEdit: boolean;
  readonly clock: Clock;
  /** A text that it changes holds a secret, so it must not be edited here. */
  readonly redact: (text: string) => string;
  readonly inForce: PolicyInForce;
}

interface SectionLookup {
  readonly file: string;
  /** Undefined if the policy cannot be separated from the rest of the file. */
  readonly section: PolicySection | undefined;
  readonly whyNot?: string;
}

/** The policy in a `postern.yaml`. */
export function openPolicyFile(options: PolicyFileOptions): EditablePolicyFile {
  const name = basename(options.file);
  /** Changes run one after another, because each is compared with the file that the last one left. */
  let writing: Promise<unknown> = Promise.resolve();
  function inTurn<Answer>(then: () => Promise<Answer>): Promise<Answer> {
    const done = writing.then(then);
    writing = done.catch(() => undefined); // the caller gets the error
    return done;
  }
  return {
    async read(): Promise<PolicyDocument> {
      const { section, whyNot } = await look(options);
      const text = options.redact(section?.text ?? "");
      const { line = 1, digest = sha256("") } = section ?? {};
      const differs = (await options.inForce.differs()).map(options.redact); // mistakes of any section are among them
      return { name, text, line, digest, ...defined({ whyNot }), differs };
    },
    save: (change, onSaved) => inTurn(() => save(options, change, onSaved)),
    reload: (author) => inTurn(() => reload(options, author)),
    activate: async () => ({
      reloaded: false,
      message: `This store belongs to one Postern, so \`${name}\` is the truth: change that file, then run \`postern policy reload\`.`,
    }),
  };
}

const notAlone = "The policy cannot be separated from the rest of the file. Edit the file itself.";

async function look(options: PolicyFileOptions): Promise<SectionLookup> {
  const path = options.file;
  if (!/^\.ya?ml$/.test(extname(path).toLowerCase()))
    return {
      file: "",
      section: undefined,
      whyNot: `\`${basename(path)}\` is not a YAML file, so the policy cannot be separated from the rest. Edit the file itself.`,
    };
  const file = await textOf(path).catch(() => undefined); // the sentence below has all that helps
  if (file === undefined)
    return { file: "", section: undefined, whyNot: `\`${basename(path)}\` cannot be read as UTF-8 text.` };
  const section = findSection(basename(path), file);
  if (section === undefined) return { file, section, whyNot: notAlone };
  const whyNot = await whyNotSaved(options, section);
  return { file, section, ...defined({ whyNot }) };
}

async function whyNotSaved(
  { file: path, mayEdit, redact }: PolicyFileOptions,
  section: PolicySection,
): Promise<string | undefined> {
  if (redact(section.text) !== section.text)
    return "The policy holds what looks like a secret; it is masked here. Edit the file itself.";
  if (!mayEdit)
    return "Saving from here is off: set `console.edit_policy: true` in the configuration, or edit the file.";
  try {
    const target = await realpath(path);
    await Promise.all([access(target, constants.W_OK), access(dirname(target), constants.W_OK)]);
    return undefined;
  } catch (error) {
    if (codeOf(error) !== "EROFS") return `\`${basename(path)}\` cannot be written by Postern (${codeOf(error)}).`;
    return `\`${path}\` lies on a read-only mount. Change the file where it comes from, then run \`postern policy reload\`.`;
  }
}

async function save(
  options: PolicyFileOptions,
  { text, expectedDigest, activate }: Parameters<EditablePolicyFile["save"]>[0],
  onSaved: Parameters<EditablePolicyFile["save"]>[1],
): Promise<PolicySaved> {
  const { file, section, whyNot } = await look(options);
  if (section === undefined || whyNot !== undefined)
    return { saved: false, why: "policy_not_editable", message: whyNot ?? notAlone };
  if (section.digest !== expectedDigest) return changed();
  const name = basename(options.file);
  const made = withSection(file, section, text);
  await readPolicyText({ name, text: atSameLine(section, text) }, dirname(options.file));
  const digest = findSection(name, made)?.digest;
  if (digest === undefined)
    throw new RuntimeFault("policy_invalid", "This cannot be saved: write the policy as a block.");
  const checked = activate && (await options.inForce.check(made)); // the rest of the file may have changed too
  await onSaved({ name, before: section.digest, after: digest });
  if ((await textOf(options.file)) !== file) return changed();
  const target = await realpath(options.file);
  const { mode } = await stat(target);
  const kept = `${target}.before-${new Date(options.clock.now()).toISOString().replaceAll(/[:.]/g, "-")}`;
  await copyFile(target, kept);
  await writeWhole(target, made);
  await chmod(target, mode & 0o777);
  const saved = { saved: true, name, digest, kept: basename(kept) } as const;
  if (activate === undefined || checked === undefined) return saved;
  return { ...saved, activated: await options.inForce.activate(checked, { ...activate, source: name }) };
}

async function reload({ file, inForce }: PolicyFileOptions, author: PolicyAuthor): Promise<PolicyReloaded> {
  const name = basename(file);
  if (isCode(file))
    return {
      reloaded: false,
      message: `\`${name}\` is code, which is run once. Stop Postern and start it again.`,
    };
  const activated = await inForce.activate(await inForce.check(), { ...author, source: name });
  return { reloaded: true, name, ...activated };
}

function changed(): PolicySaved {
  const message = "The policy in the file was changed since it was read. Read it again and repeat the change.";
  return { saved: false, why: "policy_changed", message };
}

async function textOf(path: string): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(path));
}
