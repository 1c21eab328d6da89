/** The active policy of gateways that share a store, as text: from a file, for people who edit it, and back into a policy. */
import { canonical, type JsonObject, RuntimeFault, toCamelCase } from "@postern/core";
import { sha256 } from "@postern/core/system";
import { stringify } from "yaml";
import { z } from "zod";
import type { PolicyParts } from "../policy/current-policy.ts";
import type { Guardrail } from "../policy/guardrails/guardrails.ts";
import { guardrailsFrom, guardrailsSchema } from "../policy/guardrails/guardrails-config.ts";
import type { ActivePolicy, PolicyDifference, SharedPolicy, WrittenPolicy } from "../policy/shared-policy.ts";
import type { EditablePolicyFile, PolicyDocument, PolicyReloaded } from "../server/policy-reader.ts";
import { configKeys, configOpaque } from "./config-schema.ts";
import { policyOf, textIn } from "./load.ts";
import { atSameLine, findSection, withSection } from "./policy-section.ts";
import { asFault, checkCedarFile, type NamedConfiguration, parsedText, policySectionShape } from "./policy-text.ts";

const sections = z.looseObject({ ...policySectionShape, guardrails: guardrailsSchema.optional() });

/**
 * What decides about calls in the text of a configuration. Its other sections are not read.
 *
 * @param textOf reads its Cedar files
 * @throws RuntimeFault `policy_invalid` with every mistake, a line each
 */
export async function writtenPolicy(
  { name, text }: NamedConfiguration,
  textOf: (file: string) => Promise<string>,
): Promise<WrittenPolicy> {
  try {
    const { data } = parsedText({ name, text }, sections, configKeys);
    const { policy = {}, guardrails = [], autonomy = "A2" } = data;
    const files: Record<string, string> = {};
    for (const file of [policy.cedar?.policies, policy.cedar?.schema]) {
      if (file !== undefined) files[file] = await textOf(file).catch(notRead(file));
    }
    const section = findSection(name, text) ?? { text: stringify({ policy }), line: 1 };
    return { name, text: section.text, line: section.line, guardrails: asData(guardrails), autonomy, files };
  } catch (error) {
    throw asFault(error);
  }
}

function notRead(file: string): (error: unknown) => never {
  return (cause) => {
    if (cause instanceof RuntimeFault) throw cause;
    throw new RuntimeFault("policy_invalid", `The Cedar file \`${file}\` cannot be read.`, { cause });
  };
}

/** A text that came over HTTP may name only Cedar files of the gateway's own folder. */
function textOfSent(base: string): (file: string) => Promise<string> {
  return async (file) => {
    await checkCedarFile(file, base);
    return textIn(base)(file);
  };
}

/** They were read from YAML. */
function asData(guardrails: readonly object[]): readonly JsonObject[] {
  return JSON.parse(JSON.stringify(guardrails));
}

/**
 * Turns written policies into policies. A guardrail that does not change stays the same object.
 *
 * @param fixed the level that the start of this gateway asked for; it wins
 */
export function policyPartsReader(fixed: PolicyParts["autonomy"]): (written: WrittenPolicy) => Promise<PolicyParts> {
  let known: ReadonlyMap<string, Guardrail> = new Map();
  return async ({ name, text, line, guardrails: data, autonomy, files }) => {
    try {
      const { data: read, locate } = parsedText({ name, text: atSameLine({ line }, text) }, sections, configKeys);
      const policy = await policyOf({ policy: read.policy ?? {} }, locate, async (file) => {
        const content = Object.hasOwn(files, file) ? files[file] : undefined;
        if (content === undefined) throw new Error("it is not in the store");
        return content;
      });
      const texts = data.map((one) => canonical(one as JsonObject)); // it was stored as JSON
      const checked = guardrailsSchema.parse(data);
      const made = guardrailsFrom(toCamelCase(checked, configOpaque));
      const guardrails = made.map((one, i) => known.get(texts[i] ?? "") ?? one);
      known = new Map(guardrails.map((one, i) => [texts[i] ?? "", one]));
      return { policy, guardrails, autonomy: fixed ?? autonomy };
    } catch (error) {
      throw asFault(error);
    }
  };
}

export interface SharedPolicyFileOptions {
  readonly shared: SharedPolicy;
  /** This gateway's own configuration. */
  readonly name: string;
  /** Folder of its Cedar files. */
  readonly base: string;
  /** `console.edit_policy`. */
  readonly mayEdit: boolean;
  readonly redact: (text: string) => string;
}

/** Where the store is shared, what people edit is the document. The file of a gateway is only where it may come from. */
export function openSharedPolicyFile(options: SharedPolicyFileOptions): EditablePolicyFile {
  const { shared, name, base } = options;
  return {
    read: async () => documentOf(await shared.active(), options),
    reload: async () => ({
      reloaded: false,
      message: `Gateways share this store, so the policy in force is the active one there. \`postern policy activate ${name}\` makes that of this file the active one.`,
    }),
    activate: async (configuration, author) => {
      const written = await writtenPolicy(configuration, textOfSent(base));
      return activated(written.name, await shared.activate(() => written, author));
    },
    save: async ({ text, expectedDigest, activate }) => {
      const refused = (why: "policy_not_editable" | "policy_changed", message: string) =>
        ({ saved: false, why, message }) as const;
      if (activate === undefined)
        return refused("policy_not_editable", "In a shared store, what is saved is in force: send `activate: true`.");
      const { whyNot } = documentOf(await shared.active(), options);
      if (whyNot !== undefined) return refused("policy_not_editable", whyNot);
      const made = await shared.activate(async (active) => {
        if (sha256(active.text) !== expectedDigest) return undefined;
        const whole = withSection(active.text, { start: 0, end: active.text.length, line: 1, text, digest: "" }, text);
        const edited = await writtenPolicy({ name: active.name, text: atSameLine(active, whole) }, textOfSent(base));
        const { guardrails, autonomy } = active;
        return { ...edited, guardrails, autonomy };
      }, activate);
      if (made === undefined)
        return refused(
          "policy_changed",
          "The active policy was changed since it was read. Read it again and repeat the change.",
        );
      const now = await shared.active();
      return { saved: true, name: now.name, digest: sha256(now.text), activated: { ...made, restart: [] } };
    },
  };
}

function activated(name: string, difference: PolicyDifference | undefined): PolicyReloaded {
  if (difference === undefined) throw new RuntimeFault("internal", "An active policy was not replaced.");
  return { reloaded: true, name, ...difference, restart: [] };
}

function documentOf({ name, text, line }: ActivePolicy, { mayEdit, redact }: SharedPolicyFileOptions): PolicyDocument {
  const shown = redact(text);
  const document = { name, text: shown, line, digest: sha256(text), differs: [] };
  if (shown !== text)
    return { ...document, whyNot: "The policy holds what looks like a secret; it is masked here. Activate a file." };
  if (mayEdit) return document;
  const whyNot = "Saving from here is off: set `console.edit_policy: true` in the configuration, or activate a file.";
  return { ...document, whyNot };
}
