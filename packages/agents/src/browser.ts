/**
 * A browser for models: the provider-defined tools `computer` and `browser`, run here by Chromium through Playwright.
 * Invariant: a run has one browser context of its own, and reaches the network only through `Egress`. Every action is a
 * call that the gates have judged by the known state of the page; if the page has changed since, the action is not
 * done.
 * Next: browser/actions.ts (providers' actions), browser/judge.ts (risk), browser/tab.ts (Playwright).
 */

import type { JsonObject, Principal } from "@postern/core";
import type { Browser } from "playwright-core";
import type { ToolContext } from "postern";
import {
  type JudgedCall,
  type PreviewContext,
  type ProviderDefinedTool,
  type StandardSchema,
  Toolbox,
} from "postern/tools";
import type { BrowserCall, Viewport } from "./browser/actions.ts";
import { browserSpecs, type ComputerDeclarations, computerSpecs } from "./browser/declarations.ts";
import { urlProblem } from "./browser/egress.ts";
import { type FramesSeen, noPage } from "./browser/frames-seen.ts";
import { suggestRisk } from "./browser/judge.ts";
import { launch } from "./browser/launch.ts";
import { type BrowserToolsOptions, checkOptions } from "./browser/options.ts";
import { type ReadCall, readCall } from "./browser/read-call.ts";
import { ActionFailed, Tab, type TabOptions } from "./browser/tab.ts";
import { table } from "./browser/table.ts";

const googleFunctions = [...table.google.keys()];
const mostJudged = 100;

/**
 * The tools `computer` and `browser`, as a toolbox for `createRuntime` or `runtime.tools.register`. Chromium starts with the
 * first call. A run's page is closed with the session that opened it, and all of them with the toolbox.
 *
 * @throws RuntimeFault `options_invalid`
 *
 * @example
 * await using pages = browserTools({ allowedHosts: ["example.com"] });
 * await using runtime = await createRuntime({ tools: pages });
 *
 * @public
 */
export function browserTools(options: BrowserToolsOptions): BrowserToolbox {
  return new BrowserToolbox(options);
}

interface OpenTab {
  readonly tab: Promise<Tab>;
  /** Undefined until it is open. */
  ready: Tab | undefined;
}

/** @public */
export class BrowserToolbox extends Toolbox implements AsyncDisposable {
  readonly #options: BrowserToolsOptions;
  readonly #tabOptions: TabOptions;
  readonly #tabs = new Map<string, OpenTab>();
  /** The frames that each live call was judged by. The oldest are removed first. */
  readonly #judged = new Map<string, FramesSeen>();
  #browser: Promise<Browser> | undefined;

  constructor(options: BrowserToolsOptions) {
    super();
    this.#options = options;
    const { viewport = { width: 1280, height: 800 }, allowedHosts, allowPrivate = false } = options;
    const { actionTimeoutMs = 10_000, navigationTimeoutMs = 15_000 } = options;
    this.#tabOptions = { viewport, allowedHosts, allowPrivate, actionTimeoutMs, navigationTimeoutMs };
    checkOptions(options, this.#tabOptions);
    const description = "Looks at web pages and uses them.";
    this.add(
      this.#tool({
        name: "computer",
        description: `${description} The screen is one browser page of ${viewport.width} × ${viewport.height} pixels.`,
        providerSpecs: computerSpecs(viewport, options.declare ?? {}),
        callTypes: ["computer_call", ...googleFunctions],
      }),
    );
    this.add(this.#tool({ name: "browser", description, providerSpecs: browserSpecs(description), callTypes: [] }));
  }

