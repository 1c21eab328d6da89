/**
 * Null for a member that is left out: models send it, and most schemas take no null. Such a member is removed before the call
 * is named by its arguments, so that the card, the record and the tool see the call without it.
 */
import { isJsonObject, type Json, type JsonObject, pointedTo } from "@postern/core";

/** Above it the arguments stay as they are. */
const mostSteps = 100_000;

/**
 * The arguments without each null of a member that is optional and takes no null, at every depth. Where the schema leaves
 * several forms open, a member is removed only if all of them agree. Elements of lists are data and stay. Returns the same
 * object if nothing is removed.
 */
export function withoutAbsent(given: JsonObject, schema: JsonObject): JsonObject {
  const walk = new NullWalk(schema);
  const shorter = walk.value(given, [schema]);
  return walk.isOver ? given : (shorter as JsonObject); // an object stays one
}

/** What the schemas say of null for a member. */
type NullRule = "required" | "refused" | "open";

class NullWalk {
  readonly #root: JsonObject;
  /** Choices that are examined now. A choice may refer to itself. */
  readonly #open = new Set<JsonObject>();
  #left = mostSteps;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  get isOver(): boolean {
    return this.#left < 0;
  }

  /** @param schemas all of them hold for the value */
  value(value: Json, schemas: readonly Json[]): Json {
    if (typeof value !== "object" || value === null || schemas.length === 0 || this.isOver) return value;
    if (Array.isArray(value)) {
      const items = value.map((item: Json, at) => this.value(item, this.#below(value, schemas, itemOf(at))));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    const given = value as JsonObject; // it is no list
    const entries = Object.entries(given)
      .filter(([name, inner]) => inner !== null || this.#ruleOf(name, given, schemas) !== "refused")
      .map(([name, inner]) => [name, this.value(inner, this.#below(given, schemas, memberOf(name)))] as const);
    const isSame =
      entries.length === Object.keys(given).length && entries.every(([name, inner]) => inner === given[name]);
    return isSame ? value : Object.fromEntries(entries);
  }

  #ruleOf(name: string, given: JsonObject, schemas: readonly Json[]): NullRule {
    let rule: NullRule = "open";
    for (const schema of this.#all(schemas)) {
      const { required } = schema;
      if (Array.isArray(required) && required.includes(name)) return "required";
      if (memberOf(name)(schema).some((member) => !this.#takesNull(member))) rule = "refused";
      for (const forms of this.#choices(schema, given)) {
        const rules = this.#within(schema, () => forms.map((form) => this.#ruleOf(name, given, [form])));
        if (rules?.includes("required") === true) return "required";
        if (rules?.every((one) => one === "refused") === true) rule = "refused";
      }
    }
    return rule;
  }

  /** The schemas of one part of the value. */
  #below(value: Json, schemas: readonly Json[], step: (schema: JsonObject) => readonly Json[]): readonly Json[] {
    return [...this.#all(schemas)].flatMap((schema) => {
      const choices = this.#choices(schema, value).flatMap((forms): readonly Json[] => {
        const each = this.#within(schema, () => forms.map((form) => this.#below(value, [form], step)));
        return each?.every((part) => part.length > 0) === true ? [{ anyOf: each.map((allOf) => ({ allOf })) }] : [];
      });
      return [...step(schema), ...choices];
    });
  }

  #takesNull(schema: Json): boolean {
    return [...this.#all([schema])].every((one) => {
      const { type, enum: values, const: constant } = one;
      if (type !== undefined && ![type].flat().includes("null")) return false;
      if (Array.isArray(values) && !values.includes(null)) return false;
      if (constant !== undefined && constant !== null) return false;
      const takes = (form: Json): boolean => this.#takesNull(form);
      return formsIn(one).every((forms) => this.#within(one, () => forms.some(takes)) ?? true);
    });
  }

  /** For each choice of a schema the forms that the value may have. */
  #choices(schema: JsonObject, value: Json): readonly (readonly Json[])[] {
    return formsIn(schema)
      .map((forms) => this.#within(schema, () => forms.filter((form) => this.#mayFit(form, value))) ?? [])
      .filter((forms) => forms.length > 0);
  }

  #mayFit(form: Json, value: Json): boolean {
    return [...this.#all([form])].every((schema) => {
      const { type, required, const: constant, enum: values } = schema;
      if (type !== undefined && ![type].flat().some((one) => isOfType(value, one))) return false;
      if (!isJsonObject(value)) {
        const allowed = constant !== undefined ? [constant] : values;
        return typeof value === "object" || !Array.isArray(allowed) || allowed.includes(value);
      }
      if (Array.isArray(required) && required.some((name: Json) => !Object.hasOwn(value, String(name)))) return false;
      return Object.entries(value).every(([name, inner]) => {
        const isNeeded = Array.isArray(required) && required.includes(name);
        if (typeof inner === "object" && inner !== null) return true;
        if (inner === null && !isNeeded) return true;
        return memberOf(name)(schema).every((member) => this.#mayFit(member, inner));
      });
    });
  }

  /** The schemas with all that they refer to and all parts that hold together. */
  #all(schemas: readonly Json[], found = new Set<JsonObject>()): ReadonlySet<JsonObject> {
    for (const schema of schemas) {
      if (!isJsonObject(schema) || found.has(schema) || this.isOver) continue;
      this.#left -= 1;
      found.add(schema);
      const { $ref, allOf } = schema;
      const target = typeof $ref === "string" ? pointedTo($ref, this.#root) : undefined;
      this.#all([...(target === undefined ? [] : [target]), ...(Array.isArray(allOf) ? allOf : [])], found);
    }
    return found;
  }

  /** Returns undefined if the choice is examined already: it refers to itself. */
  #within<Result>(choice: JsonObject, examine: () => Result): Result | undefined {
    if (this.#open.has(choice)) return undefined;
    this.#open.add(choice);
    try {
      return examine();
    } finally {
      this.#open.delete(choice);
    }
  }
}

function formsIn({ anyOf, oneOf }: JsonObject): readonly (readonly Json[])[] {
  return [anyOf, oneOf].filter((forms): forms is readonly Json[] => Array.isArray(forms));
}

function memberOf(name: string): (schema: JsonObject) => readonly Json[] {
  return ({ properties, patternProperties, additionalProperties: others }) => {
    if (isJsonObject(properties) && Object.hasOwn(properties, name)) return [properties[name] ?? true];
    return patternProperties === undefined && isJsonObject(others) ? [others] : [];
  };
}

function itemOf(at: number): (schema: JsonObject) => readonly Json[] {
  return ({ prefixItems, items, additionalItems }) => {
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    return at < first.length ? [first[at] ?? true] : rest === undefined ? [] : [rest];
  };
}

function isOfType(value: Json, type: Json): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  if (typeof value === "number") return type === "number" || (type === "integer" && Number.isInteger(value));
  return type === typeof value;
}
