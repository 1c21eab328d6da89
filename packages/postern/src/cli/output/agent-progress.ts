import type { ReportedEvent, ToolAnswerText, UsedTool } from "../agents-port.ts";
import type { Work } from "./print.ts";
import { fit, visible, visibleLines } from "./text.ts";

const longestLine = 160;
const longestName = 64;

/** Prints what an agent says and does, except its last text, as it happens. With `--json` it prints nothing. */
export class AgentProgressLines {
  readonly #work: Work;
  /** Text of the model since its last call. The last text is the run's result, so it is not printed here. */
  #text = "";
  #printed: Promise<void> = Promise.resolve();

  constructor(work: Work) {
    this.#work = work;
  }

  readonly onEvent = (event: ReportedEvent): void => {
    if (this.#work.json) return;
    switch (event.type) {
      case "text":
        this.#text += event.text;
        return;
      case "tool_use":
        this.#print(async () => this.#useLine(event.use));
        return;
      case "tool_answer":
        this.#print(() => this.#answerLine(event.use, event.answer));
        return;
    }
    event satisfies never;
  };

  /** Resolves when every event is printed. */
  settled(): Promise<void> {
    return this.#printed;
  }

  #print(line: () => Promise<string>): void {
    const before = this.#text === "" ? "" : `${visibleLines(this.#text).join("\n")}\n`;
    this.#text = "";
    this.#printed = this.#printed.then(async () => this.#work.terminal.aside(`${before}${await line()}\n`));
  }

  #useLine({ name, arguments: given = {} }: UsedTool): string {
    return `→ ${nameOf(name)} ${this.#fit(typeof given === "string" ? given : JSON.stringify(given))}`;
  }

  async #answerLine({ name }: UsedTool, { outcome, text }: ToolAnswerText): Promise<string> {
    const { status, refusal, replayed, callId } = outcome;
    const how = [refusal?.code ?? status, await this.#verdict(callId), replayed && "not run again"];
    const line = `← ${nameOf(name)} ${how.filter((part) => typeof part === "string").join(", ")}: ${this.#fit(text)}`;
    return refusal === undefined ? line : this.#work.paint("yellow", line);
  }

  /** The decision when the call began. */
  async #verdict(callId: string): Promise<string | undefined> {
    const { recorded } = await this.#work.operator.policy
      .explainCall({ id: callId })
      .catch(() => ({ recorded: undefined })); // the line is printed without it
    return recorded?.weighed && `${recorded.weighed.verdict} at risk ${recorded.weighed.risk}`;
  }

  #fit(text: string): string {
    return fit(visible(text), Math.min(longestLine, Math.max(20, this.#work.terminal.columns - 40)));
  }
}

function nameOf(name: string): string {
  return fit(visible(name), longestName);
}
