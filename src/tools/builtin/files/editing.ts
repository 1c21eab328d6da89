import { Rejection } from "./guard/rejection.ts";

export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly count?: number | undefined;
}

/** The text with the replacement made. What is replaced must be there as often as the caller thinks: else he has read something else. */
export function edited(text: string, { old_text: before, new_text: after, count = 1 }: Edit): string {
  const parts = text.split(before);
  const found = parts.length - 1;
  if (found === 0) throw new Rejection("no_match");
  if (found !== count)
    throw new Rejection(
      "no_match",
      `holds the text ${found} times, not ${count === 1 ? "once" : `${count} times`}; nothing was replaced. Give more of its surroundings, or \`count\`.`,
    );
  return parts.join(after);
}
