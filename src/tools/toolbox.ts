import { parseRisk, requireRisk } from "../core/risk.ts";
import { noTool } from "./compile.ts";
import { type AnyTool, kindOf } from "./kinds.ts";
import { deferredOf, type OfferOptions, schemaNamed, schemasFor, type ToolSchema } from "./offers.ts";

/**
 * Sees each tool before it is in the box; throwing keeps it out. What it returns takes its part back, when a later
 * listener throws.
 */
export type ToolboxListener = (tool: AnyTool) => undefined | (() => void);

/**
 * SPEC 4.1. A plain map of tools by name, to be filled and shared before and after a runtime is made of it. Adding a
 * name again keeps the last (C32); a runtime that follows the box may refuse that.
 */
export class Toolbox {
  readonly #tools = new Map<string, AnyTool>();
  readonly #listeners = new Set<ToolboxListener>();

  constructor(tools: Iterable<AnyTool> = []) {
    for (const tool of tools) this.add(tool);
  }

  /** A list becomes a box; a box is used as it is, so that those who share it see the same tools (case 22). */
  static from(tools: Toolbox | Iterable<AnyTool>): Toolbox {
    return tools instanceof Toolbox ? tools : new Toolbox(tools);
  }

  get length(): number {
    return this.#tools.size;
  }

  /** @throws RuntimeFault when it is no tool, and whatever a runtime that follows refuses it with; then nothing has changed. */
  add(tool: AnyTool): this {
    if (kindOf(tool) === undefined) throw noTool(tool);
    const undo: (() => void)[] = [];
    try {
      for (const listener of this.#listeners) undo.push(listener(tool) ?? (() => undefined));
    } catch (error) {
      for (const back of undo.reverse()) back();
      throw error;
    }
    this.#tools.set(tool.name, tool);
    return this;
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

  /** The same as `all`: a box is a toolset. */
  tools(): readonly AnyTool[] {
    return this.all();
  }

  names(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** @throws RuntimeFault `request_invalid` */
  byRisk(risk: string): readonly AnyTool[] {
    const level = requireRisk(risk);
    return this.all().filter((tool) => parseRisk(tool.risk) === level);
  }

  /** What a model is sent. A tool without an entry for the provider is left out, with a warning once. Without a provider, hosted tools are sent with their first entry: see `OfferOptions`. */
  schemas(options?: OfferOptions): readonly ToolSchema[] {
    return schemasFor(this.all(), options);
  }

  schemaFor(name: string, options?: OfferOptions): ToolSchema | null {
    return schemaNamed(name, this.all(), options);
  }

  deferredSchemas(options?: OfferOptions & { readonly includeToolSearch?: boolean }): readonly ToolSchema[] {
    return deferredOf(this.all(), options);
  }

  /** From now on. What it returns ends it. Tools that are in the box already are the caller's to read. */
  follow(listener: ToolboxListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.iterator](): Iterator<AnyTool> {
    return this.all()[Symbol.iterator]();
  }
}
