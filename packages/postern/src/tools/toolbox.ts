import { requireRisk } from "@postern/core";
import { type AnyTool, kindOf } from "./kinds.ts";
import { noTool } from "./known-members.ts";
import { toolOf } from "./legacy.ts";
import { deferredOf, type OfferOptions, schemaNamed, schemasFor, type ToolSchema } from "./offers.ts";

/**
 * Runs before each tool is added; if it throws, the tool is not added. The function that it returns undoes its part if a
 * later listener throws.
 */
export type ToolboxListener = (tool: AnyTool) => undefined | (() => void);

/**
 * A map of tools by name. It may be filled and shared before and after a runtime uses it. A second tool of a name replaces
 * the first; a runtime that follows the box may refuse that.
 */
export class Toolbox {
  readonly #tools = new Map<string, AnyTool>();
  readonly #listeners = new Set<ToolboxListener>();

  constructor(tools: Iterable<AnyTool> = []) {
    for (const tool of tools) this.add(tool);
  }

  /** A list becomes a box. A box stays itself, so all who share it see the same tools. */
  static from(tools: Toolbox | Iterable<AnyTool>): Toolbox {
    return tools instanceof Toolbox ? tools : new Toolbox(tools);
  }

  get length(): number {
    return this.#tools.size;
  }

  /** @throws RuntimeFault if it is no tool, and what a following runtime throws; then nothing has changed */
  add(tool: AnyTool): this {
    if (kindOf(tool) === undefined) throw noTool(tool);
    const undo: (() => void)[] = [];
    try {
      for (const listener of this.#listeners) undo.push(listener(ourForm(tool)) ?? (() => undefined));
    } catch (error) {
      for (const back of undo.reverse()) back();
      throw error;
    }
    this.#tools.set(tool.name, tool);
    return this;
  }

  /** Takes a tool out of the box; a runtime that has registered it keeps it. Returns false if there is no such tool. */
  remove(name: string): boolean {
    return this.#tools.delete(name);
  }

  get(name: string): AnyTool | null {
    return this.#tools.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.#tools.has(name);
  }

  /** In the order they were added. */
  all(): readonly AnyTool[] {
    return [...this.#tools.values()];
  }

  /** What a runtime offers: a tool with the designs' names of members in our form, as `legacyTool` makes it, if it states its risk. */
  tools(): readonly AnyTool[] {
    return this.all().map(ourForm);
  }

  names(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** @throws RuntimeFault `request_invalid` */
  byRisk(risk: string): readonly AnyTool[] {
    const level = requireRisk(risk);
    return this.all().filter((tool) => ourForm(tool).risk === level);
  }

  /** What a model receives. A tool without an entry for the provider is left out, with one warning. See `OfferOptions`. */
  schemas(options?: OfferOptions): readonly ToolSchema[] {
    return schemasFor(this.tools(), options);
  }

  schemaFor(name: string, options?: OfferOptions): ToolSchema | null {
    return schemaNamed(name, this.tools(), options);
  }

  deferredSchemas(options?: OfferOptions & { readonly includeToolSearch?: boolean }): readonly ToolSchema[] {
    return deferredOf(this.tools(), options);
  }

  /** Calls the listener for each tool from now on, not for the tools in the box. Returns a function that ends it. */
  follow(listener: ToolboxListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.iterator](): Iterator<AnyTool> {
    return this.all()[Symbol.iterator]();
  }
}

function ourForm(tool: AnyTool): AnyTool {
  return toolOf(tool) ?? tool;
}
