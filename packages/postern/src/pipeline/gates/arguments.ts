import { type Clock, copyOf, type Json, type JsonObject, messageOf, referenceKey } from "@postern/core";
import { readArguments } from "../../call/arrival.ts";
import { type Ending, isEnding, refuse } from "../../call/ending.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import { runForeign } from "../../tools/run-foreign.ts";
import { issueText } from "../../tools/schema/issues.ts";
import type { Issue, Parsed } from "../../tools/tool.ts";
import { filledInput, sureBytes, wantedIn } from "./filled-input.ts";
import { pathText, type Reference, referencesIn, resolvedArguments } from "./references.ts";
import type { FoundCall, ValidCall } from "./stages.ts";

export interface ArgumentParts {
  readonly artifacts: ArtifactStore;
  readonly redactor: Redactor;
  readonly clock: Clock;
}

/**
 * The arguments must be readable, free of secrets and fit the schema; each artifact they name must exist and be the
 * caller's. A reference passes the schema in place of its value; its bytes are checked again where the tool runs.
 */
export function checkArguments(call: FoundCall, parts: ArgumentParts): Promise<ValidCall | Ending> | Ending {
  if (call.problem !== undefined) return refuse("arguments_invalid", call.problem);
  if (parts.redactor.finds(call.text)) return refuse("secret_in_arguments", secretText(call.arguments, parts.redactor));
  if (call.text.includes(`"${referenceKey}":`)) return checkReferences(call, parts);
  return checkSchema(call, [], parts.clock);
}

async function checkReferences(call: FoundCall, parts: ArgumentParts): Promise<ValidCall | Ending> {
  const references = referencesIn(call.arguments);
  for (const { digest, path } of references) {
    if (!(await parts.artifacts.mayUse(digest, call.authority.principal))) {
      return refuse(
        "artifact_unavailable",
        `${path.length === 0 ? "`$artifact`" : `\`${path.join(".")}\``} names the artifact \`${digest.slice(0, 64)}\`, which is missing or not yours; the tool was not run.`,
      );
    }
  }
  const valid = await checkSchema(call, references, parts.clock);
  if (isEnding(valid) || references.length === 0) return valid;
  const misfit = await bytesFault(valid, parts);
  if (misfit !== undefined) return misfit;
  try {
    const { arguments: given, artifacts } = await resolvedArguments(valid, parts.artifacts, references);
    const masked = artifacts.map((one) =>
      one.text === undefined ? one : { ...one, text: parts.redactor.redact(one.text) },
    );
    return { ...valid, resolved: { arguments: given, artifacts: masked } }; // people see masked text
  } catch (error) {
    return refuse("artifact_unavailable", `${parts.redactor.redact(messageOf(error))} The tool was not run.`);
  }
}

/** Names the argument that holds the secret. */
function secretText(given: Json, redactor: Redactor): string {
  const path = secretPath(given, redactor, []);
  const where = path === undefined ? "Several arguments together hold" : `\`${redactor.redact(pathText(path))}\` holds`;
  return `${where} a secret, so the tool was not run; name it by reference instead.`;
}

function secretPath(given: Json, redactor: Redactor, path: Reference["path"]): Reference["path"] | undefined {
  if (typeof given !== "object" || given === null) return redactor.finds(JSON.stringify(given)) ? path : undefined;
  const inner: readonly (readonly [string | number, Json])[] = Array.isArray(given)
    ? (given as readonly Json[]).map((one, i) => [i, one] as const)
    : Object.entries(given as JsonObject);
  for (const [step, value] of inner) {
    const found = secretPath(value, redactor, [...path, step]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Larger artifacts are checked only where the tool runs. */
const checkedBytes = 16 * 2 ** 20;

/** The bytes of artifacts are part of the arguments: what does not fit is refused before the claim. */
async function bytesFault(call: ValidCall, { artifacts, redactor }: ArgumentParts): Promise<Ending | undefined> {
  try {
    let bytes = 0;
    for (const { digest, wants } of wantedIn(call))
      if (wants !== "reference") bytes += (await artifacts.meta(digest, call.authority.principal)).bytes;
    if (bytes > checkedBytes && bytes <= sureBytes) return undefined;
    const parsed = await filledInput(call, artifacts);
    if ("input" in parsed) return undefined;
    if ("unusable" in parsed) return refuse("tool_unavailable", `${parsed.unusable} The tool was not run.`);
    return refuse("arguments_invalid", sentence(call.tool, parsed.issues));
  } catch (error) {
    return refuse("artifact_unavailable", `${redactor.redact(messageOf(error))} The tool was not run.`);
  }
}

async function checkSchema(
  call: FoundCall,
  references: readonly Reference[],
  clock: Clock,
): Promise<ValidCall | Ending> {
  const result = await parsed(call, clock);
  const shorter = "issues" in result ? withoutNulls(call) : undefined;
  if (shorter === undefined) return checkParsed(call, result, references);
  return checkParsed(shorter, await parsed(shorter, clock), references);
}

/** Limit of a schema check, in milliseconds. */
const checkingTimeoutMs = 10_000;

/**
 * Models send null for an optional member that they leave out. If the schema refuses it, the call continues without that
 * member: from here on it has the arguments, the text and the digest of the shorter call. Returns undefined if nothing can
 * be left out.
 */
function withoutNulls(call: FoundCall): FoundCall | undefined {
  if (!call.text.includes("null")) return undefined;
  const shorter = call.found.withoutAbsent(call.arguments);
  return shorter === call.arguments ? undefined : { ...call, ...readArguments(shorter) };
}

export async function parsed({ found, arguments: given }: FoundCall, clock: Clock): Promise<Parsed> {
  const ran = await runForeign(() => found.parse(copyOf(given)), { clock, limitMs: checkingTimeoutMs });
  if (ran.ran === "returned") return ran.value;
  if (ran.ran === "threw") throw ran.error;
  return { issues: [{ path: [], message: `could not be checked within ${checkingTimeoutMs} ms` }] };
}

function checkParsed(call: FoundCall, parsed: Parsed, references: readonly Reference[]): ValidCall | Ending {
  if ("unusable" in parsed) return refuse("tool_unavailable", `${parsed.unusable} The tool was not run.`);
  const issues =
    "issues" in parsed
      ? parsed.issues.filter((issue) => !references.some((reference) => isWithin(issue, reference)))
      : [];
  if (issues.length > 0)
    return refuse(
      "arguments_invalid",
      sentence(call.tool, issues),
      issues.slice(0, 20).map(({ path, message }) => ({ path: path.join("."), message })),
    );
  const input = "input" in parsed ? parsed.input : undefined;
  return { ...call, input, references: references.map(({ digest }) => digest) } as unknown as ValidCall;
}

function isWithin(issue: Issue, reference: Reference): boolean {
  return reference.path.every((step, i) => String(issue.path[i]) === String(step));
}

function sentence(tool: string, issues: readonly Issue[]): string {
  const more = issues.length > 5 ? ` and ${issues.length - 5} more` : "";
  const sentences = issues.slice(0, 5).map((issue) => issueText(issue).replace(/\.$/, ""));
  return `The arguments do not fit \`${tool}\`; it was not run: ${sentences.join("; ")}${more}.`;
}
