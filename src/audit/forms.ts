/**
 * The two events of an ordinary call, spelled from fragments: what is fixed for an authority, an action and a weighing
 * is written once. Invariant: the text is byte for byte `canonical(auditBody(event))`.
 * Joined, not added up: the text is hashed and bound, and a rope of so many parts costs each of them a microsecond.
 */
import { Arrival } from "../calls/arrival.ts";
import type { Authority, ToolCall } from "../calls/call.ts";
import { type DurableEvent, type EndName, endWords, type Weighing, words } from "../calls/event.ts";
import { canonical } from "../calls/json.ts";
import type { RefusalCode } from "../calls/refusals.ts";
import type { Formed } from "../stores/store.ts";
import { attemptedSummary, endSummary } from "./audit-words.ts";
import { type Clean, callFields, nameOf, refsOf, weighingFields } from "./fields.ts";
import { responseHash } from "./response-hash.ts";
import type { Timestamps } from "./timestamps.ts";

type Attempted = Extract<DurableEvent, { readonly moment: "attempted" }>;
type Ended = Extract<DurableEvent, { readonly moment: "ended" }>;

/** Of one action of one tool, and of all authorities that differ in their trace at most. */
interface Form {
  /** `"action":…,"autonomy_level":…` */
  readonly head: string;
  /** `"principal":…` */
  readonly principal: string;
  /** `"run":…,"step":…,"task":…,"tool_call":"` */
  readonly run: string;
  /** `"tenant":…,"timestamp":"` */
  readonly tenant: string;
  /** `","tool_name":…,"trace_id":"`: the trace is what differs between authorities that are alike. */
  readonly tool: string;
  readonly name: string;
  readonly weighed: WeakMap<Weighing, WeighedForm>;
}

/** The same for one weighing; each the text between two things that differ from call to call. */
interface WeighedForm {
  /** Ends in `"refs":{`: an approval and a key may follow. */
  readonly attempted: string;
  /** Of a call without them; between these stand its id, digest, time and trace. */
  readonly fragments: readonly [string, string, string, string, string];
  readonly ends: Map<string, EndForm>;
}

interface EndForm {
  /** Ends in `"refs":{`. */
  readonly refs: string;
  /** Between these stand latency, id, digest, time and trace. */
  readonly fragments: readonly [string, string, string, string, string, string];
}

/** Tools a model makes up never come here, but an authority may live long and tools come and go. */
const mostForms = 1000;
/** What needs no escapes as JSON: ids and digests of our own making. */
const plain = /^[\w.:-]*$/;
const ordinaryEnds: ReadonlySet<EndName> = new Set(["succeeded", "failed", "unknown"]);
const thousandths: readonly string[] = Array.from({ length: 1000 }, (_, us) =>
  us === 0 ? "" : `.${String(us).padStart(3, "0").replace(/0+$/, "")}`,
);

export class Forms {
  readonly #clean: Clean;
  readonly #timestamps: Timestamps;
  readonly #byName = new Map<string, Map<string, Map<string, Form>>>();
  #plainTrace = "";
  readonly #forms = new WeakMap<Authority, Map<string, Map<string, Form>>>();

  constructor(clean: Clean, timestamps: Timestamps) {
    this.#clean = clean;
    this.#timestamps = timestamps;
  }

  /** Undefined when it is no ordinary event: then the general way spells it. */
  spell(event: DurableEvent): string | Formed | undefined {
    if (event.moment === "attempted") return this.#attempted(event);
    return event.moment === "ended" && ordinaryEnds.has(event.as) ? this.#ended(event) : undefined;
  }

  #attempted({ call, at, key, weighing, approvalId }: Attempted): string | Formed | undefined {
    if (call.providerItem !== undefined || !this.#isPlain(call)) return undefined;
    const form = this.#formOf(call);
    const weighed = this.#weighedOf(form, weighing);
    const time = this.#timestamps.spell(at);
    const { fragments } = weighed;
    const [start, hash, stage, tool, end] = fragments;
    const { id, digest, authority, parentId } = call;
    const { traceId } = authority;
    const { grant } = weighing;
    const isPlain = approvalId === undefined && key === id && parentId === undefined && grant === undefined;
    const parent = parentId === undefined ? "" : `"parent":${JSON.stringify(parentId)},`;
    const own = isPlain ? start : weighed.attempted + leadingRefs(call, { key, approvalId, grant }) + parent + form.run;
    const body = [own, id, hash, digest, stage, time, tool, traceId, end].join("");
    return isPlain ? { body, fragments, fields: [id, digest, time, traceId] } : body;
  }

  #ended(event: Ended): string | Formed | undefined {
    const { call, at, as, outcome, weighing, code, approvalId, latencyMs } = event;
    if (weighing === undefined || outcome.artifact !== undefined) return undefined;
    if (event.by !== undefined || event.reason !== undefined) return undefined;
    if (!this.#isPlain(call) || !(latencyMs >= 0 && latencyMs < 1e9)) return undefined;
    const form = this.#formOf(call);
    const end = this.#endOf(form, weighing, as, code);
    const us = Math.round(latencyMs * 1000);
    const latency = `${Math.floor(us / 1000)}${thousandths[us % 1000]}`;
    const digest = responseHash(outcome);
    const time = this.#timestamps.spell(at);
    const { fragments } = end;
    const [start, refs, hash, stage, tool, last] = fragments;
    const { id, authority, resumes } = call;
    const { traceId } = authority;
    const isPlain = approvalId === undefined && resumes === undefined;
    const own = isPlain ? refs : end.refs + leadingRefs(call, { key: resumes, approvalId }) + form.run;
    const body = [start, latency, own, id, hash, digest, stage, time, tool, traceId, last].join("");
    return isPlain ? { body, fragments, fields: [latency, id, digest, time, traceId] } : body;
  }

