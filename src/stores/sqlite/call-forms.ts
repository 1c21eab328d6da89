import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Authority } from "../../calls/call.ts";
import type { CallRecord } from "../../calls/records.ts";

const mostForms = 10_000;

/** The last form of an authority: most calls of a session are of the tool before. */
interface Last {
  readonly text: string;
  tool: string;
  action: string;
  definition: string;
  fence: string | undefined;
  number: number;
}

/** Numbers what many rows share: tool, action, definition, fence, and the authority without trace, task and step. */
export class CallForms {
  readonly #add: StatementSync;
  readonly #numbers = new Map<string, number>();
  #lasts = new WeakMap<Authority, Last>();
  #last: number;
  #added = false;

  constructor(database: DatabaseSync) {
    this.#add = database.prepare("insert into call_form values (?, ?, ?, ?, ?, ?)");
    const [last] = Object.values(database.prepare("select max(number) from call_form").get() ?? {});
    this.#last = Number(last ?? 0);
  }

  /** Writes the form when it is new, in the transaction that is open. */
  numberOf({ call, definition, fence }: CallRecord): number {
    const { authority, tool, action } = call;
    const last = this.#lasts.get(authority);
    if (
      last !== undefined &&
      last.tool === tool &&
      last.action === action &&
      last.definition === definition &&
      last.fence === fence
    )
      return last.number;
    const text = last?.text ?? sharedText(authority);
    const name = JSON.stringify([tool, action, definition, fence, text]);
    const number = this.#numbers.get(name) ?? this.#keep(name, [tool, action, definition, fence ?? null, text]);
    if (last === undefined) this.#lasts.set(authority, { text, tool, action, definition, fence, number });
    else Object.assign(last, { tool, action, definition, fence, number });
    return number;
  }

  /** The transaction was rolled back, and what it numbered with it. */
  undo(): void {
    if (!this.#added) return;
    this.#added = false;
    this.#numbers.clear();
    this.#lasts = new WeakMap();
  }

  committed(): void {
    this.#added = false;
  }

  #keep(name: string, values: readonly (string | null)[]): number {
    if (this.#numbers.size >= mostForms) this.#numbers.clear();
    this.#last += 1;
    this.#add.get(this.#last, ...values);
    this.#added = true;
    this.#numbers.set(name, this.#last);
    return this.#last;
  }
}

/** What differs from call to call stands in the call's own row. */
function sharedText(authority: Authority): string {
  const { traceId: _, taskId: __, stepId: ___, ...shared } = authority;
  return JSON.stringify(shared);
}
