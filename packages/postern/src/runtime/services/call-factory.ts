import {
  type Authority,
  type Clock,
  isJsonObject,
  newCallId,
  type Principal,
  RuntimeFault,
  shown,
  type ToolCall,
} from "@postern/core";
import { nameOf, readArguments } from "../../call/arrival.ts";
import {
  authorityOf,
  type CallClaims,
  checkPrincipal,
  keptItem,
  type PerCall,
  patienceRanks,
  perCallFault,
  withinSession,
} from "../../call/authority.ts";
import type { Caller, Limits, Patience, Session } from "../../call/session.ts";
import type { Controls } from "../../policy/controls.ts";
import type { Redactor } from "../../secrets/secret-store.ts";
import type { CallContext, CallRequest } from "../api/api.ts";

/** What names a call beside its own id: its key, its parent call, and its batch. */
export type CallPlace = Pick<
  ToolCall,
  "idempotencyKey" | "toolCallId" | "turn" | "providerItem" | "parentId" | "batch"
>;
type RequestedClaims = Pick<CallContext, "principal" | "runId"> &
  CallClaims &
  Pick<PerCall, "idempotencyKey" | "toolCallId" | "turn">;

export interface CallFactoryOptions {
  readonly clock: Clock;
  readonly controls: Pick<Controls, "state">;
  /** The most that a caller is granted. */
  readonly patience: Patience;
  readonly redactor: Redactor;
  readonly knows: (tool: string, action: string) => boolean;
  /** The tool whose calls arrive under a type of its provider. */
  readonly toolOfCallType: (type: string) => string | undefined;
}

/** Far longer than the stored part of a name, so a secret cannot cross its end unseen. */
const longestName = 100_000;
const longestReason = 2000;
/** Reading them can take a check of the schema for each. */
const mostTexts = 100;

/** Makes calls and callers from arguments of the public API: ids, an own copy of the arguments, narrowed claims. */
export class CallFactory {
  readonly #options: CallFactoryOptions;

  constructor(options: CallFactoryOptions) {
    this.#options = options;
  }

  arrive(): Pick<ToolCall, "id" | "arrivedAt"> {
    const arrivedAt = this.#options.clock.now();
    return { id: newCallId(arrivedAt), arrivedAt };
  }

  /** The principal that asks to continue a recorded call. @throws RuntimeFault `context_invalid` */
  asker(context: CallContext): Principal | undefined {
    checkContext(context);
    const fault = perCallFault(context);
    if (fault !== undefined) throw fault;
    if (context.principal !== undefined) checkPrincipal(context.principal);
    return context.principal;
  }

  /** @throws RuntimeFault `context_invalid` */
  authority(context: CallContext, limits: Limits): Authority {
    const { controls, clock } = this.#options;
    checkContext(context);
    this.#refuseSecrets(context);
    return authorityOf(context, controls.state.autonomy, limits, clock.now());
  }

  /** @throws RuntimeFault `context_invalid` */
  within(session: Authority, claims: CallClaims & PerCall): Authority {
    checkContext(claims);
    this.#refuseSecrets(claims);
    return withinSession(session, claims);
  }

