import type { AgentEvent } from "../agents/agent-run.ts";
import type { RenderedToolAnswer, ToolUse } from "../agents/run-tools.ts";
import type { Work } from "./print.ts";
import { fit, visible, visibleLines } from "./text.ts";

const longest = 160;
const longestName = 64;

/** What an agent says and does, beside its last text, as it happens. With `--json` nothing is told. */
export class AgentProgressLines {
  readonly #work: Work;
  /** What the model has said since its last call: its last words are the run's result, and not told here. */
  #said = "";
  #told: Promise<void> = Promise.resolve();

  constructor(work: Work) {
    this.#work = work;
  }

  readonly heard = (event: AgentEvent): void => {
    if (this.#work.json) return;
    switch (event.type) {
      case "text":
        this.#said += event.text;
        return;
      case "tool_use":
        this.#tell(async () => this.#called(event.use));
        return;
      case "tool_answer":
        this.#tell(() => this.#answered(event.use, event.answer));
        return;
    }
    event satisfies never;
  };

  /** Everything that was heard is told when this resolves. */
  async settled(): Promise<void> {
    await this.#told;
  }

  #tell(line: () => Promise<void>): void {
    const said = this.#said;
    this.#said = "";
    this.#told = this.#told.then(async () => {
      if (said !== "") this.#aside(visibleLines(said).join("\n"));
      await line();
    });
  }

  #called({ name, arguments: given = {} }: ToolUse): void {
    const text = typeof given === "string" ? given : JSON.stringify(given);
    this.#aside(`→ ${this.#name(name)} ${this.#fit(text)}`);
  }

  async #answered({ name }: ToolUse, { outcome, text }: RenderedToolAnswer): Promise<void> {
    const { paint } = this.#work;
    const { status, refusal, replayed } = outcome;
    const how = [refusal?.code ?? status, await this.#verdict(outcome.callId), replayed && "not run again"];
    const line = `← ${this.#name(name)} ${how.filter((part) => typeof part === "string").join(", ")}: ${this.#fit(text)}`;
    this.#aside(refusal === undefined ? line : paint("yellow", line));
  }

  /** As it was decided when the call began. */
  async #verdict(callId: string): Promise<string | undefined> {
    const { recorded } = await this.#work.operator.policy
      .explainCall({ id: callId })
      .catch(() => ({ recorded: undefined })); // the line tells the rest
    return recorded?.weighed && `${recorded.weighed.verdict} at risk ${recorded.weighed.risk}`;
  }

  #name(name: string): string {
    return fit(visible(name), longestName);
  }

  #fit(text: string): string {
    return fit(visible(text), Math.min(longest, Math.max(20, this.#work.terminal.columns - 40)));
  }

  #aside(line: string): void {
    this.#work.terminal.aside(`${line}\n`);
  }
}
