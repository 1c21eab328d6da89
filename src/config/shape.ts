/** The parts of a JSON Schema that are asked here: which keys are known where. Made from the one zod schema. */
export interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: boolean | Shape;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly type?: string;
}

/** Every branch of a choice, in one list. */
export function branches(shape: Shape): readonly Shape[] {
  const inner = shape.anyOf ?? shape.oneOf;
  return inner === undefined ? [shape] : inner.flatMap(branches);
}

function step(shape: Shape, name: string | number): Shape | undefined {
  const found = branches(shape).flatMap((branch) => {
    if (typeof name === "number") return branch.items === undefined ? [] : [branch.items];
    const named = own(branch.properties, name);
    if (named !== undefined) return [named];
    return typeof branch.additionalProperties === "object" ? [branch.additionalProperties] : [];
  });
  return found.length > 1 ? { anyOf: found } : found[0];
}

/** The shape of what stands at a path; undefined where nothing is known. */
export function shapeAt(root: Shape, path: readonly (string | number)[]): Shape | undefined {
  return path.reduce<Shape | undefined>((shape, name) => (shape === undefined ? undefined : step(shape, name)), root);
}

/** The keys a mapping at this place may have, when they are fixed. */
export function knownKeys(shape: Shape | undefined): readonly string[] {
  return shape === undefined ? [] : branches(shape).flatMap((branch) => Object.keys(branch.properties ?? {}));
}

/**
 * The snake_case form of a value written in camelCase: only keys the schema knows are renamed, by the table the schema
 * itself gives, so that names people chose (servers, tools, variables) stay as they are.
 */
export function toFileSpelling(value: unknown, shape: Shape | undefined): unknown {
  return respelled(value, shape, (known) => new Map(known.map((name) => [camel(name), name])));
}

/** The way back: what a file says, in TypeScript's spelling. */
export function fromFileSpelling(value: unknown, shape: Shape | undefined): unknown {
  return respelled(value, shape, (known) => new Map(known.map((name) => [name, camel(name)])));
}

function respelled(
  value: unknown,
  shape: Shape | undefined,
  tableOf: (known: readonly string[]) => ReadonlyMap<string, string>,
): unknown {
  if (shape === undefined || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => respelled(item, step(shape, 0), tableOf));
  const known = knownKeys(shape);
  const table = tableOf(known);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => {
        const spelled = table.get(name) ?? name;
        const inFile = known.includes(name) ? name : spelled;
        return [spelled, respelled(inner, step(shape, inFile), tableOf)];
      }),
  );
}

/** `call_timeout_ms` as TypeScript spells it. */
export function camel(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
