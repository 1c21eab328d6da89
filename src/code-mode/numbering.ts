import type { ToolCall } from "../core/call.ts";
import { RuntimeFault } from "../core/fault.ts";
import type { ToolOutcome } from "../core/outcome.ts";
import type { AskedCall } from "../engines/sandbox.ts";
import { type CallPosition, type Earlier, shortDigest } from "./earlier.ts";
import type { Journal } from "./journal.ts";

/** Which number each call of a script has: keys are made of it, and by it a turn is held against earlier ones. */
export class Numbering {
  readonly #journal: Journal;
  readonly #earlier: Earlier;
  /** What has a lower one is in what was thawed. */
  readonly #from: number;
  readonly #reached = new Set<number>();
  readonly #standing = new Map<number, CallPosition>();

  constructor(journal: Journal, earlier: Earlier) {
    this.#journal = journal;
    this.#earlier = earlier;
    this.#from = journal.numbered;
  }

  /** Of the calls of tools that are made together. */
  begin(called: readonly AskedCall[]): void {
    const numbered = called.map(({ place }) => ({ place, number: this.#journal.numberOf(place) }));
    const batchEnd = (numbered.at(-1)?.number ?? -1) + 1;
    this.#standing.clear();
    for (const { place, number } of numbered) this.#standing.set(place, { number, batchEnd });
  }

  of({ place }: AskedCall): CallPosition {
    const standing = this.#standing.get(place);
    if (standing === undefined) throw new RuntimeFault("chain_invalid", `No call was begun in place ${place}.`);
    return standing;
  }

  /** Whether another call had its number before. */
  isOther(asked: AskedCall, call: ToolCall): boolean {
    return this.#earlier.isOther(this.of(asked).number, asked, call);
  }

  reach(asked: AskedCall, call: ToolCall): void {
    const { tool, action } = asked;
    const { number } = this.of(asked);
    this.#reached.add(number);
    this.#journal.make({ number, tool, digest: shortDigest(call), ...(action !== undefined && { action }) });
  }

  /** The script is told how its call ended, and goes on from there. */
  tell(asked: AskedCall, outcome: ToolOutcome): void {
    const { number } = this.of(asked);
    const told = { ...outcome, content: [] };
    if (told.status === "preview") this.#journal.tell(number, { ...told, preview: { summary: "", supported: false } });
    else if (told.refusal !== undefined) this.#journal.tell(number, told);
  }

  /** What it did in earlier turns and did not come to in this one is in the trace all the same. @returns whether there is any */
  tellEarlier(): boolean {
    const left = this.#earlier.notReached((number) => number < this.#from || this.#reached.has(number));
    for (const number of left) {
      const line = this.#earlier.lineOf(number, this.#journal.last + 1);
      if (line === undefined) continue;
      this.#journal.last += 1;
      this.#journal.note(line);
    }
    return left.length > 0;
  }
}