  /** Closes every page and Chromium. */
  async close(): Promise<void> {
    await Promise.all([...this.#tabs.keys()].map((run) => this.#closeTab(run)));
    const browser = await this.#browser?.catch(() => undefined); // it never started
    this.#browser = undefined;
    await browser?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #tool(named: Pick<ProviderDefinedTool, "name" | "description" | "providerSpecs" | "callTypes">): ProviderDefinedTool {
    return {
      ...named,
      risk: this.#options.risk ?? "medium",
      idempotent: false,
      input: this.#schema(),
      classifyRisk: (given, _action, call) => this.#classify(given, call),
      preview: (given, context) => this.#preview(given as BrowserCall, context), // a result of `input`
      handleCall: ({ arguments: given }, context) => this.#carryOut(given as unknown as BrowserCall, context), // a result of `input`
    };
  }

  #schema(): StandardSchema {
    return { "~standard": { version: 1, vendor: "postern", validate: (given) => this.#readAndLook(given) } };
  }

  /** The verdict does not wait, so the frames are read before it. The run is not known here: all open pages are read. */
  async #readAndLook(given: unknown): Promise<ReadCall> {
    const read = this.#read(given);
    if ("value" in read)
      await Promise.all([...this.#tabs.values()].map(({ ready }) => ready?.look(read.value.actions)));
    return read;
  }

  /** A host that is not allowed is refused here, before a person is asked. */
  #read(given: unknown): ReadCall {
    const read = readCall(given, this.#tabOptions.viewport);
    if ("issues" in read) return read;
    const problems = read.value.actions.flatMap((action) =>
      action.do === "navigate" ? (urlProblem(action.url, this.#tabOptions) ?? []) : [],
    );
    return problems.length === 0
      ? read
      : { issues: problems.map((message) => ({ message: `navigation is refused: ${message}` })) };
  }

  #classify(
    given: unknown,
    call: JudgedCall | undefined,
  ): ReturnType<NonNullable<ProviderDefinedTool["classifyRisk"]>> {
    const read = this.#read(given);
    if ("issues" in read) return "critical"; // the arguments gate has refused it
    const tab = call && this.#tabs.get(runOf(call))?.ready;
    const seen = tab?.seenFor(read.value.actions) ?? noPage;
    if (call !== undefined) {
      this.#judged.set(call.callId, seen);
      for (const [oldest] of this.#judged) if (this.#judged.size > mostJudged) this.#judged.delete(oldest);
    }
    return suggestRisk(read.value, seen, this.#options.risk ?? "medium");
  }

  /** A person approves the present page: another page or another element under the pointer voids the approval. */
  async #preview(
    call: BrowserCall,
    context: PreviewContext,
  ): Promise<{ readonly summary: string; readonly details: JsonObject }> {
    const tab = this.#tabs.get(runOf(context))?.ready;
    await tab?.look(call.actions);
    const seen = tab?.seenFor(call.actions) ?? noPage;
    const { summary = "" } = suggestRisk(call, seen, "medium");
    const acts = call.actions.find((action) => action.do === "click" || action.do === "press" || action.do === "drag");
    const ends = acts?.do === "drag" ? [acts.path[0], acts.path.at(-1)] : [acts && "at" in acts ? acts.at : undefined];
    const elements = acts && (await Promise.all(ends.map((point) => tab?.describe(point))));
    const element = elements?.filter((found) => found !== undefined).join(" to ") ?? "";
    return {
      summary: element === "" ? summary : `${summary}: ${element}`,
      details: {
        page: seen.page ?? "none",
        ...(seen.target !== seen.page && { frame: seen.target ?? "none" }),
        ...(element !== "" && { element }),
      },
    };
  }

  async #carryOut(
    call: BrowserCall,
    context: ToolContext,
  ): Promise<JsonObject | { readonly content: unknown; readonly isError: true }> {
    const judged = this.#judged.get(context.callId);
    this.#judged.delete(context.callId);
    if (judged === undefined) return failed("The frames that this call was judged by are forgotten. Send it again.");
    if (judged.refusal !== undefined) return failed(judged.refusal);
    if (call.checks.length > 0 && context.approvalId === undefined)
      return failed("No person has approved this call, and its safety check is not acknowledged without one.");
    const tab = await this.#tabOf(context);
    return tab.oneAtATime(async () => {
      tab.takeNotes(); // notes of earlier actions
      const texts: string[] = [];
      let image: string | undefined;
      try {
        for (const action of call.actions) {
          context.check();
          const done = await tab.run(action, judged);
          if (done.text !== undefined) texts.push(done.text);
          image = done.image;
        }
        image ??= await tab.screenshot();
      } catch (error) {
        if (!(error instanceof ActionFailed)) throw error;
        return failed([error.message, ...texts, ...tab.takeNotes()].join("\n"));
      }
      const text = [`The page is ${tab.url}.`, ...texts, ...tab.takeNotes()].join("\n");
      const content = [
        { type: "text", text },
        { type: "image", mediaType: "image/png", data: image },
      ];
      return { content, structured: structuredFor(call, tab.url) };
    });
  }

  async #tabOf(context: ToolContext): Promise<Tab> {
    const run = runOf(context);
    const known = this.#tabs.get(run);
    if (known !== undefined) {
      this.#tabs.delete(run); // now it is the most recently used
      this.#tabs.set(run, known);
      return known.tab;
    }
    const { maxPages = 8 } = this.#options;
    for (const [oldest] of this.#tabs) if (this.#tabs.size >= maxPages) await this.#closeTab(oldest);
    const tab = this.#launched().then((browser) => Tab.open(browser, this.#tabOptions));
    const opened: OpenTab = { tab, ready: undefined };
    this.#tabs.set(run, opened);
    if (this.#options.keepPages !== true) context.afterSession(() => void this.#closeTab(run));
    try {
      opened.ready = await tab;
      return opened.ready;
    } catch (error) {
      this.#tabs.delete(run);
      throw error;
    }
  }

  async #closeTab(run: string): Promise<void> {
    const opened = this.#tabs.get(run);
    this.#tabs.delete(run);
    const tab = await opened?.tab.catch(() => undefined); // it never opened
    await tab?.[Symbol.asyncDispose]();
  }

  /** One Chromium for all runs. One that died is started again. */
  #launched(): Promise<Browser> {
    this.#browser ??= launch(this.#options).then(
      (browser) => {
        browser.on("disconnected", () => {
          this.#browser = undefined;
          this.#tabs.clear();
        });
        return browser;
      },
      (error: unknown) => {
        this.#browser = undefined;
        throw error;
      },
    );
    return this.#browser;
  }
}

function runOf({ principal, runId }: { readonly principal: Principal; readonly runId: string }): string {
  return `${principal.tenant}\0${runId}`;
}

function structuredFor({ provider, checks }: BrowserCall, url: string): JsonObject {
  if (provider === "google")
    return {
      type: "function_response",
      response: { url, ...(checks.length > 0 && { safety_acknowledgement: "true" }) },
    };
  return {
    url,
    ...(checks.length > 0 && { acknowledged_safety_checks: checks.map((check) => ({ ...check })) }),
  } as JsonObject;
}

function failed(text: string): { readonly content: readonly JsonObject[]; readonly isError: true } {
  return { content: [{ type: "text", text }], isError: true };
}

export type { BrowserToolsOptions, ComputerDeclarations, Viewport };
