import { defined, isJsonObject, type Json, type JsonObject, shortened, shown, visible } from "@postern/core";
import type { OperationFilter } from "../mcp/client/server-config.ts";
import type { RefusedTool, UpstreamTool } from "../mcp/client/upstream.ts";
import { globMatcher } from "../policy/rules/glob.ts";
import type { ToolAnnotations } from "../tools/tool.ts";
import { type ApiDocument, Unusable } from "./document.ts";
import { type InputMember, inputSchema, isBytes } from "./input-schema.ts";
import { type BodyPlan, bodyKindOf, type ParameterPlan, type RequestPlan } from "./request-plan.ts";

/** How a request proves who sends it: in this place, under this name. */
export interface SecurityScheme {
  readonly kind: "bearer" | "basic" | "key";
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
}

/** One operation: what is listed of it, and how its request is made. */
export interface Operation {
  readonly tool: UpstreamTool;
  readonly plan: RequestPlan;
}

/** What is used of a document. Plain data, because another thread makes it. */
export interface OpenApi {
  readonly title: string;
  readonly version: string;
  readonly revision: string;
  /** The address of its first server, as it is written. */
  readonly server: string | undefined;
  /** Schemes that are not supported are null. */
  readonly schemes: Readonly<Record<string, SecurityScheme | null>>;
  readonly operations: readonly Operation[];
  readonly malformed: readonly RefusedTool[];
}

const methods = ["get", "head", "options", "post", "put", "patch", "delete"] as const;
type ApiMethod = (typeof methods)[number];
/** All definitions of a document together. */
const mostCharacters = 32 * 1024 * 1024;
/** The client makes these itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "content-length", "authorization", "host", "connection", "transfer-encoding", "cookie"],
  ...["keep-alive", "proxy-authorization", "te", "trailer", "upgrade", "expect", "user-agent"],
]);

/** What the operator states about a document. */
export interface ReadSetting {
  readonly filter: OperationFilter | undefined;
  readonly baseUrl: string | undefined;
}

/** @throws Unusable if the document as a whole cannot be used */
export function apiOf(document: ApiDocument, { filter, baseUrl }: ReadSetting): OpenApi {
  const { root, revision } = document;
  const { paths, info } = root;
  if (!isJsonObject(paths)) throw new Unusable(`\`paths\` of the document is ${shown(paths)}, not an object.`);
  const { title, version } = isJsonObject(info) ? info : ({} as JsonObject);
  const found = Object.entries(paths).flatMap(([path, item]) => foundIn(document, path, item));
  const wanted = found.filter(isWanted(filter));
  if (wanted.length === 0) throw new Unusable(noneLeft(found.length));
  const operations: Operation[] = [];
  const malformed: RefusedTool[] = [];
  let characters = 0;
  for (const one of wanted) {
    const name = nameOf(one);
    try {
      checkServers(document, one, baseUrl);
      const made = operationOf(document, one, name);
      characters += JSON.stringify(made).length;
      operations.push(made);
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      malformed.push({ tool: name, why: error.message });
    }
    if (characters > mostCharacters)
      throw new Unusable(
        `Its operations have more than ${mostCharacters} characters with all their schemas. Choose the ones that are needed with \`operations.include\`.`,
      );
  }
  return {
    ...{ title: textOf(title), version: textOf(version), revision, operations, malformed },
    ...{ server: serverIn(root["servers"]), schemes: schemesOf(document) },
  };
}

function noneLeft(found: number): string {
  return found === 0
    ? "The document has no operation."
    : `None of the ${found} operations of the document is left: correct \`operations.include\` and \`operations.exclude\`, which match \`operationId\` or \`METHOD /path\`.`;
}

/** An operation in the document, before it is read. */
interface FoundOperation {
  readonly method: ApiMethod;
  readonly path: string;
  readonly id: string | undefined;
  readonly item: JsonObject;
  readonly own: JsonObject;
}

