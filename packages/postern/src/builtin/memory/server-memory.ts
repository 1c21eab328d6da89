import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Principal,
  RuntimeFault,
  referenceKey,
  type ToolOutcome,
} from "@postern/core";
import { sha256 } from "@postern/core/system";
import { isSuspended, suspend } from "../../tools/define.ts";
import type { Suspended } from "../../tools/tool.ts";
import { publicName } from "../../tools/upstream-names.ts";
import type { Memory, MemoryCall, MemoryFor } from "./memory.ts";
import { loosely, piecesOf, wordsOf } from "./query-words.ts";
import { placeOf } from "./scopes.ts";

/** @public */
export interface ServerMemoryOptions {
  /** Name of a configured server with the tools of `@modelcontextprotocol/server-memory`. */
  readonly server: string;
  /** Opens an answer that was too large to be inline: `runtime.artifacts.open`. */
  readonly open?: (digest: string, principal: Principal) => Promise<{ readonly bytes: Uint8Array }>;
}

/** If the whole query is not found, so many of its words are searched. */
const mostWords = 4;

/**
 * Memories in the knowledge graph of an MCP server: one entity each. Its first observation is the content, the others are
 * the tags, and its type is the place.
 *
 * The server's tools are called through the gates, under the policy, the budget and the audit of the call that remembers or
 * recalls. If one needs an approval, that call waits for it.
 *
 * @public
 */
export function serverMemory(options: ServerMemoryOptions): MemoryFor {
  return (call) => ({
    recall: (query, scope, limit) => recall({ query, scope, limit }, call, options),
    write: async (content, scope, tags) => {
      const place = placeOf(call.principal, scope);
      const id = `mem_${sha256(`${place}\n${content}`).slice(0, 32)}`;
      const entity = { name: id, entityType: typeOf(place), observations: [content, ...tags.map(tagLine)] };
      const answer = await ask({ tool: "create_entities", arguments: { entities: [entity] } }, call, options);
      return isSuspended(answer) ? answer : { id };
    },
  });
}

interface WantedMemory {
  readonly query: string;
  readonly scope: string;
  readonly limit: number;
}

async function recall(
  { query, scope, limit }: WantedMemory,
  call: MemoryCall,
  options: ServerMemoryOptions,
): Promise<readonly Memory[] | Suspended> {
  const place = typeOf(placeOf(call.principal, scope));
  const words = wordsOf(query);
  const longest = words.toSorted((one, other) => other.length - one.length).slice(0, mostWords);
  const found = new Map<string, Memory>();
  const search = async (asked: string): Promise<Suspended | undefined> => {
    const answer = await ask({ tool: "search_nodes", arguments: { query: asked } }, call, options);
    if (isSuspended(answer)) return answer;
    for (const memory of memoriesIn(answer, place, scope)) found.set(memory.id, memory);
    return undefined;
  };
  for (const asked of new Set([query, ...longest])) {
    const waits = await search(asked);
    if (waits !== undefined) return waits;
    if (asked === query && found.size > 0) break; // the whole query is better than its words
  }
  if (found.size === 0) {
    const pieces = piecesOf(query).toSorted((one, other) => other.length - one.length);
    for (const asked of pieces.slice(0, mostWords)) {
      const waits = await search(asked);
      if (waits !== undefined) return waits;
    }
    return loosely(found.values(), textOf, query).slice(0, limit);
  }
  const phrase = query.toLowerCase();
  return [...found.values()]
    .map((memory, place) => ({ memory, place, score: scoreOf(memory, words, phrase) }))
    .filter(({ score }) => score > 0) // the server also searches names and types
    .sort((one, other) => other.score - one.score || other.place - one.place)
    .slice(0, limit)
    .map(({ memory }) => memory);
}

/** Long words are rarer than short ones. The whole query counts more than its words. */
function scoreOf(memory: Memory, words: readonly string[], phrase: string): number {
  const text = textOf(memory).toLowerCase();
  const found = words.reduce((sum, word) => sum + (text.includes(word) ? word.length : 0), 0);
  return text.includes(phrase) ? found + phrase.length : found;
}

function textOf({ content, tags }: Memory): string {
  return `${content}\n${tags.join("\n")}`;
}

/** The type of a place. The server also searches types, so it must hold no word of a query. */
function typeOf(place: string): string {
  return `postern:${sha256(place).slice(0, 32)}`;
}

const tagMark = "tag: ";

function tagLine(tag: string): string {
  return `${tagMark}${tag}`;
}

function memoriesIn(answer: Json, type: string, scope: string): readonly Memory[] {
  const entities = isJsonObject(answer) ? answer["entities"] : undefined;
  if (!Array.isArray(entities)) throw unreadable();
  return entities.flatMap((entity: Json) => {
    if (!isJsonObject(entity) || entity["entityType"] !== type) return [];
    const { name, observations } = entity;
    if (typeof name !== "string" || !Array.isArray(observations)) return [];
    const [content, ...tags] = observations.filter((text: Json) => typeof text === "string");
    if (content === undefined) return [];
    return [
      {
        id: name,
        content,
        scope,
        tags: tags.map((tag) => (tag.startsWith(tagMark) ? tag.slice(tagMark.length) : tag)),
      },
    ];
  });
}

/** One call of the server's tool, through the gates. */
async function ask(
  request: { readonly tool: string; readonly arguments: JsonObject },
  call: MemoryCall,
  { server, open }: ServerMemoryOptions,
): Promise<Json | Suspended> {
  const outcome = await call.call({ ...request, tool: publicName(server, request.tool) });
  if (outcome.status === "pending" && outcome.approvalId !== undefined) return suspend("memory", outcome.approvalId);
  if (outcome.status !== "ok") throw refused(outcome, server);
  return answerIn(outcome, call.principal, open);
}

async function answerIn(
  { structured, artifact, cut, text }: ToolOutcome,
  principal: Principal,
  open: ServerMemoryOptions["open"],
): Promise<Json> {
  if (artifact === undefined) return structured ?? parsed(text);
  if (open === undefined) {
    throw new RuntimeFault(
      "memory_failed",
      "The memory server's answer is too big to come inline; raise `limits.max_inline_result_bytes`, or give `open`.",
    );
  }
  const whole = parsed(Buffer.from((await open(artifact, principal)).bytes).toString("utf8"));
  const isReference = isJsonObject(structured) && Object.hasOwn(structured, referenceKey);
  const isWrapped = isReference && cut?.continuesAt === undefined;
  return isWrapped && isJsonObject(whole) ? (whole["structured"] ?? null) : whole;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json; // JSON.parse makes nothing but JSON
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause?: unknown): RuntimeFault {
  const message = "The memory server's answer is not a knowledge graph.";
  return new RuntimeFault("memory_failed", message, { cause });
}

/** If the server's outcome is unknown, ours is unknown too. */
function refused({ status, refusal, text }: ToolOutcome, server: string): RuntimeFault {
  const why = refusal?.message ?? text;
  const fault = new RuntimeFault("memory_failed", `The memory server \`${server}\`: ${why === "" ? status : why}`);
  const unknown = refusal?.code === "outcome_unknown" || refusal?.code === "in_progress";
  return Object.assign(fault, { unknown, retryable: refusal?.retry === "later" });
}