  /** Claims are stored and matched unchanged, so a secret in them cannot be masked later. */
  #refuseSecrets({
    principal,
    runId,
    traceId,
    taskId,
    stepId,
    scopes,
    idempotencyKey,
    toolCallId,
    turn,
  }: RequestedClaims): void {
    if ((principal ?? scopes ?? runId ?? traceId ?? taskId ?? stepId ?? idempotencyKey ?? toolCallId) === undefined)
      return;
    const texts = [runId, traceId, taskId, stepId, idempotencyKey, toolCallId, turn];
    if (typeof principal === "object" && principal !== null)
      texts.push(principal.tenant, principal.agent, principal.user, principal.via, principal.owner);
    if (Array.isArray(scopes)) texts.push(...scopes);
    const text = texts.filter((one) => typeof one === "string").join("\n");
    if (text === "" || !this.#options.redactor.finds(text)) return;
    throw new RuntimeFault(
      "context_invalid",
      "The call's context holds a secret (its principal, run, trace, task, step, scopes or key); name things without it.",
    );
  }

  /** The name of a registered tool unchanged; any other text may hold secrets. */
  #named(tool: unknown, action: unknown): { readonly tool: string; readonly action: string } {
    const { redactor, knows, toolOfCallType } = this.#options;
    if (typeof tool === "string" && typeof action === "string") {
      if (knows(tool, action)) return { tool, action };
      const meant = toolOfCallType(tool);
      if (meant !== undefined) return { tool: meant, action };
    }
    // Masked before it is cut, because a part of a secret would not be recognised.
    const masked = (name: unknown): string =>
      nameOf(typeof name === "string" ? redactor.redact(name.slice(0, longestName)) : name);
    return { tool: masked(tool), action: masked(action) };
  }

  call(request: CallRequest, authority: Authority, more: CallPlace = {}): ToolCall {
    const { idempotencyKey, toolCallId, turn, providerItem: item, parentId, batch } = more;
    if (typeof request !== "object" || request === null) {
      throw new RuntimeFault(
        "request_invalid",
        `The request is ${shown(request)}; it must be { tool, action?, arguments? }.`,
      );
    }
    const { tool, action = "default" } = request;
    const { given, texts } = givenIn(request);
    const { id, arrivedAt } = this.arrive();
    const { arguments: own, text, digest, problem } = readArguments(given);
    const known = this.#named(tool, action);
    return Object.freeze({
      id,
      ...known,
      arguments: own,
      text,
      digest,
      authority,
      arrivedAt,
      problem,
      texts,
      parentId,
      idempotencyKey,
      toolCallId,
      turn,
      providerItem: item && keptItem(item, (text) => this.#options.redactor.redact(text)),
      batch,
    });
  }

  caller(
    session: Session,
    { patience, signal, deadline, approvalWaitMs, onProgress, reason, requestMeta, client }: PerCall,
  ): Caller {
    const { clock, patience: granted } = this.#options;
    return {
      session,
      patience: patience === undefined || patienceRanks[patience] > patienceRanks[granted] ? granted : patience,
      choseDeny: patience === "deny" && granted !== "deny",
      signal,
      deadline: deadline === undefined ? undefined : clock.monotonic() + (deadline - clock.now()),
      approvalWaitMs,
      progress: onProgress,
      requestMeta,
      client,
      reason: reason === undefined ? undefined : this.#options.redactor.redact(reason).slice(0, longestReason),
    };
  }
}

/** @throws RuntimeFault `request_invalid` */
function givenIn({ arguments: given, textArguments }: CallRequest): {
  readonly given: unknown;
  readonly texts?: readonly string[];
} {
  if (textArguments === undefined) return { given };
  const typed: unknown = textArguments;
  if (!isJsonObject(typed) || Object.values(typed).some((text) => typeof text !== "string"))
    throw new RuntimeFault("request_invalid", "The text arguments must be an object of texts.");
  const texts = Object.keys(typed);
  if (texts.length > mostTexts)
    throw new RuntimeFault(
      "request_invalid",
      `There are ${texts.length} text arguments, and a call may have ${mostTexts}; send the others as JSON in \`arguments\`.`,
    );
  const twice = isJsonObject(given) ? texts.find((name) => Object.hasOwn(given, name)) : undefined;
  if (twice !== undefined)
    throw new RuntimeFault(
      "request_invalid",
      `The argument ${shown(twice)} is given twice, as JSON and as text; send it once.`,
    );
  return given === undefined || isJsonObject(given) ? { given: { ...given, ...typed }, texts } : { given };
}

/** @throws RuntimeFault `context_invalid` */
export function checkContext(context: unknown): void {
  if (typeof context === "object" && context !== null) return;
  throw new RuntimeFault("context_invalid", `The call's context is ${shown(context)}; it must be an object.`);
}