function foundIn(document: ApiDocument, path: string, item: Json): readonly FoundOperation[] {
  if (path.startsWith("x-")) return [];
  let shared: JsonObject;
  try {
    shared = document.object(item, `The path ${visible(path)}`);
  } catch (error) {
    if (error instanceof Unusable) throw new Unusable(`${visible(path)}: ${error.message}`);
    throw error;
  }
  return methods.flatMap((method): FoundOperation[] => {
    const own = shared[method];
    if (!isJsonObject(own)) return [];
    const { operationId } = own;
    const id = typeof operationId === "string" && operationId !== "" ? operationId : undefined;
    return [{ method, path, id, item: shared, own }];
  });
}

function isWanted({ include, exclude = [] }: OperationFilter = {}): (one: FoundOperation) => boolean {
  const names = ({ id, method, path }: FoundOperation): readonly string[] => [
    `${method.toUpperCase()} ${path}`,
    ...(id === undefined ? [] : [id]),
  ];
  const matches = (patterns: readonly string[]): ((one: FoundOperation) => boolean) => {
    const fits = patterns.map(globMatcher);
    return (one) => names(one).some((name) => fits.some((fit) => fit(name)));
  };
  const isIncluded = include === undefined ? () => true : matches(include);
  const isExcluded = matches(exclude);
  return (one) => isIncluded(one) && !isExcluded(one);
}

/** Its `operationId`, else `get_pets_petId`, in the characters of a tool's name. */
function nameOf({ id, method, path }: Pick<FoundOperation, "id" | "method" | "path">): string {
  const plain = (text: string): string => text.replaceAll(/[^A-Za-z0-9_-]+/g, "_").replaceAll(/^[_-]+|_+$/g, "");
  const name = plain(id ?? "");
  return name === "" ? [method, plain(path)].filter((part) => part !== "").join("_") : name;
}

function operationOf(document: ApiDocument, found: FoundOperation, name: string): Operation {
  const { method, path, own } = found;
  const { parameters, body } = partsOf(document, found);
  const named = withMemberNames(parameters, body !== undefined);
  const key = named.find(({ plan }) => plan.in === "header" && /^(?:x-)?idempotency-key$/i.test(plan.name));
  const stated = named.filter((one) => one !== key);
  const members: InputMember[] = stated.map(({ member }) => member);
  if (body !== undefined) members.push(body.member);
  const plan: RequestPlan = {
    ...{ method: method.toUpperCase(), path, parameters: stated.map((one) => one.plan) },
    ...defined({ body: body?.plan, idempotencyHeader: key?.plan.name }),
    ...defined({ security: securityOf(own["security"] ?? document.root["security"]) }),
  };
  checkPath(plan);
  const title = textOf(own["summary"]);
  return {
    plan,
    tool: {
      name,
      ...(title !== "" && { title }),
      description: textOf(own["description"]) || title,
      inputSchema: inputSchema(document, members),
      annotations: annotationsOf(method, key !== undefined),
    },
  };
}

/** What the protocol says about a method. */
function annotationsOf(method: ApiMethod, takesKey: boolean): ToolAnnotations {
  const readOnlyHint = method === "get" || method === "head" || method === "options";
  return {
    readOnlyHint,
    destructiveHint: method === "delete",
    idempotentHint: readOnlyHint || method === "put" || method === "delete" || takesKey,
  };
}

interface FoundParameter {
  readonly plan: ParameterPlan;
  readonly member: InputMember;
}

interface FoundBody {
  readonly plan: BodyPlan;
  readonly member: InputMember;
}

interface OperationParts {
  readonly parameters: readonly FoundParameter[];
  readonly body: FoundBody | undefined;
}

/** An operation's parameter replaces one of its path with the same place and name. */
function partsOf(document: ApiDocument, { own, item }: FoundOperation): OperationParts {
  const parameters = new Map<string, FoundParameter>();
  let body = own["requestBody"];
  for (const list of [item["parameters"], own["parameters"]]) {
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new Unusable(`Its \`parameters\` are ${shown(list)}, not a list.`);
    for (const one of list as readonly Json[]) {
      const given = document.object(one, "A parameter");
      if (given["in"] === undefined && isJsonObject(given["content"]))
        body ??= given; // a body of Swagger 2.0 that is referred to
      else {
        const read = parameterOf(given);
        if (read !== undefined) parameters.set(`${read.plan.in} ${read.plan.name}`, read);
      }
    }
  }
  const isSent = body !== undefined && own !== item["get"] && own !== item["head"];
  return { parameters: [...parameters.values()], body: isSent ? bodyOf(document, body) : undefined };
}