  #isPlain(call: ToolCall): boolean {
    const { id, digest, authority } = call;
    const { traceId } = authority;
    if (traceId !== this.#plainTrace) {
      if (!plain.test(traceId) || this.#clean(traceId) !== traceId) return false;
      this.#plainTrace = traceId;
    }
    return (call instanceof Arrival && call.isOurs) || (plain.test(id) && plain.test(digest));
  }

  #formOf(call: ToolCall): Form {
    let tools = this.#forms.get(call.authority);
    if (tools === undefined || tools.size > mostForms) {
      tools = this.#alike(call.authority);
      this.#forms.set(call.authority, tools);
    }
    let actions = tools.get(call.tool);
    if (actions === undefined || actions.size > mostForms) {
      actions = new Map();
      tools.set(call.tool, actions);
    }
    let form = actions.get(call.action);
    if (form === undefined) {
      form = makeForm(call, this.#clean);
      actions.set(call.action, form);
    }
    return form;
  }

  /** A session of one call has an authority of its own, but hardly ever one that was not met before. */
  #alike({ principal, autonomy, runId, taskId, stepId }: Authority): Map<string, Map<string, Form>> {
    const { tenant, agent, user, via } = principal;
    const name = JSON.stringify([tenant, agent, user, via, autonomy, runId, taskId, stepId]);
    let tools = this.#byName.get(name);
    if (tools === undefined || tools.size > mostForms) {
      if (this.#byName.size > mostForms) this.#byName.clear();
      tools = new Map();
      this.#byName.set(name, tools);
    }
    return tools;
  }

  #weighedOf(form: Form, weighing: Weighing): WeighedForm {
    let weighed = form.weighed.get(weighing);
    if (weighed === undefined) {
      weighed = makeWeighed(form, weighing, this.#clean);
      form.weighed.set(weighing, weighed);
    }
    return weighed;
  }

  #endOf(form: Form, weighing: Weighing, as: EndName, code: RefusalCode | undefined): EndForm {
    const { ends } = this.#weighedOf(form, weighing);
    const name = code === undefined ? as : `${as} ${code}`;
    let end = ends.get(name);
    if (end === undefined) {
      end = makeEnd(form, weighing, { as, code }, this.#clean);
      ends.set(name, end);
    }
    return end;
  }
}

interface Leading {
  readonly approvalId: string | undefined;
  readonly grant?: string | undefined;
  readonly key: string | undefined;
}

function leadingRefs(call: ToolCall, { approvalId, grant, key }: Leading): string {
  const approval = approvalId === undefined ? "" : `"approval":${JSON.stringify(approvalId)},`;
  const granted = grant === undefined ? approval : `${approval}"grant":${JSON.stringify(grant)},`;
  return key === undefined || key === call.id ? granted : `${granted}"key":${JSON.stringify(key)},`;
}

function makeForm(call: ToolCall, clean: Clean): Form {
  const { action, autonomy_level, principal, tenant, tool_name } = callFields(call, clean);
  const { tool_call: _, ...refs } = refsOf(call, undefined, undefined, clean);
  return {
    head: inner({ action, ...(autonomy_level !== undefined && { autonomy_level }) }),
    principal: inner({ principal: { ...principal } }),
    run: `${inner(refs)},"tool_call":"`,
    tenant: `${inner({ tenant })},"timestamp":"`,
    tool: flat(`","${inner({ tool_name }).slice(1)},"trace_id":"`),
    name: nameOf(call, clean),
    weighed: new WeakMap(),
  };
}

function makeWeighed(form: Form, weighing: Weighing, clean: Clean): WeighedForm {
  const { connector_id, policy_version, reasons, risk_level, verdict } = weighingFields(weighing, clean);
  const head = connector_id === undefined ? form.head : `${form.head},${inner({ connector_id })}`;
  const outcome = inner({ outcome: "info", policy_version });
  const attempted = flat(`{${head},${outcome},${form.principal},${inner({ reasons })},"refs":{`);
  const stage = inner({ risk_level, stage: "execute", summary: attemptedSummary(form.name) });
  return {
    attempted,
    fragments: [
      flat(attempted + form.run),
      '"},"request_hash":"',
      flat(`",${stage},${form.tenant}`),
      form.tool,
      flat(`","type":"${words.attempted.audit}",${inner({ verdict })}}`),
    ],
    ends: new Map(),
  };
}

interface NamedEnd {
  readonly as: EndName;
  readonly code: RefusalCode | undefined;
}

function makeEnd(form: Form, weighing: Weighing, { as, code }: NamedEnd, clean: Clean): EndForm {
  const { connector_id, policy_version, risk_level } = weighingFields(weighing, clean);
  const { audit, outcome } = endWords[as];
  const coded = code === undefined ? form.head : `${form.head},${inner({ code })}`;
  const refs = flat(`,${inner({ outcome, policy_version })},${form.principal},"refs":{`);
  const stage = inner({ risk_level, stage: "settle", summary: endSummary(form.name, as, code) });
  return {
    refs,
    fragments: [
      flat(`{${coded}${connector_id === undefined ? "" : `,${inner({ connector_id })}`},"latency_ms":`),
      flat(refs + form.run),
      '"},"response_hash":"',
      flat(`",${stage},${form.tenant}`),
      form.tool,
      flat(`","type":"${audit}"}`),
    ],
  };
}

/** The canonical text of an object without its braces. */
function inner(value: Parameters<typeof canonical>[0]): string {
  return canonical(value).slice(1, -1);
}

/** Concatenation builds ropes, and a rope that is reused is walked each time. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}
