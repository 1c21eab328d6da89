/** A client of the contract: one method for each route, with the types of its definition. */
import type { Line } from "../client/client-line.ts";
import { type AnswerOf, fieldsOf, partsOf, type RouteDefinition, type RouteGroup, type SentTo } from "./route.ts";

export type Client<Groups> = {
  readonly [Group in keyof Groups]: { readonly [Name in keyof Groups[Group]]: ClientMethod<Groups[Group][Name]> };
};

/** The parts of the path, the query and the body stand beside each other in `sent`. An answer that is not JSON comes as bytes. */
type ClientMethod<R> = R extends RouteDefinition
  ? object extends SentTo<R>
    ? (sent?: SentTo<R>, signal?: AbortSignal) => Reply<R>
    : (sent: SentTo<R>, signal?: AbortSignal) => Reply<R>
  : never;
type Reply<R extends RouteDefinition> = R["answer"] extends string ? AnswerOf<R> : Promise<AnswerOf<R>>;

export function clientOf<Groups extends { readonly [Group in keyof Groups]: RouteGroup }>(
  groups: Groups,
  line: Line,
): Client<Groups> {
  const made = Object.entries<RouteGroup>(groups).map(([group, routes]) => [
    group,
    Object.fromEntries(
      Object.entries(routes).map(([name, definition]) => [
        name,
        (sent: Readonly<Record<string, unknown>> = {}, signal?: AbortSignal) =>
          send(line, definition, { sent, signal }),
      ]),
    ),
  ]);
  return Object.fromEntries(made) as Client<Groups>; // the same names; the types of each method are those of its definition
}

interface Request {
  readonly sent: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
}

function send(line: Line, { method, path, query, answer }: RouteDefinition, { sent, signal }: Request): unknown {
  const rest = new Map(Object.entries(sent));
  const take = (name: string): unknown => {
    const value = rest.get(name);
    rest.delete(name);
    return value;
  };
  const parts = new Map(partsOf(path).map((name) => [name, encodeURIComponent(String(take(name)))]));
  const search = new URLSearchParams();
  for (const name of fieldsOf(query)) {
    const value = take(name);
    if (value !== undefined) search.set(name, String(value));
  }
  const target = `${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts.get(name) ?? "")}${search.size === 0 ? "" : `?${search}`}`;
  if (typeof answer === "string") return line.bytes(target, signal);
  const body = method === "get" || method === "delete" ? undefined : Object.fromEntries(rest);
  return line.ask(method.toUpperCase(), target, { body, signal });
}