const styles: Readonly<Record<ParameterPlan["in"], readonly [string, ...(readonly string[])]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

/** Returns undefined for a header that the client makes itself. */
function parameterOf(given: JsonObject): FoundParameter | undefined {
  const { name, in: place, schema, content, required, description } = given;
  if (typeof name !== "string" || name === "") throw new Unusable("One of its parameters has no `name`.");
  if (typeof place !== "string" || !Object.hasOwn(styles, place))
    throw new Unusable(
      `Its parameter ${visible(name)} is \`in: ${shown(place)}\`; it must be path, query, header or cookie.`,
    );
  const where = place as ParameterPlan["in"]; // checked
  if (where === "header" && (ownHeaders.has(name.toLowerCase()) || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)))
    return undefined;
  const [first] = Object.values(isJsonObject(content) ? content : {});
  const shape = schema ?? (isJsonObject(first ?? null) ? (first as JsonObject)["schema"] : undefined) ?? {};
  const [usual] = styles[where];
  const style = given["style"] ?? usual;
  if (typeof style !== "string" || !styles[where].includes(style))
    throw new Unusable(
      `Its ${where} parameter ${visible(name)} has the style ${shown(style)}, which does not exist there.`,
    );
  const explode = given["explode"] ?? style === "form";
  return {
    plan: {
      in: where,
      name,
      member: name,
      style,
      explode: explode === true,
      ...(schema === undefined && { json: true }),
    },
    member: {
      ...{ name, schema: shape, required: where === "path" || required === true },
      ...(typeof description === "string" && description !== "" && { description }),
    },
  };
}

/** The names of the arguments: a parameter's own, with its place before it if another member has that name. */
function withMemberNames(parameters: readonly FoundParameter[], hasBody: boolean): readonly FoundParameter[] {
  const clean = (name: string): string =>
    name
      .replaceAll(/[^A-Za-z0-9_.-]+/g, "_")
      .replaceAll(/^_+|_+$/g, "")
      .slice(0, 50) || "value";
  const uses = Map.groupBy(parameters, ({ plan }) => clean(plan.name));
  const taken = new Set(hasBody ? ["body"] : []);
  const isAlone = (name: string): boolean => uses.get(name)?.length === 1 && !taken.has(name);
  const alone = parameters.filter(({ plan }) => isAlone(clean(plan.name)));
  for (const { plan } of alone) taken.add(clean(plan.name));
  return parameters.map((one) => {
    const { plan, member } = one;
    const own = clean(plan.name);
    let name = own;
    if (!alone.includes(one)) {
      name = `${plan.in}_${own}`;
      for (let number = 2; taken.has(name); number += 1) name = `${plan.in}_${own}_${number}`;
      taken.add(name);
    }
    return { plan: { ...plan, member: name }, member: { ...member, name } };
  });
}

function bodyOf(document: ApiDocument, given: Json | undefined): FoundBody {
  const { content, required, description } = document.object(given, "Its `requestBody`");
  const types = Object.entries(isJsonObject(content) ? content : {});
  const [chosen] = types.toSorted(([a], [b]) => bodyKindOf(a).rank - bodyKindOf(b).rank);
  if (chosen === undefined) throw new Unusable("Its `requestBody` names no content type.");
  const [mediaType, media] = chosen;
  const { schema, encoding } = isJsonObject(media) ? media : ({} as JsonObject);
  const { kind, type } = bodyKindOf(mediaType);
  const fixed =
    kind === "bytes" ? { type: "string", contentEncoding: "base64" } : kind === "text" ? { type: "string" } : undefined;
  const binary = kind === "multipart" ? bytesIn(document, schema) : [];
  return {
    plan: {
      ...{ kind, type },
      ...(binary.length > 0 && { binary }),
      ...(isJsonObject(encoding) && kind === "form" && { encoding }),
    },
    member: {
      ...{ name: "body", schema: fixed ?? schema ?? {}, required: required === true },
      ...(typeof description === "string" && description !== "" && { description }),
    },
  };
}

/** The members of a form that are files. */
function bytesIn(document: ApiDocument, schema: Json | undefined): readonly string[] {
  const { properties } = document.object(schema ?? {}, "The schema of its body");
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, one]) => {
    const found = document.object(one, "A member of its body");
    return isBytes(document, found["type"] === "array" ? found["items"] : found) ? [name] : [];
  });
}

/** Alternatives, each with the schemes that it needs together. Undefined: the document does not say. */
function securityOf(security: Json | undefined): RequestPlan["security"] {
  if (!Array.isArray(security)) return undefined;
  return (security as readonly Json[]).map((one) => (isJsonObject(one) ? Object.keys(one) : []));
}

function schemesOf(document: ApiDocument): OpenApi["schemes"] {
  const { components } = document.root;
  const schemes = isJsonObject(components) ? components["securitySchemes"] : undefined;
  if (!isJsonObject(schemes)) return {};
  return Object.fromEntries(
    Object.entries(schemes).map(([name, one]) => [
      name,
      schemeOf(document.object(one, `The security scheme ${visible(name)}`)),
    ]),
  );
}

function schemeOf({ type, scheme, in: place, name }: JsonObject): SecurityScheme | null {
  const how = typeof scheme === "string" ? scheme.toLowerCase() : "";
  const authorization = { in: "header", name: "authorization" } as const;
  if (type === "http") return how === "bearer" || how === "basic" ? { kind: how, ...authorization } : null;
  if (type === "oauth2" || type === "openIdConnect") return { kind: "bearer", ...authorization };
  const isPlace = place === "header" || place === "query" || place === "cookie";
  return type === "apiKey" && isPlace && typeof name === "string" ? { kind: "key", in: place, name } : null;
}

/** Each placeholder has a parameter, and each parameter a placeholder. */
function checkPath({ path, parameters }: RequestPlan): void {
  if (!path.startsWith("/")) throw new Unusable(`Its path ${visible(path)} does not begin with \`/\`.`);
  const placeholders = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const known = parameters.flatMap((one) => (one.in === "path" ? [one.name] : []));
  const lost = placeholders.find((name) => !known.includes(name)) ?? known.find((name) => !placeholders.includes(name));
  if (lost !== undefined)
    throw new Unusable(
      `${visible(lost)} is in its path ${visible(shortened(path, 80))} or among its path parameters, but not in both.`,
    );
}

/** The first address, with the defaults of its variables. */
function serverIn(servers: Json | undefined): string | undefined {
  const first = Array.isArray(servers) ? (servers as readonly Json[])[0] : undefined;
  const { url, variables } = isJsonObject(first ?? null) ? (first as JsonObject) : ({} as JsonObject);
  if (typeof url !== "string") return undefined;
  const known = isJsonObject(variables) ? variables : {};
  return url.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(known, name) ? known[name] : undefined;
    const value = isJsonObject(variable ?? null) ? (variable as JsonObject)["default"] : undefined;
    return typeof value === "string" ? value : whole;
  });
}

/** An operation with a server of its own goes nowhere else: its arguments and credentials are not meant for another one. */
function checkServers({ root }: ApiDocument, { own, item }: FoundOperation, baseUrl: string | undefined): void {
  const server = serverIn(own["servers"]) ?? serverIn(item["servers"]);
  const plain = (address: string | undefined): string | undefined => address?.replace(/\/+$/, "");
  if (server === undefined || [baseUrl, serverIn(root["servers"])].map(plain).includes(plain(server))) return;
  throw new Unusable(
    `It has a server of its own, ${visible(server)}. Name the document under another server, with that address as \`base_url\`.`,
  );
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value.trim() : "";
}
